"""A check for reports of skore: what predicting at 0.5 costs. skore itself is not imported."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from csf._common.typing import Label
from csf.data.responses import DECISION_FIRST, positive_score
from csf.metrics import get_metric
from csf.metrics.base import Metric
from csf.search.decide import decide

__all__ = ["ThresholdCheck"]


@dataclass(frozen=True)
class ThresholdCheck:
    """Check for ``report.checks.add`` of skore: by how much a tuned threshold beats the estimator's own decision.

    Parameters
    ----------
    metric : str, Metric or callable, default="f1"
        What counts, as for `csf.CostSearch`.
    least : float, default=0.01
        Gain of the metric from which on it is a finding, if the value to expect is above that too.
    pos_label : label, default=None
        Positive class; ``None`` takes the one of the report, or 1 for labels {0, 1} or {-1, 1}.

    Examples
    --------
    >>> check = ThresholdCheck("f1")  # report.checks.add([check]); report.checks.summarize()
    >>> check.code, check.title
    ('CSF101-F1', 'The threshold is not that of f1')
    """

    metric: str | Metric = "f1"
    least: float = 0.01
    pos_label: Label = None
    # What skore asks of a check besides: where it applies, how grave it is, whether it takes long.
    report_types: ClassVar[list[str]] = ["estimator", "cross-validation"]
    severity: ClassVar[str] = "tip"
    docs_url: ClassVar[str | None] = None
    slow: ClassVar[bool] = False

    @property
    def code(self) -> str:
        """Its name in lists of checks to ignore, one for each metric."""
        return f"CSF101-{get_metric(self.metric).name.upper()}"

    @property
    def title(self) -> str:
        """Short label of the finding."""
        return f"The threshold is not that of {get_metric(self.metric).name}"

    def check_function(self, report: Any) -> str | None:
        """What was found, ``None`` for nothing.

        Parameters
        ----------
        report : skore.EstimatorReport or skore.CrossValidationReport
            The report, of a classifier of two classes.

        Returns
        -------
        str or None
            The finding.
        """
        if report.ml_task != "binary-classification":
            from skore import CheckNotApplicable  # pyright: ignore[reportMissingImports] (it called this)

            raise CheckNotApplicable(f"a threshold is one of two classes, got {report.ml_task}")
        parts = getattr(report, "reports_", [report])  # one for each fold
        classes = np.asarray(parts[0].estimator_.classes_)
        positive = report.pos_label if self.pos_label is None else self.pos_label
        positive = classes[1] if positive is None else positive
        y = np.concatenate([np.asarray(part.y_test) for part in parts])
        own = np.concatenate([part.estimator_.predict(part.X_test) for part in parts])
        score = np.concatenate(
            [positive_score(part.estimator_, part.X_test, positive, DECISION_FIRST) for part in parts]
        )
        metric, decision = get_metric(self.metric), decide(y, score, self.metric, pos_label=positive)
        value, (low, high) = metric.score(y, own, pos_label=positive), decision.interval
        if decision.value - value < self.least:
            return None
        return (
            f"The estimator's own threshold costs {100 * (decision.value - value):.1f} points of {metric.name}: its "
            f"predictions have {value:.3f}, and {decision.value:.3f} is to be expected (90 % interval {low:.3f} to "
            f"{high:.3f}) where the score is compared with {decision.threshold:.4g}. csf.decide(y, score) finds it; "
            "take samples for it that the model has not been fitted to."
        )
