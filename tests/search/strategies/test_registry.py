"""Strategies by name."""

import pytest

from csf.strategies import STRATEGIES, Cone, FunctionStrategy, Grid, Strategy, get_strategy


@pytest.mark.parametrize("name", STRATEGIES)
def test_names_give_fresh_objects_of_the_same_name(name):
    assert isinstance(get_strategy(name), Strategy)
    assert get_strategy(name).name == name
    assert get_strategy(name) == get_strategy(name)


def test_objects_and_functions_are_taken_as_they_are():
    grid = Grid(3)
    assert get_strategy(grid) is grid
    assert isinstance(get_strategy(lambda trials, *, metric, pos: None), FunctionStrategy)


def test_unknown_names_are_listed():
    with pytest.raises(ValueError, match=r"unknown strategy 'con'; known: cone, grid, .* or a function"):
        get_strategy("con")


@pytest.mark.parametrize("strategy", [None, 3, Cone, ["cone"]])
def test_anything_else_is_refused(strategy):
    with pytest.raises(TypeError, match=r"strategy must be a name \(cone, .*\), a Strategy object or a function, got"):
        get_strategy(strategy)
