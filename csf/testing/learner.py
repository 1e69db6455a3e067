"""Contract of learners for streams."""

import pickle
from collections.abc import Callable, Sequence

import numpy as np
from scipy import sparse
from sklearn.metrics import f1_score, roc_auc_score

from csf._common.sklearn import clone
from csf._common.typing import Estimator, Samples
from csf._common.validation import generator
from csf.testing.metric import naming, require

N_ROWS, N_FEATURES = 300, 5
# Allowed differences: the order of additions may change, with the place of an array in memory too.
TOLERANCE = 1e-8
# What is learnt from an easy stream, within so many passes: most need one, slow ones more. Scores at random have an
# AUROC of 0.5, and all rows called positive an F1 of 0.46.
PASSES, LEAST_AUC, LEAST_F1 = 40, 0.8, 0.6


def check_online(learner: Estimator, *, random_state: int = 0) -> None:
    """Check that an online learner keeps what streams and comparisons rely on.

    Parameters
    ----------
    learner : estimator
        Classifier with ``fit``, ``partial_fit(X, y, classes=None)``, ``predict`` and ``decision_function``, as
        `csf.online.OnlineClassifier` has them. Clones of it learn; with a parameter ``random_state``, from a fixed
        seed.
    random_state : int, default=0
        Seed of the examples, and of the learner.

    Raises
    ------
    AssertionError
        If a check fails; the message says which one.

    Notes
    -----
    The checks: examples in chunks of any size give the same model as all at once; the same seed gives the same model,
    and `fit` forgets what was before; dense and sparse rows, labels {0, 1} and {-1, 1} make no difference, nor does the
    order of features to learners with ``coef_``; chunks may have one class; chunks with NaN, another width or unseen
    labels raise ValueError and leave the learner as it was; a pickled learner goes on as if nothing had
    happened; arrays given are not changed; the score is above 0 exactly where ``classes_[1]`` is predicted, and
    ``n_seen_`` counts the examples.

    It must also learn something. On two easy streams, 30 % of whose rows are positive, it has 40 passes over 300 rows
    to reach an area under the ROC curve of 0.8 and an F1 of 0.6 on other rows. In the second stream, which learners
    with ``intercept_`` get unless their parameter ``fit_intercept`` is False, all rows lie on one side of the origin.

    Examples
    --------
    >>> from csf.online import SPADE, OnlineLogistic
    >>> check_online(SPADE("gmean"))
    >>> class Forgetful(OnlineLogistic):
    ...     def _step(self, X, y):
    ...         super()._step(X[-1:], y[-1:])
    >>> check_online(Forgetful())
    Traceback (most recent call last):
        ...
    AssertionError: Forgetful(), _chunk_sizes_change_nothing: chunks of 1 give another model than all at once...
    """
    for method in ("fit", "partial_fit", "predict", "decision_function", "get_params"):
        require(callable(getattr(learner, method, None)), f"{learner!r} has no method {method}")
    blank = clone(learner)
    if "random_state" in blank.get_params():
        blank.set_params(random_state=random_state)
    X, y = _examples(generator(random_state))
    for law in LAWS:
        with naming(f"{learner!r}, {law.__name__}"):
            law(blank, X, y)


