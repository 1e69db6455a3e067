"""Attributes and methods of a fitted search."""

from __future__ import annotations

import copy
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal, Self

from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from csf._common.files import check_fields
from csf._common.messages import listed, warn
from csf._common.sklearn import SummaryMixin, pass_on_features
from csf._common.typing import Array, Costs, Estimator, Keywords, Label, Params, PathLike, RandomState_, Samples
from csf._common.validation import by_name, floats, place_of
from csf.data.labels import names_of_answers
from csf.evaluate import AssessedMixin, audit
from csf.metrics import get_constraint
from csf.metrics.confusion import cost_matrix_of
from csf.metrics.demands import on_positive
from csf.metrics.registry import constraint_of_truth, get_label_metric, metric_of, row_costs, truth_of
from csf.monitoring import Monitor, MonitorGroup
from csf.search.supports import INCOMPLETE, NULL_CLASS
from csf.thresholding.exchange import exchange_rate
from csf.thresholding.prevalence import Prevalence, estimate_class_shares, estimate_prevalence

if TYPE_CHECKING:
    from pandas import DataFrame

    from csf.data.labels import Labels
    from csf.evaluate import Assessment, AuditPlan
    from csf.metrics import Constraint
    from csf.metrics.registry import MetricLike
    from csf.metrics.row_costs import RowCosts
    from csf.metrics.trials import Trial
    from csf.thresholding.base import DecisionRule
    from csf.thresholding.curve import ThresholdCurve
    from csf.thresholding.exchange import ExchangeRate
    from csf.thresholding.linear_rule import ClassProbabilityRule


# What a result keeps of scores: held-out ones, those of calibration samples, and those of training rows.
_SCORES = ("store", "calibrated", "trained")


def class_attributes(labels: Labels) -> Params:
    """Return the attributes that describe the classes of a search."""
    return {"classes_": labels.classes, "null_class_": labels.null, "pos_label_": labels.positive}


def in_order(shares: Mapping[Label, float], names: Sequence[Label]) -> Array:
    """Order shares that are given by name; raise a ValueError where the names differ."""
    places = {place_of(name, names, "pos"): share for name, share in shares.items()}
    if len(places) != len(names):
        raise ValueError(f"pos must have a share for each of {listed(names)}, got those of {listed(shares)}")
    return floats([places[place] for place in range(len(names))], "pos")


