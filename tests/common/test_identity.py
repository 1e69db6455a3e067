"""What makes a search another one: differences that count, and those that do not."""

import functools
import itertools
import json
import os
import subprocess
import sys
import threading
from functools import cached_property, partial

import numpy as np
import pandas as pd
import polars as pl
import pytest
from builders import paper_search
from numba import njit
from scipy import sparse
from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler
from sklearn.svm import LinearSVC

from csf import Study
from csf._common.identity import describe, fingerprint
from csf.metrics import CustomMetric, FBeta, Metric
from csf.strategies import Cone, Grid

FACTOR = 2.0


def six(pos):
    return 2 * pos, -2, 0, 2 * pos, -1, 1


def reads(name, value):
    """Function that reads a global variable of its own module."""
    module = {name: value}
    exec(f"def f(x):\n    return x * {name}", module)
    return module["f"]


def calls(inner):
    """Function that calls a function of its own module."""
    module = {}
    exec(f"def inner(x):\n    return {inner}\n\ndef f(x):\n    return [inner(z) for z in x]", module)
    return module["f"]


def power(k):
    return lambda x: x**k


def nested(k):
    def outer(x):
        def inner(z):
            return z + k

        return inner(x)

    return outer


def default(value):
    return lambda x, k=value: x**k


def keyword(value):
    return lambda x, *, k=value: x**k


class Power:
    def __init__(self, k):
        self.k = k

    def of(self, x):
        return x**self.k

    def __call__(self, x):
        return self.of(x)


class Slots:
    __slots__ = ("k",)

    def __init__(self, k):
        self.k = k


class Locked(Power):
    """Cannot be pickled."""

    def __reduce__(self):
        raise TypeError("no")


def local_metric(k):
    class Local(Metric):
        def value(self, fn, fp, *, pos):
            return 1 - k * fn - fp

    return Local()


def cached(k):
    @functools.lru_cache
    def f(x):
        return x**k

    return f


def compiled(k):
    return njit(lambda x: x**k)


def seeded(k):
    return np.random.default_rng(int(k))


def scaled(k, n_features=1):
    return FrozenEstimator(StandardScaler().fit([[0.0] * n_features, [float(k)] * n_features]))


# Each makes the same from equal values, and something else from others.
MAKERS = {
    "a closure": power,
    "a nested closure": nested,
    "a default argument": default,
    "a keyword default": keyword,
    "a partial": lambda k: partial(pow, k),
    "a keyword of a partial": lambda k: partial(six, pos=k),
    "a partial of a lambda": lambda k: partial(power(k), 1),
    "a bound method": lambda k: Power(k).of,
    "a callable object": Power,
    "slots": Slots,
    "what cannot be pickled": Locked,
    "a global variable": lambda k: reads("K", k),
    "a global list": lambda k: reads("K", [k, "a"]),
    "a function that is called": lambda k: calls(f"z + {k}"),
    "a class made in a function": local_metric,
    "a cached function": cached,
    "a compiled function": compiled,
    "a vectorised function": lambda k: np.vectorize(power(k)),
    "a generator of numbers": seeded,
    "an old generator of numbers": lambda k: np.random.RandomState(int(k)),
    "an iterator": lambda k: iter([1, k]),
    "a frozen estimator": scaled,
    "a parameter": lambda k: LinearSVC(C=k),
    "a step": lambda k: make_pipeline(FunctionTransformer(power(k)), LinearSVC()),
    "a metric": lambda k: CustomMetric(lambda pos: (k * pos, *six(pos)[1:])),
    "an attribute of a function": lambda k: functools.update_wrapper(
        power(1), Power(k), assigned=(), updated=("__dict__",)
    ),
    "a set": lambda k: {k, "a", "b", "c"},
    "a key": lambda k: {k: "a"},
    "an array": lambda k: np.array([k, 1.0]),
    "an array of objects": lambda k: np.array([k, "a"], dtype=object),
    "a sparse matrix": lambda k: sparse.csr_array([[0.0, k]]),
    "a frame": lambda k: pd.DataFrame({"a": [k], "b": ["x"]}),
    "a frame of polars": lambda k: pl.DataFrame({"a": [k], "b": ["x"]}),
}


@pytest.mark.parametrize("name", MAKERS)
def test_equal_content_is_the_same_and_other_content_is_not(name):
    make = MAKERS[name]
    assert fingerprint(make(2)) == fingerprint(make(2))
    assert fingerprint(make(2)) != fingerprint(make(3))
    assert " at 0x" not in json.dumps(describe(make(2)))


def test_values_of_other_types_differ():
    values = [
        1,
        1.0,
        True,
        "1",
        b"1",
        1 + 0j,
        np.int64(1),
        np.float64(1),
        np.float32(1),
        np.bool_(True),
        [1],
        (1,),
        {1},
    ]
    values += [frozenset({1}), {1: 1}, {"1": 1}, {1.0: 1}, {True: 1}, np.array(1), np.array([1]), np.array([1.0])]
    values += [
        np.array([1], np.int32),
        np.array([1], ">i8"),
        np.array([[1]]),
        None,
        "None",
        "1.0",
        0.1,
        0.2,
    ]
    values += [0.0, -0.0, float("nan"), float("inf"), range(1), slice(1), Ellipsis, "", (), [], {}, set(), np.array([])]
    found = [fingerprint(value) for value in values]
    alike = [(a, b) for (a, f), (b, g) in itertools.combinations(zip(values, found, strict=True), 2) if f == g]
    assert alike == []