def _examples(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Draw rows with zeros and labels 0 and 1, read-only."""
    y = (rng.random(N_ROWS) < 0.3).astype(int)
    y[:2] = 0, 1
    X = rng.standard_normal((N_ROWS, N_FEATURES)) * (rng.random((N_ROWS, N_FEATURES)) < 0.7)
    X[:, 0] += 1.5 * y
    X /= np.abs(X).max()
    X.flags.writeable = y.flags.writeable = False
    return X, y


def _taught(
    blank: Estimator, X: Samples, y: np.ndarray, sizes: Sequence[int] | None = None, classes: Sequence[int] = (0, 1)
) -> Estimator:
    """Train a clone on the rows, in chunks of the sizes in turn."""
    learner, start, turn = clone(blank), 0, 0
    sizes = (y.size,) if sizes is None else sizes
    while start < y.size:
        stop = start + sizes[turn % len(sizes)]
        learner.partial_fit(X[start:stop], y[start:stop], classes=np.array(classes))
        start, turn = stop, turn + 1
    return learner


def _require_same(one: Estimator, other: Estimator, X: np.ndarray, message: str) -> None:
    """Require the same scores on X up to `TOLERANCE` times the largest score."""
    first, second = (np.asarray(learner.decision_function(X)) for learner in (one, other))
    gap = np.abs(first - second).max()
    require(gap <= TOLERANCE * np.abs(first).max(), f"{message}: scores differ by up to {gap:.3g}")


# ---------------------------------------------------------------- laws


def _predictions_follow_scores(blank: Estimator, X: np.ndarray, y: np.ndarray) -> None:
    learner = _taught(blank, X, y)
    require(np.array_equal(learner.classes_, [0, 1]), f"classes_ must be [0, 1], got {learner.classes_!r}")
    require(learner.n_features_in_ == N_FEATURES, f"n_features_in_ must be {N_FEATURES}, got {learner.n_features_in_}")
    require(learner.n_seen_ == N_ROWS, f"n_seen_ must be {N_ROWS}, got {learner.n_seen_}")
    score, labels = learner.decision_function(X), learner.predict(X)
    require(np.shape(score) == (N_ROWS,), f"decision_function must have shape ({N_ROWS},), got {np.shape(score)}")
    require(np.isfinite(score).all(), "decision_function must be finite")
    wrong = (np.asarray(score) > 0) != (np.asarray(labels) == 1)
    require(not wrong.any(), f"predict and the sign of decision_function disagree on {wrong.sum()} rows")


def _chunk_sizes_change_nothing(blank: Estimator, X: np.ndarray, y: np.ndarray) -> None:
    whole = _taught(blank, X, y)
    for sizes in ((1,), (7,), (64,), (5, 100, 1)):
        chunked = _taught(blank, X, y, sizes)
        name = " and ".join(map(str, sizes))
        _require_same(whole, chunked, X, f"chunks of {name} give another model than all at once")
        require(chunked.n_seen_ == N_ROWS, f"n_seen_ must be {N_ROWS} after chunks of {name}, got {chunked.n_seen_}")


def _seeds_decide(blank: Estimator, X: np.ndarray, y: np.ndarray) -> None:
    one, same = clone(blank).fit(X, y), clone(blank).fit(X, y)
    _require_same(one, same, X, "two fits with the same seed differ")
    _require_same(_taught(blank, X, y), _taught(blank, X, y), X, "two streams with the same seed differ")
    _require_same(same, one.fit(X[::-1], y[::-1]).fit(X, y), X, "fit remembers an earlier fit")


def _kind_of_rows_makes_no_difference(blank: Estimator, X: np.ndarray, y: np.ndarray) -> None:
    A = sparse.csr_array(X)
    dense, csr = _taught(blank, X, y), _taught(blank, A, y)
    _require_same(dense, csr, X, "dense and sparse rows give different models")
    gap = np.abs(dense.decision_function(X) - dense.decision_function(A)).max()
    require(gap <= TOLERANCE * np.abs(dense.decision_function(X)).max(), "dense and sparse rows get different scores")


def _names_of_labels_make_no_difference(blank: Estimator, X: np.ndarray, y: np.ndarray) -> None:
    zero, minus = _taught(blank, X, y), _taught(blank, X, 2 * y - 1, classes=(-1, 1))
    _require_same(zero, minus, X, "labels {0, 1} and {-1, 1} give different models")
    require(np.array_equal(2 * zero.predict(X) - 1, minus.predict(X)), "predict must give the labels of the stream")


def _order_of_features_makes_no_difference(blank: Estimator, X: np.ndarray, y: np.ndarray) -> None:
    one = _taught(blank, X, y)
    if not hasattr(one, "coef_"):
        return
    other = _taught(blank, X[:, ::-1], y)
    gap = np.abs(one.coef_ - np.asarray(other.coef_)[..., ::-1]).max()
    require(gap <= TOLERANCE * np.abs(one.coef_).max(), f"the order of features changes coef_ by up to {gap:.3g}")


def _chunks_may_have_one_class(blank: Estimator, X: np.ndarray, y: np.ndarray) -> None:
    order = np.argsort(y, kind="stable")
    learner = _taught(blank, X[order], y[order], (50,))
    require(np.isfinite(learner.decision_function(X)).all(), "chunks of one class lead to scores that are not finite")
    require(set(learner.predict(X).tolist()) <= {0, 1}, "chunks of one class lead to other labels")
    first = clone(blank)
    _require_refusal(first, X[:5], np.zeros(5, dtype=int), "a first chunk of one class, without classes")
    _require_same(_taught(blank, X, y), first.partial_fit(X, y), X, "a refused first chunk leaves a trace")


def _refused_chunks_leave_no_trace(blank: Estimator, X: np.ndarray, y: np.ndarray) -> None:
    half, rest = slice(0, N_ROWS // 2), slice(N_ROWS // 2, None)
    holed = X[rest].copy()
    holed[-1, -1] = np.nan
    unseen = np.append(y[rest][:-1], 7)
    learner, before = _taught(blank, X[half], y[half]), _taught(blank, X[half], y[half])
    for name, rows, labels in (
        ("NaN", holed, y[rest]),
        ("NaN in sparse rows", sparse.csr_array(holed), y[rest]),
        ("one feature less", X[rest][:, 1:], y[rest]),
        ("an unseen label", X[rest], unseen),
        ("labels missing", X[rest], y[rest][:-1]),
    ):
        _require_refusal(learner, rows, labels, f"a chunk with {name}")
        _require_same(before, learner, X, f"a chunk with {name} is refused, but leaves a trace")
        require(learner.n_seen_ == before.n_seen_, f"a chunk with {name} is refused, but counted in n_seen_")
    for one in (learner, before):
        one.partial_fit(X[rest], y[rest])
    _require_same(before, learner, X, "after refused chunks it goes on in another way")


def _require_refusal(learner: Estimator, X: Samples, y: np.ndarray, name: str) -> None:
    try:
        learner.partial_fit(X, y)
    except ValueError:
        return
    raise AssertionError(f"{name} must raise ValueError")


def _pickles_go_on(blank: Estimator, X: np.ndarray, y: np.ndarray) -> None:
    straight = _taught(blank, X[:123], y[:123])
    restored = pickle.loads(pickle.dumps(straight))
    _require_same(straight, restored, X, "a pickle has other scores")
    for one in (straight, restored):
        one.partial_fit(X[123:], y[123:])
    _require_same(straight, restored, X, "a pickle goes on in another way")


def _easy_streams_are_learnt(blank: Estimator, X: np.ndarray, y: np.ndarray) -> None:
    _require_learnt(blank, 0.0, "an easy stream")


def _intercepts_are_learnt(blank: Estimator, X: np.ndarray, y: np.ndarray) -> None:
    if hasattr(_taught(blank, X, y), "intercept_") and blank.get_params().get("fit_intercept", True):
        _require_learnt(blank, 0.5, "an easy stream on one side of the origin")


def _require_learnt(blank: Estimator, shift: float, name: str) -> None:
    """Require that a stream whose classes differ in one feature, around ``shift``, is learnt in a number of passes."""
    rng = np.random.default_rng(0)
    y = (rng.random(2 * N_ROWS) < 0.3).astype(int)
    X = 0.05 * rng.standard_normal((2 * N_ROWS, N_FEATURES))
    X[:, 0] += shift + 0.2 * (2 * y - 1)
    learner, area, f1, spread = clone(blank), 0.0, 0.0, 0.0
    for _ in range(PASSES):
        learner.partial_fit(X[:N_ROWS], y[:N_ROWS], classes=np.array([0, 1]))
        score, predicted = learner.decision_function(X[N_ROWS:]), learner.predict(X[N_ROWS:])
        area, f1, spread = roc_auc_score(y[N_ROWS:], score), f1_score(y[N_ROWS:], predicted), np.ptp(score)
        if area >= LEAST_AUC and f1 >= LEAST_F1:
            return
    constant = ", its scores are constant" if spread == 0.0 else ""
    raise AssertionError(
        f"{name} is not learnt{constant}: after {PASSES} passes the area under the ROC curve is {area:.3g} (at least "
        f"{LEAST_AUC} is asked for) and F1 {f1:.3g} ({LEAST_F1})"
    )


LAWS: tuple[Callable[[Estimator, np.ndarray, np.ndarray], None], ...] = (
    _predictions_follow_scores,
    _chunk_sizes_change_nothing,
    _seeds_decide,
    _kind_of_rows_makes_no_difference,
    _names_of_labels_make_no_difference,
    _order_of_features_makes_no_difference,
    _chunks_may_have_one_class,
    _refused_chunks_leave_no_trace,
    _pickles_go_on,
    _easy_streams_are_learnt,
    _intercepts_are_learnt,
)
