"""What a held-out comparison says, in words."""

from __future__ import annotations

from typing import TYPE_CHECKING

from csf.cli.rivals import POOLED
from csf.show.held_out import Judged, other_costs

if TYPE_CHECKING:
    from csf.search import CostSearch

__all__ = ["OWN", "verdict"]

# Name of the search among what is compared.
OWN = "csf"


def verdict(metric_name: str, search: CostSearch, judged: list[Judged], reference: str = POOLED) -> str:
    """How the search did beside the rival that counts: of two classes the exact threshold without costs."""
    own = judged[0]
    text = f"csf: {metric_name} {own.value:.4f}, in 90 % of resamples of the held-out rows {_range(own.interval)}"
    rival = next((each for each in judged if each.name == reference), None)
    if rival is None:
        return text
    if unequal := _unequal(search, own, rival):
        return f"{text}\nno comparison with the {reference}: {unequal}"
    text += f"\ndifference to the {reference}: {rival.difference:+.4f} {_range(rival.difference_interval, '+.4f')}"
    words = _words_of_classes if hasattr(search, "class_costs_") else _words
    return f"{text}\n{words(search, *rival.difference_interval)}"


def _range(interval: tuple[float, float], spec: str = ".4f") -> str:
    return f"[{interval[0]:{spec}}, {interval[1]:{spec}}]"


def _unequal(search: CostSearch, own: Judged, rival: Judged) -> str | None:
    """Why a difference would compare what is not alike, if it would: who keeps no constraint finds more."""
    promise = getattr(search, "guarantee_", None)
    if promise is not None and not promise.holds:
        return f"{promise.constraint} could not be shown for the search"
    if (own.misses > 0.0) != (rival.misses > 0.0):
        return f"the {'search' if own.misses > 0.0 else 'threshold'} misses the constraint on these rows"
    return None


def _words_of_classes(search: CostSearch, low: float, high: float) -> str:
    """Whether the search helped."""
    if low > 0.0:
        return "The search helped."
    if high < 0.0:
        return "The search did not help: the base as it is does better here."
    return "Whether the search helps, the held-out rows are too few to show."


def _words(search: CostSearch, low: float, high: float) -> str:
    """Whether costs helped."""
    c_fn, c_fp = search.best_cost_weights_
    if c_fn == c_fp:
        return f"Equal costs are kept; on the training rows {other_costs(search)}."
    ratio = f"costs {c_fn / c_fp:.3g} : 1" if c_fn > c_fp else f"costs 1 : {c_fp / c_fn:.3g}"
    if low > 0.0:
        return f"The search chose {ratio}, and they helped."
    if high < 0.0:
        return f"The search chose {ratio}, and they did not help: without them it is better here."
    return f"The search chose {ratio}; whether they help, the held-out rows are too few to show."
