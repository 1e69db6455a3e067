"""What all online learners promise: chunks of any size, untouched state, labels, scale, sparse rows, sane numbers."""

import warnings
from functools import cache

import numpy as np
import pandas as pd
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from known_posteriors import KnownPosterior, best_threshold, beta_stream
from scipy import sparse
from sklearn.base import clone
from sklearn.linear_model import SGDClassifier
from sklearn.metrics import f1_score, recall_score
from sklearn.naive_bayes import BernoulliNB
from testing.least_squares import LeastSquares

from csf._common.compiled import parts, stacked
from csf.metrics import Incomplete, Metric, get_metric
from csf.metrics.concave import Concave
from csf.online import FOFO, OFO, OMCSL, SPADE, STAMP, LinearOnlineClassifier, OnlineClassifier, OnlineLogistic
from csf.online._ascent import EarlyRows
from csf.online.base import WARM_UP, are_ready, lengths, power_of_two_above, row_lengths, shorten
from csf.testing import check_online
from csf.thresholding import bisection, probability_curve, threshold_curve

LEARNERS = {
    "logistic": OnlineLogistic(step="paper", random_state=0),
    "logistic, regularised": OnlineLogistic(
        4.0, step="paper", alpha=0.01, radius=5.0, averaging="suffix", random_state=0
    ),
    "OFO": OFO(step="paper", random_state=0),
    "FOFO": FOFO(step="paper", random_state=0, horizon=2000),
    "FOFO, blocks": FOFO("f2", step="paper", step_scale=3.0, horizon=None, random_state=0),
    "OMCSL": OMCSL(random_state=0),
    "OMCSL, average": OMCSL("jaccard", average=True, loss="hinge", radius=2.0, fit_intercept=False, random_state=0),
    "SPADE": SPADE(step="paper", random_state=0),
    "SPADE, balanced": SPADE("gmean", step="paper", sampling="balanced", dual="closed", radius=2.0, random_state=0),
    "STAMP": STAMP(step="paper", random_state=0),
    "STAMP, surrogate": STAMP(
        "jaccard", step="paper", level="surrogate", reward="logistic", growth=1.0, random_state=0
    ),
    "OFO on SGD": OFO(posterior=SGDClassifier(loss="log_loss", random_state=0), step="paper", random_state=0),
    "FOFO on naive Bayes": FOFO(posterior=BernoulliNB(), step="paper", horizon=2000, random_state=0),
    "adaptive logistic": OnlineLogistic(random_state=0),
    "adaptive logistic, window": OnlineLogistic(window=300, prior=0.1, fit_intercept=False, random_state=0),
    "adaptive OFO": OFO(random_state=0),
    "adaptive FOFO": FOFO("f2", window=1500, random_state=0),
    "adaptive STAMP": STAMP(random_state=0),
    "adaptive SPADE": SPADE("gmean", window=400, random_state=0),
    "adaptive OFO on naive Bayes": OFO(posterior=BernoulliNB(), random_state=0),
}
OURS = {name: learner for name, learner in LEARNERS.items() if " on " not in name}
LINEAR = {
    name: learner
    for name, learner in OURS.items()
    if isinstance(learner, LinearOnlineClassifier) and "adaptive" not in name
}
each_learner = pytest.mark.parametrize("learner", LEARNERS.values(), ids=LEARNERS)
each_of_ours = pytest.mark.parametrize("learner", OURS.values(), ids=OURS)


def stream(n=1300, d=6, seed=0, pos=0.25, sparsity=0.5):
    """Rows whose lengths grow and differ, so that the scale moves; some are too long afterwards."""
    rng = np.random.default_rng(seed)
    y = (rng.random(n) < pos).astype(int)
    X = rng.standard_normal((n, d)) * (rng.random((n, d)) < sparsity)
    X[:, 0] += 1.5 * y
    X[50:] *= 3.0
    X[WARM_UP + 10 :: 30] *= 20.0
    return X, y


def state(thing):
    """Everything that learning can change, in a form that can be compared bit by bit."""
    if isinstance(thing, np.ndarray) and thing.dtype != object:
        return thing.dtype.str, thing.shape, thing.tobytes()
    if isinstance(thing, np.random.Generator):
        return repr(thing.bit_generator.state)
    if isinstance(thing, list):
        return [state(part) for part in thing]
    if isinstance(thing, EarlyRows) and thing.rows:  # in the parts they came in until the next look joins them
        joined = {"rows": stacked(thing.rows), "is_pos": np.concatenate(thing.is_pos)}
        return {name: state(value) for name, value in (vars(thing) | joined).items()}
    of_csf = hasattr(thing, "__dict__") and type(thing).__module__.startswith("csf.online.")
    if hasattr(thing, "get_params") or of_csf:
        return {name: state(value) for name, value in vars(thing).items() if name != "posterior"}
    return repr(thing).split(" at 0x")[0]


