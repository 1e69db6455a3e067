"""Equal costs before everything else."""

import pytest
from builders import told
from hypothesis import given
from hypothesis import strategies as st

from csf.metrics import FBeta
from csf.strategies import Cone, Grid, NeutralFirst, Proposal
from csf.testing import check_strategy

NEUTRAL = told(0, 0.5, 0.3, 0.2, pos=0.2, costs=(1.0, 1.0))


@given(count=st.integers(0, 5), place=st.integers(0, 5))
def test_the_other_strategy_does_not_see_the_first_trial(count, place):
    others = [told(i + 1, 0.1 + i / 10, 0.3, 0.2, pos=0.2) for i in range(count)]
    trials = [*others[:place], NEUTRAL, *others[place:]]
    how = {"metric": FBeta(), "pos": 0.2}
    assert NeutralFirst(Grid(7)).propose(trials, **how) == Grid(7).propose(others, **how)
    assert NeutralFirst(Cone()).propose(others, **how) == Proposal(None, 1.0, 1.0)


@pytest.mark.parametrize("strategy", [Cone(), Grid(4)], ids=repr)
def test_it_keeps_the_contract(strategy):
    check_strategy(NeutralFirst(strategy))
    assert NeutralFirst(strategy).name == strategy.name
    assert NeutralFirst(strategy).batch_size == strategy.batch_size


def test_twice_is_once():
    """Else the inner one would wait for equal costs that it is not shown."""
    assert NeutralFirst(NeutralFirst(Grid(3))) == NeutralFirst(Grid(3))