def test_functions_count_by_their_code():
    """Two lambdas share a name; a search must not resume with the trials of the other one's strategy."""
    first, second = lambda trials, *, metric, pos: 0.2, lambda trials, *, metric, pos: 0.6
    assert fingerprint(first) != fingerprint(second)
    assert fingerprint(first) == fingerprint(first)


def test_order_does_not_matter_where_there_is_none():
    assert fingerprint({"a": 1, "b": 2}) == fingerprint({"b": 2, "a": 1})
    assert fingerprint(set("abcdef")) == fingerprint(set("fedcba"))
    assert fingerprint(np.asfortranarray(np.eye(3))) == fingerprint(np.eye(3))
    assert fingerprint(["a", "b"]) != fingerprint(["b", "a"])


def test_what_was_read_before_does_not_matter():
    class Lazy(Power):
        @cached_property
        def square(self):
            return self.k**2

    fresh, used = Lazy(2), Lazy(2)
    assert used.square == 4
    assert fingerprint(fresh) == fingerprint(used)


def test_circles_end():
    around = []
    around.append(around)
    node = Power(1)
    node.k = node

    def ping(n):
        return pong(n - 1) if n else 0

    def pong(n):
        return ping(n - 1) if n else 1

    for part in (around, node, ping, factorial, even):
        assert fingerprint(part) == fingerprint(part)


def factorial(n):
    return n * factorial(n - 1) if n else 1


def even(n):
    return odd(n - 1) if n else True


def odd(n):
    return even(n - 1) if n else False


@pytest.mark.parametrize(
    "part",
    [(n for n in range(3)), threading.Lock(), partial(pow, threading.Lock())],
    ids=["generator", "lock", "in"],
)
def test_what_has_no_content_is_refused(part):
    with pytest.raises(
        TypeError, match=r"cannot be distinguished from others of its kind.* a __getstate__ that leaves it out"
    ):
        fingerprint(part)


def test_what_is_too_deep_is_refused():
    deep = []
    for _ in range(10_000):
        deep = [deep]
    with pytest.raises(TypeError, match="nested too deeply"):
        fingerprint(deep)


def test_an_object_can_leave_out_what_does_not_matter():
    class WithLock(Power):
        def __init__(self, k):
            super().__init__(k)
            self.lock = threading.Lock()

        def __getstate__(self):
            return {"k": self.k}

    assert fingerprint(WithLock(1)) == fingerprint(WithLock(1)) != fingerprint(WithLock(2))


SCRIPT = """
import os, sys
sys.path[:0] = [sys.argv[1], os.path.dirname(sys.argv[1])]
from test_identity import MAKERS, fingerprint
for name, make in MAKERS.items():
    print(fingerprint(make(2)))
"""


@pytest.mark.slow
def test_every_process_agrees():
    found = set()
    for seed in ("1", "2"):
        command = [sys.executable, "-c", SCRIPT, os.path.dirname(__file__)]
        done = subprocess.run(
            command, env=os.environ | {"PYTHONHASHSEED": seed}, capture_output=True, text=True, check=True
        )
        found.add(done.stdout)
    assert len(found) == 1
    assert len(found.pop().split()) == len(MAKERS)


# ---------------------------------------------------------------- searches and studies


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 3))
    return X, (X[:, 0] + rng.normal(size=80) > 0.8).astype(int)


def weighted(b):
    return CustomMetric(lambda pos: ((1 + b * b) * pos, -(1 + b * b), 0, (1 + b * b) * pos, -1, 1))


def halves(first):
    return lambda trials, *, metric, pos: first if not trials else None


def test_names_and_objects_are_the_same_search(data, tmp_path):
    options = {"n_trials": 1, "cv": 2, "checkpoint": tmp_path / "c.json"}
    first = paper_search(LinearSVC(), "f1", "cone", **options).fit(*data)
    assert paper_search(LinearSVC(), FBeta(), Cone(), n_jobs=2, **options).fit(*data).trials_ == first.trials_


@pytest.mark.parametrize(
    ("then", "now"),
    [
        ((weighted(1), "cone"), (weighted(3), "cone")),
        ((local_metric(1), "cone"), (local_metric(2), "cone")),
        (("f1", halves(0.1)), ("f1", halves(0.2))),
        (("f1", Grid(3)), ("f1", Grid(4))),
    ],
)
def test_a_study_of_other_parts_is_refused(tmp_path, then, now):
    Study(*then, pos=0.2).save(tmp_path / "s.json")
    assert Study.load(tmp_path / "s.json", *then).pos == 0.2
    with pytest.raises(ValueError, match=r"s\.json was made with (metric|strategy) .*, not "):
        Study.load(tmp_path / "s.json", *now)