def foreign(learner):
    """Whether a learner from elsewhere makes it slow."""
    return learner.get_params().get("posterior") is not None


def emitted(model):
    """Counts of emitted predictions, of learners that emit any."""
    return getattr(model, "online_counts_", None)


def in_chunks(learner, X, y, sizes):
    learner, start = clone(learner), 0
    for size in sizes:
        if start < y.size:
            learner.partial_fit(X[start : start + size], y[start : start + size], classes=[0, 1])
        start += size
    return learner if start >= y.size else learner.partial_fit(X[start:], y[start:])


CHECKED = [
    *OURS.values(),
    pytest.param(OFO(posterior=BernoulliNB()), marks=pytest.mark.slow),
    OMCSL("auroc", n_bins=10),
    pytest.param(OMCSL("auprc", n_bins=10), marks=pytest.mark.slow),
    pytest.param(SPADE("min_rate", reward="logistic", step="paper", pos=0.3), marks=pytest.mark.slow),
]


@pytest.mark.slow
@pytest.mark.parametrize("learner", CHECKED, ids=str)
def test_online_learners_keep_the_contract(learner):
    """Seeds, chunks of one class, sparse rows, pickles in mid-stream, and more."""
    assert check_online(learner) is None


# ---------------------------------------------------------------- chunks


def chunked_stream(learner, in_csr):
    X, y = stream()
    if foreign(learner):
        X, y = X[:60], y[:60]
    return sparse.csr_array(X) if in_csr else X, y


@cache
def state_after_one_chunk(name, in_csr):
    learner = LEARNERS[name]
    return state(clone(learner).partial_fit(*chunked_stream(learner, in_csr), classes=[0, 1]))


