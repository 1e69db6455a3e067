"""What a fitted search publishes."""

from __future__ import annotations

import copy
from collections.abc import Collection, Mapping
from dataclasses import replace
from types import NoneType
from typing import TYPE_CHECKING, Any, Self

from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from csf._common import reporting
from csf._common.sklearn import pass_on_features
from csf._common.typing import Array, PathLike, Samples
from csf.evaluate import AssessedMixin
from csf.metrics.labels import get_label_metric
from csf.search.outcome import in_order
from csf.thresholds.linear_rule import RuleOfClasses

if TYPE_CHECKING:
    from csf.data.labels import Labels
    from csf.evaluate import Assessment
    from csf.thresholds.curve import ThresholdCurve
    from csf.thresholds.linear_rule import LinearRule

__all__ = ["FittedSearch", "told_of_classes"]


def told_of_classes(labels: Labels) -> dict[str, Any]:
    """Attributes that tell the classes of a search."""
    return {"classes_": labels.classes, "null_class_": labels.null, "pos_label_": labels.positive}


class FittedSearch(AssessedMixin):
    """Results of `csf.CostSearch` and `csf.dask.DaskCostSearch`, described there."""

    metric: Any
    searches_: list[Self]
    label_names_: Array
    best_scores_: Array
    rule_: LinearRule
    # Told by outcomes, see `csf.search.outcome.Outcome.published`.
    trials_: list[Any]
    n_trials_: int
    n_splits_: int
    studies_: list[Any]
    cv_results_: dict[str, Array]
    stop_reason_: str
    best_index_: int
    best_params_: Any
    best_t_: Any
    best_cost_weights_: Any
    best_threshold_: Any
    best_score_: float
    feasible_: bool
    constraint_value_: float | None
    upper_bound_: float
    gap_: float
    bound_margin_: float
    guarantee_: Any
    classes_: Array
    class_count_: Array
    pos_label_: Any
    null_class_: Any
    class_costs_: Array
    confusion_: Array
    n_features_in_: int
    feature_names_in_: Array

    def _forget(self) -> None:
        """Drop all that an earlier fit found: a fit that fails leaves a search that is not fitted."""
        own = ("_outcome", "_rule", "_assessment")
        for name in [name for name in vars(self) if name in own or (name.endswith("_") and not name.startswith("_"))]:
            del vars(self)[name]

    def _publish(self, found: Any, rule: Any) -> None:
        """Tell an outcome; ``rule`` predicts, and is ``None`` where nothing was trained on everything."""
        self._outcome, self._rule = found, rule
        vars(self).update(found.published())
        if not isinstance(rule, (RuleOfClasses, NoneType)):
            # Where no threshold was tuned, that of the base's own decision.
            self.best_threshold_ = rule.threshold

    def _publish_fit(self, found: Any, rule: Any, seconds: float, about: Mapping[str, Any]) -> None:
        """Tell what a fit found, and ``about`` its classes; all at once, at the end."""
        try:
            vars(self).update(about)
            self._publish(found, rule)
            if rule is not None:
                self.best_estimator_, self.refit_time_ = rule.estimator, seconds
                pass_on_features(self.best_estimator_, self)
        except BaseException:
            # Ctrl-C between two lines of these: half of a search is none.
            self._forget()
            raise

    def _assess_scores(self) -> Assessment | None:
        return self._outcome.assess() if "_outcome" in vars(self) else None

    def _of_one_search(self) -> Any:
        """What was found; a ValueError where each label has a search of its own."""
        check_is_fitted(self, "trials_")
        if hasattr(self, "searches_"):
            raise ValueError("each label has a search of its own; ask searches_[k] for that of one label")
        return self._outcome

    @property
    def _predicting(self) -> Any:
        check_is_fitted(self, "trials_")
        if self._rule is None:
            name = type(self).__name__
            raise AttributeError(
                f"this {name} was fitted with refit=False and has no best_estimator_ to predict with; use refit=True"
            )
        # Who tries another threshold sets best_threshold_.
        return replace(self._rule, threshold=self.best_threshold_) if "best_threshold_" in vars(self) else self._rule

    def _without_scores(self) -> Self:
        """A copy that knows what its held-out scores say, without these."""
        lean = copy.copy(self)
        if hasattr(lean, "held_out_"):
            # What a mean over problems would need are decisions on all samples.
            lean._assessment = replace(lean.assess(), judged=None)
            del lean.held_out_
            lean._outcome = replace(lean._outcome, store=None)
        return lean

    def at_prevalence(self, pos: float | ArrayLike | Mapping[Any, float]) -> Self:
        """The classifier for data with another share of positives.

        Parameters
        ----------
        pos : float, array-like of shape (n_classes,) or dict
            Share of positives where it is to be used, in (0, 1), known or estimated by
            `csf.thresholding.estimate_prevalence`; of several classes the share of each, in the order of ``classes_``
            or as a dict by their names: ``rule_`` is then tuned again. Of several labels a sample the share of each, in
            the order of the columns or by ``label_names_``, where each label has a search of its own.

        Returns
        -------
        CostSearch
            A copy with the same ``best_estimator_`` and the threshold that is best there. ``best_score_``,
            ``corrected_score_``, the intervals, ``constraint_value_``, ``upper_bound_`` and ``gap_`` are those to
            expect at the new share, from the rates within the classes on the held-out samples, which stay the same.
            ``trials_``, ``studies_`` and ``cv_results_`` tell what was searched, at the share of the data.
            ``best_index_at_prevalence_`` is the place of the trial that would be best there: where it is not
            ``best_index_``, training it with its costs gains what ``score_at_prevalence_`` is above ``best_score_``.

        Raises
        ------
        ValueError
            If a share is not in (0, 1), no threshold is tuned, or several labels share one.
        """
        check_is_fitted(self, "trials_")
        names = getattr(self, "label_names_", self.classes_)
        shares: Any = in_order(pos, names.tolist()) if isinstance(pos, Mapping) else pos
        if hasattr(self, "label_names_") and not hasattr(self, "searches_"):
            raise ValueError(
                f"with metric={get_label_metric(self.metric).name!r} all labels share a threshold, and y has several "
                "labels a sample, each with a share of its own; search a mean over labels, such as metric='f1_macro', "
                "where each has its threshold"
            )
        moved = copy.copy(self)
        for name in ("guarantee_", "held_out_", "_assessment"):
            vars(moved).pop(name, None)
        if isinstance(pos, Mapping) and not (hasattr(self, "class_costs_") or hasattr(self, "searches_")):
            shares = self._share_of_positives(shares)
        moved._publish(*self._outcome.moved(shares, self._rule))
        return moved

    def _share_of_positives(self, shares: Array) -> float:
        """What a share for each class says of two classes."""
        if self.pos_label_ is None:
            raise ValueError(
                f"pos must be the share of all that is not {self.null_class_!r}, a number: shares of the other classes "
                "among each other are taken to stay"
            )
        return float(shares[self.classes_ == self.pos_label_].sum() / shares.sum())

    def held_out_curve(self) -> ThresholdCurve:
        """All thresholds on the winner's held-out scores, those that ``best_threshold_`` was chosen among.

        Returns
        -------
        ThresholdCurve
            Error profile at each threshold, see `csf.thresholding.threshold_curve`.

        Raises
        ------
        ValueError
            If the base's own decisions were kept (``threshold=None``).
        """
        return self._of_one_search().curve()

    def trials_frame(self) -> Any:
        """The trials as a pandas frame, one row each.

        Returns
        -------
        pandas.DataFrame
            ``cv_results_`` without ``params``, with the constrained ``rate``, whether the trial is ``feasible`` and
            which one is the ``winner``; the index is the place in ``trials_``.

        Raises
        ------
        sklearn.exceptions.NotFittedError
            If the search is not fitted.
        ImportError
            If pandas is not installed.

        Examples
        --------
        >>> from sklearn.datasets import load_digits
        >>> from sklearn.svm import LinearSVC
        >>> from csf.search import CostSearch
        >>> X, y = load_digits(return_X_y=True)
        >>> frame = CostSearch(LinearSVC(), n_trials=3, param_grid=None, cv=3).fit(X, y == 8).trials_frame()
        >>> bool(frame.loc[frame["winner"], "pooled_test_score"].item() == frame["pooled_test_score"].max())
        True
        """
        self._of_one_search()
        try:
            import pandas
        except ImportError as error:
            raise ImportError(
                "trials_frame needs pandas: install it, or read cv_results_, a dict of arrays that holds the same"
            ) from error
        columns = {name: values for name, values in self.cv_results_.items() if name != "params"}
        frame = pandas.DataFrame(columns)
        frame["rate"] = [float("nan") if trial.rate is None else trial.rate for trial in self.trials_]
        frame["feasible"] = [trial.state == "complete" and trial.feasible for trial in self.trials_]
        frame["winner"] = frame.index == self.best_index_
        return frame

    def report(
        self,
        path: PathLike,
        X: Samples | None = None,
        y: ArrayLike | None = None,
        *,
        sample_weight: ArrayLike | None = None,
        rivals: Mapping[str, ArrayLike] | None = None,
        title: str | None = None,
        facts: Mapping[str, str] | None = None,
        mute: Collection[str] = (),
    ) -> None:
        """Write what was found as one page for a browser, which loads nothing and can be sent and printed.

        Parameters
        ----------
        path : path-like
            File to write, such as ``"report.html"``.
        X : array-like of shape (n_samples, n_features), default=None
            Samples that ``fit`` has not seen, to judge the winner on. ``None`` shows what the search itself knows.
        y : array-like of shape (n_samples,) or (n_samples, n_labels), default=None
            Their labels.
        sample_weight : array-like of shape (n_samples,), default=None
            Their weights >= 0.
        rivals : dict of str to array-like, default=None
            Labels, in the shape of ``y``, that other classifiers predict for ``X``, by their names.
        title : str, default=None
            Heading.
        facts : dict of str to str, default=None
            Further facts to name, such as ``{"Data": "customers.csv"}``.
        mute : collection of str, default=()
            Codes of checks to leave out, such as ``["CSF001"]``; the guide's page "Checks" explains each one.

        Raises
        ------
        sklearn.exceptions.NotFittedError
            If the search is not fitted.
        ValueError
            If data or rivals do not fit the search, ``mute`` holds an unknown code, the file is called like one of
            another format, or the search is one of several labels that share a threshold.
        """
        check_is_fitted(self, "best_score_")
        fitted: Any = self
        options: dict[str, Any] = {"sample_weight": sample_weight, "rivals": rivals, "title": title, "facts": facts}
        reporting.write_report(fitted, path, X, y, mute=mute, **options)
