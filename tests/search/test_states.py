"""States of trainings in files: the same bits come back, and nothing but data."""

import json
from dataclasses import fields

import numpy as np
import pytest

from csf.search.checkpoint import decode, encode
from csf.solvers import Hinge, HingeSolution, Rows, Solution, SquaredHinge


def there_and_back(state):
    return decode(json.loads(json.dumps(encode(state))))


@pytest.mark.parametrize(
    "array",
    [
        np.array([0.1, -0.0, np.nan, np.inf, 5e-324]),
        np.zeros((0, 3)),
        np.arange(6, dtype=np.int32).reshape(2, 3),
        np.asfortranarray(np.arange(6.0).reshape(2, 3)),
        np.array(3.5),
        np.array([True, False]),
        np.float32([1.1]),
    ],
    ids=lambda array: f"{array.dtype}{array.shape}",
)
def test_arrays_come_back_bit_by_bit(array):
    found = there_and_back(array)
    assert (found.dtype, found.shape, found.tobytes()) == (array.dtype, array.shape, array.tobytes())
    assert found.flags.writeable


def test_values_keep_their_types():
    state = (None, True, 3, 0.1, "a", [1, (2,)], np.float64(0.1), np.int32(7))
    found = there_and_back(state)
    assert found == state
    assert [type(part) for part in found] == [type(part) for part in state]


@pytest.mark.parametrize(("solver", "kind"), [(Hinge, HingeSolution), (SquaredHinge, Solution)])
def test_solutions_come_back(solver, kind):
    rng = np.random.default_rng(0)
    rows, sign = Rows(rng.normal(size=(30, 3))), np.where(rng.random(30) < 0.4, 1.0, -1.0)
    solution = solver(rows, sign).solve(np.ones(30), tol=1e-6)
    found = there_and_back(solution)
    assert type(found) is kind
    for field in fields(kind):
        np.testing.assert_array_equal(getattr(found, field.name), getattr(solution, field.name))


@pytest.mark.parametrize("state", [object(), {"a": 1}, np.array([object()]), lambda: 0, {1}])
def test_other_states_cannot_be_kept(state):
    with pytest.raises(TypeError, match="cannot be kept in a file"):
        encode((1, state))


@pytest.mark.parametrize(
    "record",
    [
        [],
        ["eval", "1"],
        ["array", "<f8", [2], "AAAA"],
        ["array", "<f8", [2]],
        ["array", "O", [1], encode(np.zeros(1))[3]],
        ["Solution", 1],
        ["tuple", ["nothing"]],
    ],
)
def test_other_records_are_refused(record):
    with pytest.raises(ValueError, match="this is not the record of a state"):
        decode(record)