@pytest.mark.slow
@pytest.mark.parametrize("name", LEARNERS)
@settings(max_examples=10)
@given(sizes=st.lists(st.integers(1, 700), min_size=1, max_size=5), in_csr=st.booleans())
@example(sizes=[700], in_csr=False)
@example(sizes=[467, 700], in_csr=False)
def test_cuts_between_chunks_leave_no_trace(name, sizes, in_csr):
    learner = LEARNERS[name]
    if foreign(learner):
        sizes = [1 + size // 20 for size in sizes]
    cut = in_chunks(learner, *chunked_stream(learner, in_csr), sizes)
    assert state(cut) == state_after_one_chunk(name, in_csr)


@each_of_ours
def test_fit_in_order_is_partial_fit(learner):
    X, y = stream(5000)
    fitted = clone(learner).set_params(shuffle=False, **({"horizon": 10_000} if "FOFO" in str(learner) else {}))
    chunks = in_chunks(clone(fitted), np.vstack([X, X]), np.append(y, y), [1, 2000, 5000])
    fitted.set_params(passes=2).fit(X, y)
    np.testing.assert_allclose(fitted.coef_, chunks.coef_, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(fitted.coef_last_, chunks.coef_last_, rtol=1e-9, atol=1e-12)
    assert fitted.threshold_ == chunks.threshold_
    assert emitted(fitted) == emitted(chunks)
    assert fitted.n_seen_ == chunks.n_seen_ == 10_000
    assert fitted.n_updates_ == chunks.n_updates_
    assert emitted(fitted) is None or fitted.n_updates_ == 10_000


@each_of_ours
def test_history_is_kept_at_powers_of_two(learner):
    X, y = stream()
    model = in_chunks(learner, X, y, [100, 333])
    assert model.history_["n_seen"].tolist() == [2**k for k in range(11)]
    if emitted(model) is None:
        return
    counts = np.array([model.history_[name] for name in ("tp", "fp", "fn", "tn")])
    assert counts.sum(axis=0).tolist() == [2**k for k in range(11)]
    assert (np.diff(counts, axis=1) >= 0).all()


def test_history_of_a_learner_from_elsewhere_waits_for_the_end_of_a_batch():
    eta, y = beta_stream(2.0, 5.0, 100, 0)
    model = OFO(posterior=KnownPosterior(), batch_size=10).partial_fit(eta[:, None], y)
    assert model.history_["n_seen"].tolist() == [10, 20, 40, 70]
    assert model.history_["threshold"][-1] > 0.0


# ---------------------------------------------------------------- refusals


def refused(X, y):
    """Chunks that must be refused: name, rows, labels, keywords, message."""
    nan, inf, y_nan = X[:5].copy(), X[:5].copy(), y[:5].astype(float)
    nan[2, 1], inf[0, 0], y_nan[3] = np.nan, np.inf, np.nan
    return [
        ("NaN", nan, y[:5], {}, "Input X contains NaN"),
        ("infinity", inf, y[:5], {}, "Input X contains infinity"),
        ("NaN in CSR", sparse.csr_array(nan), y[:5], {}, "Input X contains NaN"),
        ("infinity in CSR", sparse.csr_array(inf), y[:5], {}, "Input X contains infinity"),
        ("width", X[:5, :-1], y[:5], {}, "X has 5 features, but .* is expecting 6 features"),
        ("more", np.hstack([X, X])[:5], y[:5], {}, "X has 12 features, but .* is expecting 6 features"),
        ("labels", X[:5], [0, 1, 2, 0, 7], {}, r"y holds unseen labels \['2', '7'\]; the labels are \[0, 1\]"),
        ("text", X[:5], list("abcab"), {}, "y holds unseen labels"),
        ("NaN in y", X[:5], y_nan, {}, "Input y contains NaN"),
        ("length", X[:5], y[:4], {}, "inconsistent numbers of samples"),
        ("empty", X[:0], y[:0], {}, r"Found array with 0 sample\(s\)"),
        (
            "classes",
            X[:5],
            y[:5],
            {"classes": [0, 2]},
            r"classes=\[0, 2\] differ from those of the first call, \[0, 1\]",
        ),
        ("one dimension", X[0], y[:1], {}, "Expected 2D array"),
    ]


@pytest.mark.slow
@each_learner
def test_a_chunk_that_is_refused_leaves_no_trace(learner):
    X, y = stream(200)
    model = clone(learner).partial_fit(X, y)
    before = state(model)
    for name, bad_X, bad_y, options, message in refused(X, y):
        with pytest.raises(ValueError, match=message):
            model.partial_fit(bad_X, bad_y, **options)
        assert state(model) == before, name
    straight = clone(learner).partial_fit(X, y)
    assert state(model.partial_fit(X, y)) == state(straight.partial_fit(X, y))


@each_learner
def test_a_first_chunk_that_is_refused_leaves_the_learner_blank(learner):
    X, y = stream(50)
    bad = X.copy()
    bad[3, 2] = np.nan
    model = clone(learner)
    for rows, labels, options, message in (
        (bad, y, {}, "Input X contains NaN"),
        (X, np.zeros(50), {}, r"the first chunk has one class only \(0.0\); give both labels in the first call"),
        (X, y + 3, {}, "pos_label=None stands for 1"),
        (X, y, {"classes": [0, 1, 2]}, "Only binary classification is supported"),
        (X, y, {"classes": [1]}, "y has one class only"),
        (X, y, {"classes": [-1, 1]}, r"y holds unseen labels \['0'\]; the labels are \[-1, 1\]"),
    ):
        blank = vars(model).copy()
        with pytest.raises(ValueError, match=message):
            model.partial_fit(rows, labels, **options)
        assert vars(model) == blank
    with pytest.raises(ValueError, match=r"y has one class only \(0.0\), fit needs both; partial_fit\(X, y, classes="):
        model.fit(X, np.zeros(50))
    assert vars(model) == blank


@each_of_ours
def test_nothing_is_learnt_from_zeros_but_the_intercept(learner):
    model = clone(learner).partial_fit(np.zeros((30, 3)), np.arange(30) % 2)
    assert not model.coef_.any()
    assert np.isfinite(model.intercept_).all()
    assert np.isfinite(model.decision_function(np.ones((2, 3)))).all()


@each_learner
def test_results_have_the_same_names_everywhere(learner):
    X, y = stream(60)
    model = clone(learner).fit(X, y)
    for name in ("classes_", "pos_label_", "threshold_", "n_seen_", "n_features_in_", "history_"):
        assert hasattr(model, name), name
    assert model.n_seen_ == 60
    if foreign(learner):
        return
    assert model.coef_.shape == model.coef_last_.shape == (1, 6)
    assert model.intercept_.shape == (1,)
    assert 1 <= model.n_updates_ <= 60


def test_unfitted_learners_say_so():
    for learner in LEARNERS.values():
        assert not hasattr(clone(learner), "coef_")
        assert not hasattr(clone(learner), "history_")


@pytest.mark.parametrize("step", ["adaptive", "paper"])
@pytest.mark.parametrize(
    ("options", "labels", "message"),
    [
        ({"random_state": -1}, [0, 1, 0, 1], "random_state=-1 cannot be used"),
        ({}, ["a", 1, "a", 1], "y mixes texts with labels of another kind"),
        ({}, [None, True, None, True], "Input y contains missing labels"),
        ({"intercept_scaling": 1e308}, [0, 1, 0, 1], r"intercept_scaling must be at most 1e\+100, got 1e\+308"),
    ],
)
def test_seeds_labels_and_constants_are_checked_by_name(step, options, labels, message):
    for method in ("fit", "partial_fit"):
        model = STAMP(step=step, **options)
        with pytest.raises(ValueError, match=message):
            getattr(model, method)(
                np.eye(4), np.array(labels, dtype=object if None in labels or "a" in labels else int)
            )


@each_of_ours
@pytest.mark.filterwarnings("ignore:invalid value encountered in reduce")  # scikit-learn's check of X
def test_scores_beyond_the_range_are_never_nan(learner):
    X = np.random.default_rng(0).standard_normal((42, 4))
    y = (X[:, 0] > 0).astype(int)
    far = X / np.abs(X).max() * 1e308
    for taught, asked in ((X, far), (far, X), (np.where(np.arange(42)[:, None] == 3, 1e308, X), X)):
        model = clone(learner).fit(taught, y)
        for rows in (asked, sparse.csr_array(asked)):
            score = model.decision_function(rows)
            assert not np.isnan(score).any()
            np.testing.assert_array_equal(score > 0, model.predict(rows) == 1)
            if hasattr(model, "predict_proba"):
                assert np.isfinite(model.predict_proba(rows)).all()


# ---------------------------------------------------------------- kinds of rows and labels


@pytest.mark.slow
def test_layouts_of_rows_do_not_matter():
    X, y = stream()
    dense, wide = OMCSL(random_state=0).partial_fit(X, y), sparse.csr_array(X)
    wide.indices, wide.indptr = wide.indices.astype(np.int64), wide.indptr.astype(np.int64)
    for rows in (sparse.csr_matrix(X), sparse.csc_array(X), wide, np.asfortranarray(X)):
        before = rows.copy()
        np.testing.assert_allclose(OMCSL(random_state=0).partial_fit(rows, y).coef_, dense.coef_, rtol=1e-10)
        assert abs(rows - before).max() == 0.0


@pytest.mark.slow
@each_of_ours
def test_float32_rows_are_read_exactly(learner):
    X, y = stream(WARM_UP)
    X = X.astype(np.float32)
    single, double = (clone(learner).partial_fit(rows, y) for rows in (X, X.astype(np.float64)))
    np.testing.assert_allclose(single.coef_, double.coef_, rtol=1e-10, atol=1e-10)


@pytest.mark.slow
@each_of_ours
def test_unsorted_and_doubled_entries_of_csr(learner):
    y = np.array([1, 0, 1, 0, 1, 0] * 20)
    good = sparse.csr_array(np.tile([[0.0, 1.5, 2.0], [3.0, 0.0, 0.0]], (60, 1)))
    parts = (np.tile([2.0, 1.0, 0.5, 3.0], 60), np.tile([2, 1, 1, 0], 60), np.repeat(np.arange(61) * 4, 2)[1:-1])
    parts = (parts[0], parts[1], np.sort(np.append(np.arange(61) * 4, np.arange(60) * 4 + 3)))
    odd = sparse.csr_array(parts, shape=(120, 3))
    assert not odd.has_canonical_format
    before = odd.data.copy()
    ours, theirs = clone(learner).partial_fit(good, y), clone(learner).partial_fit(odd, y)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, rtol=1e-9, atol=1e-12)
    np.testing.assert_array_equal(odd.data, before)


@pytest.mark.slow
@each_learner
def test_names_of_labels_do_not_matter(learner):
    X, y = stream(100)
    expected = clone(learner).partial_fit(X, y)
    for names, options in (
        ((-1, 1), {}),
        ((False, True), {}),
        (("no", "yes"), {"pos_label": "yes"}),
        (("B", "A"), {"pos_label": "A"}),
        ((7.0, 3.0), {"pos_label": 3.0}),
    ):
        labels = np.array(names)[y]
        model = clone(learner).set_params(**options).partial_fit(X, labels)
        assert model.pos_label_ == names[1]
        assert model.threshold_ == pytest.approx(expected.threshold_)
        np.testing.assert_array_equal(model.predict(X), np.array(names)[expected.predict(X)])
        turned = 1.0 if model.classes_[1] == model.pos_label_ else -1.0
        if not foreign(learner):  # others may round small probabilities of their first class
            np.testing.assert_allclose(turned * model.decision_function(X), expected.decision_function(X), atol=1e-12)
        np.testing.assert_array_equal(model.decision_function(X) > 0, model.predict(X) == model.classes_[1])
        if hasattr(model, "predict_proba"):
            last = model.predict_proba(X)[:, 1 if turned > 0 else 0]
            np.testing.assert_allclose(last, expected.predict_proba(X)[:, 1], atol=1e-12)


@pytest.mark.parametrize("pos_label", [1, 0])
def test_a_score_of_zero_is_negative_for_scores_and_positive_for_probabilities(pos_label):
    X, y = stream(100)
    for learner, expected in (
        (OMCSL(fit_intercept=False, pos_label=pos_label), 1 - pos_label),
        (OnlineLogistic(fit_intercept=False, pos_label=pos_label), pos_label),
    ):
        model = learner.partial_fit(X, y)
        assert model.predict(np.zeros((1, X.shape[1])))[0] == expected
        assert (model.decision_function(np.zeros((1, X.shape[1])))[0] > 0) == (expected == 1)


@pytest.mark.parametrize("learner", LINEAR.values(), ids=LINEAR)
def test_the_intercept_belongs_to_a_constant_feature(learner):
    X, y = stream(500)
    X = X / (1.7 * np.maximum(np.linalg.norm(X, axis=1), 1e-9))[:, None]  # no scale, with or without the feature
    value = 0.5
    model = clone(learner).set_params(fit_intercept=True, intercept_scaling=value).partial_fit(X, y)
    more = np.column_stack([X, np.full(y.size, value)])
    other = clone(learner).set_params(fit_intercept=False).partial_fit(more, y)
    np.testing.assert_allclose(other.coef_[:, :-1], model.coef_, rtol=1e-8, atol=1e-10)
    np.testing.assert_allclose(other.coef_[:, -1] * value, model.intercept_, rtol=1e-8, atol=1e-10)
    assert model.intercept_[0] != 0.0
    assert other.intercept_[0] == 0.0


@each_learner
def test_frames_keep_their_names(learner):
    X, y = stream(100)
    frame = pd.DataFrame(X, columns=list("abcdef"))
    model = clone(learner).partial_fit(frame, pd.Series(y))
    assert model.feature_names_in_.tolist() == list("abcdef")
    np.testing.assert_array_equal(model.predict(frame), clone(learner).partial_fit(X, y).predict(X))


# ---------------------------------------------------------------- scale of rows


@given(length=st.floats(1e-290, 1e290))
def test_powers_of_two(length):
    above = power_of_two_above(length)
    assert above / 2.0 < length <= above
    assert np.frexp(above)[0] == 0.5


def test_powers_of_two_at_the_ends():
    assert power_of_two_above(5e-324) == 2.0**-1000
    assert [power_of_two_above(x) for x in (0.25, 1.0, 1.0000001, 4.0, 5.0)] == [0.25, 1.0, 2.0, 4.0, 8.0]


@given(rows=st.lists(st.lists(st.floats(-1e300, 1e300), min_size=3, max_size=3), min_size=1, max_size=5))
def test_lengths_of_rows(rows):
    X = np.array(rows)
    exact = [np.hypot(np.hypot(a, b), c) for a, b, c in rows]
    for rows in (parts(X), parts(sparse.csr_array(X))):
        np.testing.assert_allclose(row_lengths(rows), exact, rtol=1e-12)


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_long_rows_are_shortened_in_a_copy(kind, dtype):
    X = kind(np.array([[3.0, 4.0], [0.0, 1.0], [0.0, 0.0]], dtype=dtype))
    before = X.copy()
    assert shorten(X, lengths(X), 5.0) is X
    short = shorten(X, lengths(X), 2.0)
    assert short.dtype == dtype
    np.testing.assert_allclose(sparse.csr_array(short).toarray(), [[1.2, 1.6], [0.0, 1.0], [0.0, 0.0]], rtol=1e-6)
    np.testing.assert_array_equal(sparse.csr_array(X).toarray(), sparse.csr_array(before).toarray())


@each_of_ours
@pytest.mark.parametrize("power", [-300, -3, 5, 300])
def test_the_unit_of_features_does_not_matter(learner, power):
    """Exactly so for powers of two."""
    X, y = stream()
    one, other = clone(learner).partial_fit(X, y), clone(learner).partial_fit(np.ldexp(X, power), y)
    np.testing.assert_allclose(other.coef_, np.ldexp(one.coef_, -power), rtol=1e-9, atol=1e-12)
    np.testing.assert_array_equal(other.intercept_, one.intercept_)
    np.testing.assert_array_equal(other.predict(np.ldexp(X, power)), one.predict(X))


@pytest.mark.parametrize("learner", LINEAR.values(), ids=LINEAR)
def test_the_scale_follows_the_longest_of_the_first_rows(learner):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((3000, 3))
    X *= 0.9 / np.linalg.norm(X, axis=1)[:, None]
    y = (X[:, 0] > 0.3).astype(int)
    X[400] *= 7.0
    X[1010] *= 100.0
    model, scales = clone(learner), []
    for start in range(0, 3000, 90):
        model.partial_fit(X[start : start + 90], y[start : start + 90])
        scales.append(model.x_scale_)
    assert scales == [1.0] * 4 + [0.125] * 30
    shortened = X.copy()
    shortened[1010] *= 8.0 / 90.0
    np.testing.assert_allclose(clone(learner).partial_fit(shortened, y).coef_, model.coef_)
    score = X @ model.coef_[0] + model.intercept_[0]
    np.testing.assert_allclose(model.decision_function(X), score, atol=1e-12)


@each_of_ours
@pytest.mark.parametrize("largest", [1e302, 1.7e308])
def test_rows_at_the_end_of_the_range_of_numbers(learner, largest):
    X = np.array([[largest, -largest], [0.0, largest], [1.0, 0.0], [1e-320, 0.0]])
    for rows in (X, sparse.csr_array(X)):
        model = clone(learner).partial_fit(rows, [0, 1, 1, 0])
        assert np.isfinite(model.coef_).all()
    assert lengths(X).tolist()[:2] == [2.0**1000, 2.0**1000]


@each_of_ours
def test_constant_columns_and_doubled_rows_do_no_harm(learner):
    X, y = stream(WARM_UP)  # without long rows
    more = np.hstack([X, np.full((y.size, 1), 0.5), np.zeros((y.size, 1))])
    model = clone(learner).fit(np.repeat(more, 3, axis=0), np.repeat(y, 3))
    assert np.isfinite(model.coef_).all()
    assert model.coef_[0, -1] == 0.0
    plain = clone(learner).set_params(passes=3).fit(X, y)
    assert f1_score(y, model.predict(more)) > f1_score(y, plain.predict(X)) - 0.1


# ---------------------------------------------------------------- what is learnt


@each_learner
def test_separable_classes_are_separated(learner):
    rng = np.random.default_rng(0)
    n = 5000
    y = (rng.random(n) < 0.3).astype(int)
    X = rng.uniform(-1.0, 1.0, (n, 4))
    X[:, 0] = np.where(y == 1, 1.0, -1.0) * rng.uniform(0.3, 1.0, n)
    options = {"batch_size": 100} if foreign(learner) else {}
    options |= {"horizon": 3 * n} if isinstance(learner, FOFO) else {}
    options |= {"fit_intercept": True} if isinstance(learner, OMCSL) else {}
    model = clone(learner).set_params(passes=3, **options).fit(X, y)
    assert f1_score(y, model.predict(X)) >= 0.98
    assert get_metric("gmean").score(y, model.predict(X)) >= 0.98


def test_rare_positives_need_more_than_the_cut_at_one_half():
    rng = np.random.default_rng(0)
    values = {}
    for part in ("train", "test"):
        y = (rng.random(100_000) < 0.01).astype(int)
        X = rng.standard_normal((100_000, 3)) + 1.2 * y[:, None]
        if part == "train":
            models = {"LR": OnlineLogistic(), "OFO": OFO(), "FOFO": FOFO(horizon=y.size, step_scale=10.0)}
            models |= {"OMCSL": OMCSL(random_state=0, average=True), "STAMP": STAMP()}
            for model in models.values():
                model.partial_fit(X, y)
        else:
            values = {name: f1_score(y, model.predict(X)) for name, model in models.items()}
            recall = recall_score(y, models["LR"].predict(X))
    assert recall < 0.2
    assert min(value for name, value in values.items() if name != "LR") > values["LR"] + 0.08


@pytest.mark.parametrize("law", [(0.5, 3.0), (2.0, 5.0)])
@pytest.mark.parametrize(("metric", "squared_beta"), [("f1", 1.0), ("f2", 4.0), ("jaccard", 1.0)])
def test_all_ways_to_a_threshold_agree_on_known_posteriors(law, metric, squared_beta):
    eta, y = beta_stream(*law, 200_000, 7)
    best = best_threshold(*law, squared_beta)
    common = {"posterior": KnownPosterior(), "batch_size": 1000}
    for learner in (OFO(metric, **common), FOFO(metric, step_scale=3.0, **common)):
        paper = clone(learner).set_params(step="paper").partial_fit(eta[:, None], y)
        assert paper.threshold_ == paper.level_ == pytest.approx(best, abs=0.01)
        adaptive = learner.partial_fit(eta[:, None], y)
        assert adaptive.level_ == pytest.approx(best, abs=0.01)
        assert adaptive.threshold_ == pytest.approx(best, abs=0.03)  # where the share among recent examples says so
    assert threshold_curve(y, eta).best(metric).threshold == pytest.approx(best, abs=0.03)
    assert bisection(probability_curve(eta), get_metric(metric)).cut.threshold == pytest.approx(best, abs=0.005)


# ---------------------------------------------------------------- learners of others


class Scaled(LeastSquares):
    """A learner from elsewhere that looks at the scale of its rows."""

    def _step(self, X, y):
        assert lengths(X * self.x_scale_).max() <= 1.0 + 1e-12
        super()._step(X, y)


def test_the_base_carries_learners_of_others():
    X, y = stream()
    model = Scaled(passes=3, random_state=0).fit(X, y)
    assert f1_score(y, model.predict(X)) > 0.4
    np.testing.assert_array_equal(model.history_["n_seen"], 2 ** np.arange(12))
    assert list(model.history_) == ["n_seen"]
    cut, whole = in_chunks(Scaled(), X, y, [7, 500]), Scaled().partial_fit(X, y)
    np.testing.assert_allclose(cut.coef_, whole.coef_, rtol=1e-9, atol=1e-12)
    assert OnlineClassifier in Scaled.__mro__


def test_warnings_of_columns_are_those_of_scikit_learn():
    X, y = stream(20)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        OnlineLogistic().partial_fit(X, y[:, None])
    assert "A column-vector y was passed" in str(caught[0].message)


READY = np.random.default_rng(0).normal(size=(20, 3))
LABELS = np.arange(20) % 2
CHUNKS = {
    "dense": (READY, LABELS, True),
    "float32": (READY.astype(np.float32), LABELS.astype(bool), True),
    "CSR": (sparse.csr_array(READY), LABELS, True),
    "CSR matrix": (sparse.csr_matrix(READY), LABELS, True),
    "NaN": (np.where(READY > 1.0, np.nan, READY), LABELS, False),
    "both infinities": (np.where(READY > 1.0, np.inf, np.where(READY < -1.0, -np.inf, READY)), LABELS, False),
    "infinity in CSR": (sparse.csr_array(np.where(READY > 1.0, np.inf, READY)), LABELS, False),
    "sum overflows": (np.full((20, 3), 1e308), LABELS, False),
    "columns first": (np.asfortranarray(READY), LABELS, False),
    "integers": (np.ones((20, 3), dtype=int), LABELS, False),
    "a feature less": (READY[:, :2], LABELS, False),
    "a row less": (READY[:19], LABELS, False),
    "no rows": (READY[:0], LABELS[:0], False),
    "float labels": (READY, LABELS.astype(float), False),
    "column of labels": (READY, LABELS[:, None], False),
    "lists": (READY.tolist(), LABELS.tolist(), False),
    "CSC": (sparse.csc_array(READY), LABELS, False),
    "frame": (pd.DataFrame(READY), LABELS, False),
}


@pytest.mark.parametrize("name", CHUNKS)
def test_only_chunks_that_need_no_change_pass_the_quick_check(name):
    X, y, ready = CHUNKS[name]
    assert are_ready(X, y, 3) is ready


@pytest.mark.parametrize("name", ["dense", "float32", "CSR", "CSR matrix"])
def test_the_quick_check_changes_nothing(name, monkeypatch):
    X, y, _ = CHUNKS[name]
    quick = OFO(random_state=0).partial_fit(X, y, classes=[0, 1]).partial_fit(X, y)
    monkeypatch.setattr("csf.online.base.are_ready", lambda *_: False)
    slow = OFO(random_state=0).partial_fit(X, y, classes=[0, 1]).partial_fit(X, y)
    np.testing.assert_allclose(quick.coef_, slow.coef_, rtol=1e-9, atol=1e-12)
    assert quick.threshold_ == slow.threshold_


# ---------------------------------------------------------------- parameters that they refuse


class Other(Concave):
    """Concave, but not compiled."""

    name = "other"
    link = gradient = conjugate = dual = project = None


class Plain(Metric):
    """Neither a ratio nor a function of the rates."""

    name = "plain"

    def value(self, fn, fp, *, pos):
        return 1.0 - fn - fp


@pytest.mark.parametrize(
    ("kind", "settings", "error", "message"),
    [
        (OnlineLogistic, {"eta0": 0.0}, ValueError, "eta0 must be positive and finite, got 0"),
        (OnlineLogistic, {"eta0": "fast"}, TypeError, "eta0 must be a number, positive and finite, got 'fast'"),
        (OnlineLogistic, {"alpha": -1.0}, ValueError, "alpha must be >= 0 and finite, got -1"),
        (OnlineLogistic, {"gain": "late"}, TypeError, "gain must be a number, >= 0 and finite, got 'late'"),
        (OnlineLogistic, {"radius": np.inf}, ValueError, "radius must be positive and finite, got inf"),
        (OnlineLogistic, {"averaging": "polyak"}, ValueError, "averaging must be one of .*'poly'.*, got 'polyak'"),
        (OnlineLogistic, {"fit_intercept": 1}, TypeError, "fit_intercept must be True or False, got 1"),
        (OnlineLogistic, {"intercept_scaling": 0}, ValueError, "intercept_scaling must be positive and finite, got 0"),
        (OnlineLogistic, {"passes": 0}, ValueError, "passes must be an int >= 1, got 0"),
        (OnlineLogistic, {"shuffle": "yes"}, TypeError, "shuffle must be True or False, got 'yes'"),
        (OFO, {"metric": "gmean"}, TypeError, "OFO finds thresholds for F-beta and Jaccard .* got metric='gmean'"),
        (
            OFO,
            {"posterior": SGDClassifier()},
            TypeError,
            "SGDClassifier.. has no predict_proba; such as OnlineLogistic",
        ),
        (OFO, {"posterior": 3}, TypeError, "posterior must have partial_fit and predict_proba, 3 has no partial_fit"),
        (
            OFO,
            {"posterior": OnlineLogistic(-1.0, step="paper")},
            ValueError,
            "eta0 must be positive and finite, got -1",
        ),
        (OFO, {"batch_size": 0}, ValueError, "batch_size must be an int >= 1, got 0"),
        (OFO, {"forgetting": 0.0}, ValueError, r"forgetting must be a number in \(0, 1\], got 0"),
        (OFO, {"forgetting": None}, TypeError, r"forgetting must be a number in \(0, 1\], got None"),
        (OFO, {"prior": 1.0}, TypeError, "prior must be a pair of numbers, got 1.0"),
        (
            FOFO,
            {"metric": "accuracy"},
            TypeError,
            "FOFO finds thresholds for F-beta and Jaccard .* got metric='accuracy'",
        ),
        (FOFO, {"horizon": 0}, ValueError, "horizon must be an int >= 1, got 0"),
        (FOFO, {"horizon": 1e5}, TypeError, "horizon must be an int >= 1, got 100000.0"),
        (FOFO, {"step_scale": -1.0}, ValueError, "step_scale must be positive and finite, got -1"),
        (OMCSL, {"metric": "gmean"}, TypeError, "OMCSL serves .*, 'auroc' and 'auprc', got metric='gmean'. Use SPADE"),
        (OMCSL, {"metric": ["auroc"]}, TypeError, "metric must be a name or a csf.metrics.Metric"),
        (OMCSL, {"n_bins": 1}, ValueError, "n_bins must be an int >= 2, got 1"),
        (OMCSL, {"n_experts": 0}, ValueError, "n_experts must be an int >= 1, got 0"),
        (OMCSL, {"eta0": -1.0}, ValueError, "eta0 must be positive and finite, got -1"),
        (OMCSL, {"gamma": 0.0}, ValueError, "gamma must be positive and finite, got 0"),
        (OMCSL, {"gamma": "log"}, TypeError, "gamma must be a number, positive and finite, got 'log'"),
        (OMCSL, {"loss": "squared"}, ValueError, "loss must be one of .*'hinge'.*, got 'squared'"),
        (OMCSL, {"radius": None}, TypeError, "radius must be a number, positive and finite, got None"),
        (OMCSL, {"average": "yes"}, TypeError, "average must be True or False, got 'yes'"),
        (SPADE, {"metric": "f1"}, TypeError, "SPADE needs a concave metric .* FBeta has no conjugate. Use STAMP"),
        (SPADE, {"metric": "jaccard"}, TypeError, "Jaccard has no conjugate. Use STAMP"),
        (SPADE, {"metric": Other()}, TypeError, "'gmean'; Other is none of them. Use csf.fenchel.FenchelSVM"),
        (SPADE, {"metric": "nonsense"}, ValueError, "unknown metric 'nonsense'"),
        (SPADE, {"eta0": 0.0}, ValueError, "eta0 must be positive and finite, got 0.0"),
        (SPADE, {"dual_eta0": -1}, ValueError, "dual_eta0 must be positive"),
        (SPADE, {"radius": np.inf}, ValueError, "radius must be positive and finite, got inf"),
        (SPADE, {"reward": "squared"}, ValueError, "reward must be one of .*, got 'squared'"),
        (SPADE, {"sampling": "some"}, ValueError, "sampling must be one of"),
        (SPADE, {"dual": "open"}, ValueError, "dual must be one of"),
        (SPADE, {"eps": 0.1}, ValueError, "eps must be one of"),
        (SPADE, {"memory": 0.0}, ValueError, r"memory must be a number in \(0, 1\], got 0.0"),
        (SPADE, {"memory": "long"}, TypeError, r"memory must be a number in \(0, 1\], got 'long'"),
        (SPADE, {"gain": -1.0}, ValueError, "gain must be >= 0 and finite, got -1.0"),
        (SPADE, {"gain": np.nan}, ValueError, "gain must be >= 0 and finite, got nan"),
        (SPADE, {"pos": 1.0}, ValueError, "pos"),
        (SPADE, {"patience": 0}, ValueError, "patience must be an int >= 1, got 0"),
        (STAMP, {"metric": "qmean"}, TypeError, "STAMP needs a linear-fractional metric .*; QMean is none. Use SPADE"),
        (STAMP, {"metric": Plain()}, TypeError, "is none. Use csf.CostSearch"),
        (STAMP, {"metric": Incomplete("f1", labelled=0.2)}, TypeError, "of complete labels .* Use csf.CostSearch"),
        (STAMP, {"eta0": 0.0}, ValueError, "eta0 must be positive"),
        (STAMP, {"radius": "1"}, TypeError, "radius must be a number, positive and finite"),
        (STAMP, {"growth": 0.5}, ValueError, "growth must be at least 1, got 0.5"),
        (STAMP, {"model_stage": 0}, ValueError, "model_stage"),
        (STAMP, {"challenge_stage": 1.5}, TypeError, "challenge_stage"),
        (STAMP, {"reward": "squared"}, ValueError, "reward must be one of"),
        (STAMP, {"level": "high"}, ValueError, "level must be one of"),
        (STAMP, {"start_level": 1.5}, ValueError, r"start_level must be a number in \[0, 1\], got 1.5"),
        (STAMP, {"start_level": "0"}, TypeError, r"start_level must be a number in \[0, 1\], got '0'"),
    ],
)
def test_bad_parameters_are_said(kind, settings, error, message):
    published = {} if kind is OMCSL else {"step": "paper"}
    with pytest.raises(error, match=message):
        kind(**(published | settings)).partial_fit([[0.0], [1.0]], [0, 1])
