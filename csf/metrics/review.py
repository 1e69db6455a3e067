"""A third answer beside "negative" and "positive": somebody looks at the row, at a cost."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from csf._common.validation import check_fraction, check_number

ANSWERS = ("negative", "review", "positive")


@dataclass(frozen=True)
class Review:
    """What a review costs, and how many rows can be reviewed.

    As ``review`` of `csf.CostSearch` it has `csf.CostSearch.decide` answer each row with what costs least on average:
    "negative", "review" or "positive" [1]_.

    Parameters
    ----------
    cost : float, default=0.0
        What a review costs, >= 0. With a `RowCosts` as metric in its units. With other metrics in units of a false
        positive: a false negative then costs ``c_fn / c_fp`` of these, by the class costs of the metric at the value
        that the search attained (for F1 = 0.6 they are 1.4 : 0.6), or with a constraint by those for which the
        threshold in use is the best one.
    at_most : float, default=None
        Share of the rows that can be reviewed, in (0, 1). Rows for which a review saves least are then answered
        without one, so that the share is kept on the held-out rows. New rows keep it on average.
    error : float, default=0.0
        Share of the reviews that end in the wrong answer, in [0, 1).
    wrong : float or dict, default=None
        Largest share of wrong answers among the rows that are answered "negative", and among those answered
        "positive", without a review; a dict such as ``{"negative": 0.01}`` limits one of them. More rows are reviewed
        for it, beyond ``at_most`` where need be. It holds on the held-out rows, and so on new ones about every second
        time; with ``confidence`` of the search it is certified, for each answer by itself, on the ``calibration``
        share. Where a limit cannot be shown, all rows are reviewed that would have been answered so. Alone, without
        ``cost`` and ``at_most``, it has as few rows reviewed as it needs.

    References
    ----------
    .. [1] C. K. Chow, "On optimum recognition error and reject tradeoff", IEEE Transactions on Information Theory 16,
       1970.

    Examples
    --------
    >>> Review(cost=2.0, at_most=0.1)
    Review(cost=2.0, at_most=0.1, error=0.0, wrong=None)
    """

    cost: float = 0.0
    at_most: float | None = None
    error: float = 0.0
    wrong: float | Mapping[str, float] | None = None

    def __post_init__(self) -> None:
        check_number(self.cost, "cost of a review")
        if self.at_most is not None:
            check_fraction(self.at_most, "at_most of a review")
        elif self.only_limits and self.wrong is None:
            raise ValueError(
                "a review that costs nothing is the answer to all rows; give its cost=, at_most= or wrong="
            )
        if not check_number(self.error, "error of a review") < 1.0:
            raise ValueError(f"error of a review must be a share in [0, 1), got {self.error!r}")
        for answer, limit in self.limits.items():
            if answer not in ANSWERS[::2]:
                raise ValueError(f"wrong limits the answers 'negative' and 'positive', got {answer!r}")
            check_fraction(limit, f"wrong of {answer!r}")

    @property
    def only_limits(self) -> bool:
        """Whether rows are reviewed for the limits on wrong answers alone."""
        return not self.cost and self.at_most is None

    @property
    def limits(self) -> dict[str, Any]:
        """Largest share of wrong answers, of each answer that has one."""
        if self.wrong is None or isinstance(self.wrong, Mapping):
            return dict(self.wrong or {})
        return dict.fromkeys(ANSWERS[::2], self.wrong)
