"""What all strategies share: balanced levels, names, metrics they cannot serve."""

import pytest
from builders import shares
from hypothesis import given
from hypothesis import strategies as st

from csf.metrics import METRICS, FBeta, GMean, WeightedAccuracy, get_metric
from csf.strategies import Bisection, Cone, Dinkelbach, Grid, NeutralFirst, Proposal, Strategy, Support
from csf.strategies.base import balanced_level, tried_levels


@pytest.mark.parametrize("name", METRICS)
@given(pos=shares)
def test_balanced_level_weighs_both_classes_alike(name, pos):
    metric = get_metric(name)
    level = balanced_level(metric, pos=pos)
    lo, hi = metric.range(pos)
    if level is None:  # then one class outweighs the other at every level
        balance = [pos * c_fn - (1 - pos) * c_fp for c_fn, c_fp in (metric.cost_weights(t, pos=pos) for t in (lo, hi))]
        assert balance[0] * balance[1] >= -1e-12
    else:
        c_fn, c_fp = metric.cost_weights(level, pos=pos)
        assert lo < level < hi
        assert pos * c_fn == pytest.approx((1 - pos) * c_fp, rel=1e-6)


def test_balanced_level_of_f1_is_twice_the_share():
    assert balanced_level(FBeta(), pos=0.1) == pytest.approx(0.2)
    assert balanced_level(FBeta(), pos=0.6) is None
    assert balanced_level(WeightedAccuracy(), pos=0.3) is None
    assert balanced_level(GMean(), pos=0.3) == pytest.approx(0.5)


@given(pos=shares)
def test_generic_costs_are_balanced_in_the_middle(pos):
    assert balanced_level(GMean(), pos=pos) == pytest.approx(0.5)


@pytest.mark.parametrize("strategy", [Bisection(), Dinkelbach()])
def test_strategies_that_read_values_as_levels_need_levels(strategy):
    strategy.check_metric(FBeta())
    with pytest.raises(TypeError, match=rf"strategy '{strategy.name}' needs a linear-fractional .*; gmean has none"):
        strategy.check_metric(GMean())


@pytest.mark.parametrize("strategy", [Cone(), Grid()])
def test_the_others_serve_every_metric(strategy):
    assert strategy.check_metric(GMean()) is None


def test_defaults_of_the_contract():
    class Fixed(Strategy):
        def propose(self, trials, *, metric, pos):
            return None

    assert Fixed().name == "fixed"
    assert Fixed().batch_size == 1
    strategy = Fixed()
    assert strategy.with_budget(7) is strategy
    assert strategy.check_metric(GMean()) is None


def test_a_proposal_is_a_tuple():
    assert Proposal(0.2, 0.9, 0.1) == (0.2, 0.9, 0.1)


@given(levels=st.lists(st.none() | st.floats(0, 1), max_size=5))
def test_tried_levels_are_sorted_and_leave_out_trials_without_one(levels):
    from csf import Trial

    trials = [Trial(number=i, t=t, costs=(1.0, 1.0)) for i, t in enumerate(levels)]
    assert tried_levels(trials) == sorted(t for t in levels if t is not None)


@pytest.mark.parametrize(
    ("make", "name"),
    [
        (lambda: Bisection(tol="0.1"), "tol"),
        (lambda: Bisection(tol=float("nan")), "tol"),
        (lambda: Dinkelbach(tol=None), "tol"),
        (lambda: Support(tol=-1.0), "tol"),
        (lambda: Support(patience=0.5), "patience"),
        (lambda: Support(reach=0.5), "reach"),
        (lambda: Support(reach=1e-300), "reach"),
        (lambda: Cone(depth="2"), "depth"),
        (lambda: Cone(batch_size=0), "batch_size"),
        (lambda: Cone(eps=-1.0), "eps"),
        (lambda: Grid(size=1.5), "size"),
        (lambda: NeutralFirst("grid"), "strategy"),
    ],
)
def test_parameters_are_checked(make, name):
    with pytest.raises((ValueError, TypeError), match=f"{name} must be"):
        make()