class FittedSearch(AssessedMixin, SummaryMixin):
    """Results of `csf.CostSearch` and `csf.dask.DaskCostSearch`, described there."""

    metric: MetricLike
    constraint: str | Constraint | None
    review_: Any
    _reviewed: Any
    # What `summary` returned before the held-out scores were left out.
    _summary: Any
    searches_: list[Self]
    label_names_: Array
    best_scores_: Array
    rule_: ClassProbabilityRule
    # Published by outcomes, see `csf.search.problems.results.SearchResult.published`.
    trials_: list[Trial]
    n_trials_: int
    n_splits_: int
    studies_: list[Any]
    cv_results_: dict[str, Array]
    stop_reason_: str
    best_index_: int
    best_params_: Any
    best_t_: float | None
    best_cost_weights_: Costs
    best_threshold_: Any
    best_score_: float
    feasible_: bool
    constraint_value_: Any
    upper_bound_: float
    gap_: float
    bound_margin_: float
    guarantee_: Any
    classes_: Array
    class_count_: Array
    pos_label_: Label
    null_class_: Label
    class_costs_: Array
    row_costs_: RowCosts
    row_rule_: str
    threshold_without_costs_: float
    dearest_share_: float
    confusion_: Array
    thresholds_: dict[Label, float]
    segments_: dict[Label, dict[str, float]]
    limit_cost_: float
    n_features_in_: int
    feature_names_in_: Array
    # The largest sample weight of `fit`; ``None`` where it was given none.
    max_sample_weight_: float | None = None

    def __setstate__(self, state: Params) -> None:
        check_fields(*(state.get(name) for name in ("result_", "_rule", "_bands")))
        super().__setstate__(state)  # pyright: ignore[reportAttributeAccessIssue] (that of BaseEstimator)

    def _forget(self) -> None:
        """Delete all results of an earlier fit: after a fit that fails, the search is not fitted."""
        private = ("_rule", "_assessment", "_bands", "_reviewed", "_summary", "max_sample_weight_")
        for name in [
            name for name in vars(self) if name in private or (name.endswith("_") and not name.startswith("_"))
        ]:
            del vars(self)[name]

    def _publish(self, result: Any, rule: DecisionRule | None) -> None:
        """Store an outcome; ``rule`` predicts, and is ``None`` where nothing was trained on all samples."""
        self.result_, self._rule = result, rule
        vars(self).update(result.published())
        if rule is not None and rule.threshold is not None:
            # Where no threshold was tuned, that of the base's own decision.
            self.best_threshold_ = rule.threshold
        review = getattr(self, "review", None)
        if review is not None:
            # Of several labels a sample has each one, or not.
            several = self.pos_label_ is None and self.null_class_ is None
            names = [0, 1] if several else names_of_answers(self.null_class_, self.pos_label_)
            self._bands = result.reviews(review, names)

    def _publish_fit(self, result: Any, rule: DecisionRule | None, seconds: float, about: Mapping[str, object]) -> None:
        """Store the results of a fit and the attributes ``about`` its classes, all at once at the end."""
        try:
            vars(self).update(about)
            self._publish(result, rule)
            if rule is not None:
                self.best_estimator_, self.refit_time_ = rule.estimator, seconds
                pass_on_features(self.best_estimator_, self)
        except BaseException:
            # Ctrl-C between two lines of these: half of a search is none.
            self._forget()
            raise

    def _assess_scores(self) -> Assessment | None:
        return self.result_.assess() if "result_" in vars(self) else None

    def _require(self, method: str) -> Any:
        """Return the result; raise a ValueError where its target, metric or decision does not support a method."""
        check_is_fitted(self, "trials_")
        if (truth := truth_of(self.metric)) is not None:
            INCOMPLETE.require(method, f"metric={truth.name!r}")
        if self.null_class_ is not None and self.pos_label_ is None:
            NULL_CLASS.require(method, repr(self.null_class_))
        self.result_.supports.require(method)
        return self.result_

    @property
    def decision_rule_(self) -> Any:
        """Rule that predicts: ``best_estimator_`` with ``best_threshold_``, or with the rule of its kind of problem."""
        check_is_fitted(self, "trials_")
        if self._rule is None:
            name = type(self).__name__
            raise AttributeError(
                f"this {name} was fitted with refit=False and has no best_estimator_ to predict with; use refit=True, "
                "or predict by transform of bestModel after a search on Spark"
            )
        if "best_threshold_" in vars(self) and (why_not := self.result_.supports.methods.get("best_threshold_")):
            raise ValueError(f"best_threshold_ was set by hand to {self.best_threshold_!r}; {why_not}")
        # Who tries another threshold sets best_threshold_.
        return replace(self._rule, threshold=self.best_threshold_) if "best_threshold_" in vars(self) else self._rule

    @property
    def best_threshold_proba_(self) -> float | None:
        """Smallest probability of the positive class, as in `predict_proba`, at which `predict` is positive.

        This is ``best_threshold_`` on another scale. It is ``None`` where no single number exists: with several classes
        or costs of rows, and for scores that are not log-odds.
        """
        return self.decision_rule_.threshold_proba

    def without_scores(self, *, winner: bool = True) -> Self:
        """Copy the search without the held-out scores of its trials; keep what is computed from them.

        Parameters
        ----------
        winner : bool, default=True
            Whether the winner's scores stay. Without them only `predict` and the like without ``wrong_at_most``,
            `score`, `summary` and `monitor` are left, in some kilobytes beside the model; all else raises a ValueError.

        Returns
        -------
        CostSearch
            The copy, with the same model.

        Examples
        --------
        >>> import pickle
        >>> from sklearn.datasets import make_classification
        >>> from sklearn.linear_model import LogisticRegression
        >>> from csf import CostSearch
        >>> X, y = make_classification(4000, 6, weights=[0.9], random_state=0)
        >>> search = CostSearch(LogisticRegression(), n_trials=2, param_grid=None).fit(X, y)
        >>> len(pickle.dumps(search.without_scores(winner=False))) < 100_000
        True
        """
        lean = copy.copy(self)
        if not winner:
            lean._summary = self.summary()
        if hasattr(self, "searches_") or hasattr(self, "held_out_"):
            # What a mean over problems would need are decisions on all samples.
            lean._assessment = replace(self.assess(), judged=None)
        if hasattr(self, "searches_"):
            lean.searches_ = [search.without_scores(winner=winner) for search in self.searches_]
            lean.result_ = replace(self.result_, searches=lean.searches_)
        elif hasattr(self, "held_out_"):
            if "_bands" in vars(self):
                lean._reviewed = self.review_
            kept = {"store": self.held_out_.only(self.result_.key)} if winner else dict.fromkeys(_SCORES)
            lean.result_ = replace(self.result_, **kept)
            lean.held_out_ = lean.result_.store
        return lean

    def _require_scores(self, what: str) -> None:
        """Raise a ValueError where the winner's held-out scores were left out."""
        if "_summary" in vars(self):
            raise ValueError(
                f"{what} needs the held-out scores, which this copy lacks (without_scores(winner=False), or "
                "csf.save(..., scores=False)). Use the search that fit left, or one that was saved with them"
            )

    def at_prevalence(self, pos: float | ArrayLike | Mapping[Label, float]) -> Self:
        """Adapt the classifier to data with another share of positives, or other shares of classes or labels.

        Parameters
        ----------
        pos : float, array-like of shape (n_classes,), dict or Series
            Share of positives where it is to be used, in (0, 1), known or estimated by
            `csf.thresholding.estimate_prevalence`; of several classes the share of each, in the order of ``classes_``
            or by their names, as in ``y.value_counts(normalize=True)``: ``rule_`` is then tuned again. Of several
            labels a sample the share of each, in the order of the columns or by ``label_names_``, where each label has
            a search of its own. Costs of rows are taken to be those of before, within each class.

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
            If a share is not in (0, 1), no threshold is tuned, several labels share one, or the metric is `Incomplete`.
        """
        check_is_fitted(self, "trials_")
        self._require_scores("at_prevalence")
        self._require("at_prevalence")
        names = getattr(self, "label_names_", self.classes_).tolist()
        pos = by_name(pos, names)
        shares: Any = in_order(pos, names) if isinstance(pos, Mapping) else pos
        adapted = copy.copy(self)
        for name in ("guarantee_", "held_out_", "_assessment", "_reviewed"):
            vars(adapted).pop(name, None)
        if isinstance(pos, Mapping) and self.null_class_ is not None:
            shares = self._share_of_positives(shares)
        adapted._publish(*self.result_.at_shares(shares, self._rule))
        return adapted

    def _share_of_positives(self, shares: Array) -> float:
        """Convert a share for each class to the share of positives, for two classes."""
        if self.pos_label_ is None:
            raise ValueError(
                f"pos must be the share of all that is not {self.null_class_!r}, a number: shares of the other classes "
                "among each other are taken to stay"
            )
        return float(shares[self.classes_ == self.pos_label_].sum() / shares.sum())

    def held_out_curve(self) -> ThresholdCurve:
        """Return all thresholds on the winner's held-out scores, among which ``best_threshold_`` was chosen.

        Returns
        -------
        ThresholdCurve
            Error profile at each threshold, see `csf.thresholding.threshold_curve`. Of costs of rows, and of a mean
            over samples with several labels, a `csf.thresholding.ValuedCurve` with the ``values`` of the metric.

        Raises
        ------
        ValueError
            If the base's own decisions were kept (``threshold=None``).
        """
        self._require_scores("held_out_curve")
        return self._require("held_out_curve").curve()

    def exchange_rate(self, threshold: float | None = None, *, segment: Label = None) -> ExchangeRate:
        """Estimate how many false alarms one miss is treated as worth by a threshold.

        Parameters
        ----------
        threshold : float, default=None
            A score, such as ``at_capacity(0.05).threshold``; ``None``: the threshold that predicts.
        segment : label, default=None
            Segment whose threshold it is, where each has its own.

        Returns
        -------
        csf.thresholding.ExchangeRate
            ``value``, and ``low`` and ``high`` of its 90 % interval, from the held-out scores.

        Raises
        ------
        ValueError
            If no threshold on held-out scores decides, or the segment is unknown.

        Examples
        --------
        >>> from sklearn.datasets import make_classification
        >>> from sklearn.linear_model import LogisticRegression
        >>> from csf import CostSearch
        >>> X, y = make_classification(4000, weights=[0.9], flip_y=0.02, random_state=0)
        >>> search = CostSearch(LogisticRegression(), "f2", n_trials=1, param_grid=None).fit(X, y)
        >>> print(search.exchange_rate())
        5.9 (5.1 to 6.8)
        """
        self._require_scores("exchange_rate")
        held = self._require("exchange_rate").scores_beside(segment)
        if held is None:
            raise ValueError(
                "no threshold on held-out scores decides here: exchange rates are those of searches of two classes "
                "that tune a threshold (threshold='stable')"
            )
        by_hand = self.best_threshold_ if segment is None else held.threshold
        cut = by_hand if threshold is None else threshold
        return exchange_rate(held.entries, held.score, cut)

    def monitor(
        self,
        constraint: str | Constraint | None = None,
        *,
        alpha: float = 0.05,
        audit: float = 1.0,
        path: PathLike | None = None,
        max_weight: float | None = None,
        max_cost: float | None = None,
        mature_after: int | None = None,
        unlabelled: Literal["negative", "drop"] | None = None,
        weeks: int | None = None,
    ) -> Monitor | MonitorGroup:
        """Create a monitor that checks whether a metric keeps its level on new data, with labels that arrive over time.

        Parameters
        ----------
        constraint : str or Constraint, default=None
            What is watched and its level, such as ``"f1 >= 0.6"``: F-beta, Jaccard, a rate, accuracy or a mean cost;
            of several classes one against all others, ``"recall[urgent] >= 0.8"``; of several labels a sample one of
            them, or without brackets each. ``None`` takes the constraint that ``guarantee_`` holds for; else the metric
            of the search, and as its level the pessimistic end of ``score_interval_``: savings with costs of rows, the
            mean cost with a cost matrix, each label's own metric with a mean over labels.
        alpha : float, default=0.05
            Probability of an alarm at any time while the level is kept, however often one looks: at most so large,
            where whether a label is there does not depend on the class, or whole batches count (see
            `csf.monitoring.Monitor`).
        audit : float, default=1
            Share of the samples not predicted positive (as the class in brackets) that have labels, drawn at random:
            1 for all, 0 for none, where precision alone can be watched. Those that are predicted positive all have
            labels.
        path : path-like, default=None
            File of the state, read where it is there and written by each update. Several monitors may share it.
        max_weight : float, default=None
            The largest sample weight that later samples can have, > 0, fixed beforehand: bets are made relative to it.
            ``None`` takes twice the largest weight that `fit` was given; without such weights it is 1.
        max_cost : float, default=None
            The largest cost that ``update(..., cost=)`` can ever have, > 0, where a mean cost is watched: it makes the
            interval one that holds for any number of samples and any costs. With costs of rows, the largest cost that
            either answer to a row can ever have; ``None`` takes twice the largest one in `fit`.
        mature_after : int, default=None
            For labels that come late: after so many later batches, >= 1, a batch of decisions counts although labels
            are missing. ``None`` waits until all of them are there.
        unlabelled : {"negative", "drop"}, default=None
            What becomes of samples without a label in such a batch: they have the negative (null) class, as customers
            who have not complained by then, or are left out. To be given with ``mature_after``.
        weeks : int, default=None
            Number of batches, >= 1, such as the 52 weekly ones of a year, for which ``alpha`` is: alarms come sooner,
            as the probability of one without reason grows with the batches, to ``alpha`` after so many. ``None``: for
            any number of them. For shares of samples that all have labels, without weights.

        Returns
        -------
        csf.monitoring.Monitor or csf.monitoring.MonitorGroup
            Takes labels in batches of any size: ``update(y, y_pred)``. Where labels of one class come later than those
            of the other: ``expect(y_pred, rows=ids)`` at the time of the decisions, and ``update(y, rows=ids)``. It is
            a group of monitors under one ``alpha`` where several constraints, or labels, are watched.

        Raises
        ------
        ValueError
            If the metric is no ratio of sums over samples, a class is unknown, options do not fit together, or the file
            is of another model or has other options.

        Examples
        --------
        >>> from sklearn.datasets import make_classification
        >>> from sklearn.linear_model import LogisticRegression
        >>> from csf import CostSearch
        >>> X, y = make_classification(4000, weights=[0.9], flip_y=0.02, random_state=0)
        >>> search = CostSearch(LogisticRegression(), n_trials=2, param_grid=None, cv=3).fit(X[:2000], y[:2000])
        >>> monitor = search.monitor("f1 >= 0.6")
        >>> monitor.update(y[2000:3000], search.predict(X[2000:3000]), name="June")
        False
        >>> monitor.update(1 - y[3000:], search.predict(X[3000:]), name="July")
        'July'
        """
        check_is_fitted(self, "best_score_")
        options: Keywords = {"alpha": alpha, "audit": audit, "path": path, "max_weight": max_weight}
        options |= {"max_cost": max_cost, "mature_after": mature_after, "unlabelled": unlabelled, "weeks": weeks}
        watched = self._watched(self._demanded(constraint))
        column, what = watched[0]
        if column is None and len(watched) == 1:
            return Monitor(*what, **options)
        return MonitorGroup(watched, list(getattr(self, "label_names_", ())), **options)

    def _demanded(self, constraint: str | Constraint | None) -> Constraint | None:
        """Read a constraint, of the truth where the metric is."""
        demand, of_labels = get_constraint(constraint), hasattr(self, "label_names_")
        if demand is not None and truth_of(self.metric) is not None and not of_labels:
            # Errors of the labels are those of the positive class.
            demand = on_positive(demand, self.classes_.tolist(), self.pos_label_)
        return constraint_of_truth(get_label_metric(self.metric).metric if of_labels else self.metric, demand)

    def _watched(self, demand: Constraint | None) -> list[tuple[int | None, tuple[Any, ...]]]:
        """List the first arguments of monitors, with the column of the label that each one is for."""
        promise, of_labels = getattr(self, "guarantee_", None), hasattr(self, "label_names_")
        together = of_labels and not hasattr(self, "searches_")
        # Of labels each one that the constraint is on has its own.
        tests = [test for test in (promise if isinstance(promise, list) else [promise]) if test is not None]
        # A monitor watches all rows, and no segments.
        if demand is None and tests and all(test.holds for test in tests) and not hasattr(self, "segments_"):
            demand = self._demanded(self.constraint)
            if demand is not None and together:  # it is on all pairs of a sample and a label
                return [(None, (*self._demand(part), f"{part.name}_micro")) for part in demand.parts]
        parts: Any = [None] if demand is None else demand.parts
        names = getattr(self, "label_names_", self.classes_).tolist()
        if demand is not None:
            demand.require_all_rows()
        places = [(part, None if part is None else part.place_in(names)) for part in parts]
        if not of_labels or (together and demand is None):
            return [(None, (*self._demand(part), None if part is None else part.name, place)) for part, place in places]
        searches, watched = getattr(self, "searches_", [self] * len(names)), []
        for part, place in places:
            for k in range(len(names)) if place is None else [place]:
                what = searches[k]._demand(part)
                watched.append((k, (*what, f"{what[1].name}[{names[k]}]", 1)))
        return watched

    def _demand(self, demand: Constraint | None) -> tuple[Any, Any, str, float]:
        """Return search, metric, side and level of a demand, or of what the search found."""
        if demand is not None:
            return self, demand.quantity, demand.side, demand.level
        metric: Any = getattr(self, "row_costs_", None) or self.result_.read_metric(metric_of(self))
        low, costs = self.score_interval_[0], cost_matrix_of(metric)
        # The value of a cost matrix is minus the mean cost.
        return (self, metric, ">=", low) if costs is None else (self, costs, "<=", -low)

    def prevalence(
        self, X: Samples, known: tuple[ArrayLike, ArrayLike] | None = None, *, confidence: float = 0.9
    ) -> Prevalence | dict[Label, Prevalence]:
        """Estimate the share of positives, or of each class or label, in samples without labels.

        `at_prevalence` adapts the decision to it.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            New samples.
        known : tuple of array-like, default=None
            Labels and out-of-fold probabilities of samples with labels, see `csf.thresholding.estimate_prevalence`.
            ``None`` compares with the held-out scores of either class that the winner has.
        confidence : float, default=0.9
            How often the interval shall hold the share.

        Returns
        -------
        csf.thresholding.Prevalence or dict of label to Prevalence
            The share, a float with an ``interval``; of several classes or labels a dict with that of each, which
            `at_prevalence` takes.

        Raises
        ------
        ValueError
            If the base has no probabilities, there is a null class beside several others, labels share a threshold, or
            the metric is `Incomplete`.

        Warns
        -----
        UserWarning
            If the share of the data that were searched is outside the interval.

        Notes
        -----
        Without held-out scores (``threshold=None``, costs of rows) and without ``known`` the probabilities of the model
        are taken as true, of which it is too sure: 90 % intervals then held the share in 76 ± 4 % of simulated cases,
        and one warning in five was wrong. There, give ``known``.
        """
        check_is_fitted(self, "best_score_")
        self._require_scores("prevalence")
        self._require("prevalence")
        if hasattr(self, "searches_"):
            names = self.label_names_.tolist()
            return {name: search.prevalence(X, confidence=confidence) for name, search in zip(names, self.searches_)}  # pyright: ignore[reportReturnType] (each has two classes)
        if (held_out := self.result_.probable) is not None:
            parts = estimate_class_shares(self.decision_rule_.predict_proba(X), held_out, confidence)
            by_class, shares = dict(zip(self.classes_.tolist(), parts)), self.result_.learnt_shares
            if any(not part.interval[0] <= share <= part.interval[1] for part, share in zip(parts, shares)):
                shown = ", ".join(
                    f"{name}: {share:.3g} -> {part:.3g}" for (name, part), share in zip(by_class.items(), shares)
                )
                warn(
                    f"the shares of the classes have moved ({shown}), and at_prevalence(shares) tunes the rule to them"
                )
            return by_class
        if not self.estimates_prevalence:
            raise ValueError(
                "the share of positives is estimated from probabilities of two classes; search a base with "
                "predict_proba, such as LogisticRegression, or calibrate it (CalibratedClassifierCV)"
            )
        column = self.classes_.tolist().index(self.pos_label_)
        pos = float(self.result_.learnt_shares[1])
        if known is None and (held_out := self.result_.scored) is not None:
            # Which map makes probabilities of scores decides how close the estimate is, and not whether it is right.
            sigmoid = held_out.sigmoid()
            known = held_out.scored_by(sigmoid.predict(held_out.scores))
            proba = sigmoid.predict(self.score_samples(X))  # pyright: ignore[reportAttributeAccessIssue]
        else:
            proba = self.predict_proba(X)[:, column]  # pyright: ignore[reportAttributeAccessIssue]
        share = estimate_prevalence(proba, pos, known=known, confidence=confidence)
        low, high = share.interval
        if not low <= pos <= high:
            way = f"at_prevalence({share:.3g}) moves the threshold to it (csf predict --prevalence {share:.3g})"
            way = way if self.result_.follows_shares else "no threshold can be moved to it: train on newer samples"
            warn(
                f"the share of positives has moved from {pos:.3g} to {share:.3g} ({confidence:.0%} interval "
                f"[{low:.3g}, {high:.3g}]), "
                + (
                    f"and {way}"
                    if 0.0 < low < high < 1.0
                    else "as far as it goes: samples of one class probably look otherwise than before, which no share "
                    "explains. Train on newer samples"
                )
            )
        return share

    def audit(
        self,
        X: Samples,
        labels: int = 300,
        metric: MetricLike | None = None,
        *,
        random_state: RandomState_ = 0,
        **costs: ArrayLike,
    ) -> AuditPlan:
        """Plan which new rows to have labelled, so that few labels say what the metric is on all of them.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            New samples without labels.
        labels : int, default=300
            Number of rows to have labelled.
        metric : str, Metric or callable, default=None
            What is to be known, such as ``"recall"``; ``None``: the metric of the search.
        random_state : int, RandomState or None, default=0
            Seed of the draw.
        **costs : array-like of shape (n_samples,)
            Costs or segments of these rows, as for `predict`.

        Returns
        -------
        csf.evaluate.audits.AuditPlan
            ``rows``, ``weight``, ``expected_width`` and, with their labels, ``interval(y)``; see `csf.audit`.

        Raises
        ------
        ValueError
            If the samples have several labels each, costs of rows are the metric, or rows are of other classes
            beside a null class.

        Examples
        --------
        >>> from sklearn.datasets import make_classification
        >>> from sklearn.linear_model import LogisticRegression
        >>> from csf import CostSearch
        >>> X, y = make_classification(12000, weights=[0.95], flip_y=0.02, random_state=0)
        >>> search = CostSearch(LogisticRegression(), n_trials=1, param_grid=None).fit(X[:2000], y[:2000])
        >>> plan = search.audit(X[2000:], labels=200)
        >>> low, high = plan.interval(y[2000:][plan.rows])[1:]
        >>> bool(low <= search.score(X[2000:], y[2000:]) <= high)
        True
        """
        check_is_fitted(self, "best_score_")
        fitted: Any = self
        metric = self.metric if metric is None else metric
        self._require("audit")
        if row_costs(metric) is not None:
            raise ValueError(
                f"audit knows no costs of rows, and metric={metric!r} has them; give a metric of counts, such as "
                "metric='recall' or metric=csf.metrics.MeanCost(fn=10, fp=1)"
            )
        predicted, options = fitted.predict(X, **costs), {"labels": labels, "random_state": random_state}
        if self.pos_label_ is None:
            return audit(fitted.predict_proba(X), predicted, metric=metric, classes=self.classes_, **options)
        held_out = self.result_.scored
        if held_out is not None or not hasattr(self, "predict_proba"):
            score = fitted.score_samples(X, **costs)
            score = score if held_out is None else held_out.sigmoid().predict(score)
        else:
            score = fitted.predict_proba(X)[:, self.classes_.tolist().index(self.pos_label_)]
        return audit(score, predicted, metric=metric, pos_label=self.pos_label_, **options)

    @property
    def estimates_prevalence(self) -> bool:
        """True where `prevalence` has the data that it needs."""
        if truth_of(self.metric) is not None:
            return False
        if hasattr(self, "searches_") or self.result_.probable is not None:
            return True
        return self.pos_label_ is not None and (self.result_.scored is not None or hasattr(self, "predict_proba"))

    def trials_frame(self) -> DataFrame:
        """Return the trials as a pandas frame, one row each.

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
        self._require("trials_frame")
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

    def summary(self) -> Any:
        """Summarise the result, its uncertainty and the recommendations in a dozen lines.

        Returns
        -------
        csf.report.Summary
            `print` shows it as text, a notebook as HTML.

        Raises
        ------
        sklearn.exceptions.NotFittedError
            If the search is not fitted.

        Examples
        --------
        >>> from sklearn.datasets import load_digits
        >>> from sklearn.svm import LinearSVC
        >>> from csf.search import CostSearch
        >>> X, y = load_digits(return_X_y=True)
        >>> search = CostSearch(LinearSVC(), n_trials=3, param_grid=None, cv=3, random_state=0).fit(X, y == 8)
        >>> value, what = search.summary().numbers[0]
        >>> value == f"{search.corrected_score_:.3f}", what
        (True, 'f1 to expect on new data')
        """
        check_is_fitted(self, "best_score_")
        if "_summary" in vars(self):
            return self._summary
        # What plots and pages import lies below them, so that searches import neither before they are asked for one.
        from csf.report import summarise

        fitted: Estimator = self
        return summarise(fitted)

    def report(
        self,
        path: PathLike,
        X: Samples | None = None,
        y: ArrayLike | None = None,
        *,
        sample_weight: ArrayLike | None = None,
        groups: ArrayLike | None = None,
        rivals: Mapping[str, ArrayLike] | None = None,
        title: str | None = None,
        facts: Mapping[str, str] | None = None,
        mute: Collection[str] = (),
        **costs: ArrayLike,
    ) -> None:
        """Write the result as one self-contained page for a browser, to be sent or printed.

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
        groups : array-like of shape (n_samples,), default=None
            What rows belong together by, such as the customer: intervals then allow for the chance in groups.
        rivals : dict of str to array-like, default=None
            Labels, in the shape of ``y``, that other classifiers predict for ``X``, by their names.
        title : str, default=None
            Heading.
        facts : dict of str to str, default=None
            Further facts to name, such as ``{"Data": "customers.csv"}``.
        mute : collection of str, default=()
            Codes of checks to leave out, such as ``["CSF001"]``; the guide's page "Checks" explains each one.
        **costs : array-like of shape (n_samples,)
            Costs of these rows, or their segments ``by``, where `fit` was given them.

        Raises
        ------
        sklearn.exceptions.NotFittedError
            If the search is not fitted.
        ValueError
            If data or rivals do not fit the search, ``mute`` holds an unknown code, or the file is called like one of
            another format.
        """
        check_is_fitted(self, "best_score_")
        self._require_scores("report")
        from csf.report import write_report

        options: Keywords = {"sample_weight": sample_weight, "rivals": rivals, "title": title, "facts": facts}
        options |= {"groups": groups, **costs}
        fitted: Estimator = self
        write_report(fitted, path, X, y, mute=mute, **options)
