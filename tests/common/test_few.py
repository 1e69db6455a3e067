"""What takes the place of compiled loops for few samples does the same as they do."""

import importlib

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.linear_model import LogisticRegression

from csf import CostSearch
from csf._common import compiled
from csf._common.compiled import Kernel, njit, on_lists
from csf.evaluate import _kernels as draws
from csf.metrics import profile
from csf.thresholding import _kernels as cuts

KERNELS = {
    "count_drawn": draws,
    "class_sums": draws,
    "sums_at": draws,
    "candidate_cuts": draws,
    "best_ratios": draws,
    "middle_of_ties": draws,
    "hull_cuts": profile,
    "merge_cuts": cuts,
    "decide_affine": cuts,
}


def arguments(name, rng):
    """Random arguments of a kernel, with ties."""
    n, n_draws, n_cuts = (int(rng.integers(1, most)) for most in (40, 6, 9))
    is_pos, coarse = rng.random(n) < 0.4, rng.integers(0, 8, n) / 8.0
    if name == "count_drawn":
        return rng.integers(0, n, n), rng.integers(0, n, n), rng.integers(0, 2, n).astype(np.uint8), 3
    weight = rng.integers(0, 4, (n, n_draws)).astype(np.uint8)
    if rng.random() < 0.5:
        weight = (weight * rng.random((n, 1))).astype(rng.choice([np.float32, np.float64]))
    if name == "class_sums":
        return is_pos, weight
    kind = np.int32 if weight.dtype == np.uint8 else np.float64
    sums = np.full((2, n_cuts + 1 + int(rng.integers(3)), n_draws + int(rng.integers(2))), 7, dtype=kind)
    if name == "sums_at":
        return rng.integers(0, n_cuts + 1, n).astype(np.uint16), is_pos, weight, n_cuts, sums
    if name == "candidate_cuts":
        score = coarse.astype(rng.choice([np.float32, np.float64])) - np.where(rng.random(n) < 0.1, np.inf, 0.0)
        score *= rng.choice([1.0, -1.0])
        score, copies = np.sort(score)[::-1], rng.integers(1, 4, n)
        return score, is_pos, copies, int(rng.integers(1, 9)), int(rng.integers(-1, n + 1)), np.zeros(n + 2, int)
    sums = np.cumsum(rng.integers(0, 3, (2, n_cuts + 1, n_draws)), axis=1).astype(np.int32)
    neg, pos = sums[:, -1].astype(float)
    if name == "best_ratios":
        numbers = rng.choice([0.0, 1.0, -1.0, 0.5], (n_draws, 6))
        return sums, n_cuts, pos, neg, numbers, 2e-15, np.full(n_draws, -1), np.full(n_draws, np.nan)
    if name == "middle_of_ties":
        return sums, n_cuts, rng.integers(0, n_cuts, n_draws)
    if name == "hull_cuts":
        return np.sort(rng.integers(0, 9, n) / 9.0)[::-1].copy(), np.sort(rng.integers(0, 9, n) / 9.0)
    if name == "merge_cuts":
        values = np.array([-np.inf, -1.0, 0.0, 0.1, np.nextafter(0.1, 1), 2.0, np.inf])
        parts = [np.sort(rng.choice(values, int(rng.integers(1, 20))))[::-1].copy() for _ in range(2)]
        weights = [rng.choice([0.1, 0.7, 1e-9], part.size) if rng.random() < 0.5 else None for part in parts]
        out = [np.zeros(parts[0].size + parts[1].size + 1) for _ in range(3)]
        return parts[0], weights[0], parts[1], weights[1], *out
    if name == "decide_affine":
        proba = rng.integers(0, 5, (n, 3)) / 4.0
        return (
            proba,
            rng.choice([1.0, 2.0], 3),
            rng.choice([0.0, 0.5], 3),
            is_pos,
            rng.integers(0, 3, n).astype(np.uint8),
        )
    raise ValueError(f"no arguments of {name}")


def outcome(name, function, given):
    given = [each.copy() if isinstance(each, np.ndarray) else each for each in given]
    result = np.array(function(*given), dtype=float)
    if name == "sums_at":  # beyond the cuts and the draws nothing is read
        given[-1] = given[-1][:, : given[3], : given[2].shape[1]]
    if name == "candidate_cuts":
        given = [each[: int(result)] if at == 5 else each for at, each in enumerate(given)]
    if name == "merge_cuts":
        given[-3:] = [each[: int(result[0])] for each in given[-3:]]
    return result, [each for each in given if isinstance(each, np.ndarray)]


@pytest.mark.parametrize("name", KERNELS)
@given(st.integers(0, 2**32 - 1))
def test_few_samples_give_what_compiled_loops_give(name, seed):
    kernel, given = getattr(KERNELS[name], name), arguments(name, np.random.default_rng(seed))
    one, other = (outcome(name, function, given) for function in (kernel.dispatcher(), kernel._few))
    # What is taken depends on the process, so that not even the last digit may differ.
    np.testing.assert_array_equal(one[0], other[0])
    for mine, theirs in zip(one[1], other[1], strict=True):
        np.testing.assert_array_equal(mine, theirs)


def test_all_that_take_the_place_of_kernels_are_compared():
    modules = [draws, profile, cuts]
    known = {
        name for module in modules for name, each in vars(module).items() if isinstance(each, Kernel) and each._few
    }
    assert known >= set(KERNELS)
    assert known - set(KERNELS) == set()


def test_the_size_of_the_largest_array_decides_where_numba_is_not_loaded(monkeypatch):
    calls, loaded = [], False
    monkeypatch.setattr(compiled, "_numba_is_loaded", lambda: loaded)

    @njit(cache=False, few=lambda *given: calls.append(given), most=3)
    def count(x, y):
        return len(x)

    assert count(np.zeros(3), None) is None
    assert count(np.zeros(4), 0.0) == 4
    assert count(np.zeros(3), 0.0) is None
    assert len(calls) == 2
    loaded = True
    assert count(np.zeros(3), 0.0) == 3


def test_lists_are_written_back_but_where_arrays_are_read_only():
    def double(values, twice):
        for at in range(len(values)):
            twice[at] = 2 * values[at]
        return len(values)

    given, twice = np.arange(3.0), np.zeros(3)
    given.flags.writeable = False
    assert on_lists(double)(given, twice) == 3
    assert twice.tolist() == [0.0, 2.0, 4.0]


def test_the_plain_call_on_few_samples_compiles_nothing(monkeypatch):
    monkeypatch.setattr(compiled, "_numba_is_loaded", lambda: False)
    monkeypatch.setattr(Kernel, "dispatcher", lambda kernel: pytest.fail(f"{kernel.__name__} is compiled"))
    for module in ("csf.evaluate._kernels", "csf.solvers.matrix", "csf.solvers.base"):
        importlib.import_module(module)
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 3))
    y = X[:, 0] + rng.normal(size=120) > 0.8
    search = CostSearch(LogisticRegression()).fit(X, y)
    assert 0.0 <= search.score_interval_[0] < search.score_interval_[1] <= 1.0
