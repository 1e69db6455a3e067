"""CostSearch: from data to the best cost-weighted classifier."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, overload

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import Tags
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from csf._common.messages import called_elsewhere, did_you_mean
from csf._common.sklearn import (
    CallbackSupportMixin,
    is_pairwise,
    named_models,
    num_samples,
    with_callbacks,
    with_parameters,
)
from csf._common.typing import Array, Estimator, Keywords, Label, Samples
from csf._common.validation import check_samples, check_weights, warn_of_order
from csf.data.folds import Task, drop_weightless, read_groups
from csf.data.labels import has_several_columns, names_of_answers
from csf.evaluate import MAX_BYTES
from csf.metrics import get_constraint
from csf.metrics.registry import is_label_metric, metric_of
from csf.metrics.row_costs import COSTS, RowCosts, given_costs
from csf.search.certification import confidence_in_each, n_promises
from csf.search.config import SearchConfig, SearchOptions
from csf.search.fitted import FittedSearch, class_attributes
from csf.search.loop import Deadline
from csf.search.planning import aimed, plan_in_memory, run_search, split_for_test, training_sample
from csf.search.problems import read_problem
from csf.search.problems.multiclass import class_metric
from csf.search.problems.multilabel import LabelSearch
from csf.thresholding.alerts import NO_LIMITS, AlertLimits
from csf.thresholding.capacity import Capacity, NamedCapacities
from csf.thresholding.row_thresholds import BY, RowThresholds
from csf.thresholding.rule import ThresholdClassifier, base_has
from csf.trainers import Prepared

if TYPE_CHECKING:
    from csf.thresholding.band import ConfidenceBand
    from csf.thresholding.curve import ThresholdCurve

# Arguments with what is known of each row besides.
_OF_ROWS = (*COSTS, BY)
_base_has_scores = base_has("decision_function", "predict_proba")


def _has_a_threshold(self: CostSearch) -> bool:
    """Check that the scores have a threshold (for `available_if`), as all have but those without a null class."""
    if "result_" in vars(self):
        self.result_.supports.require("score_samples")
    return _base_has_scores(self)


@called_elsewhere(
    scoring="metric=, a name such as 'f1' or a csf.metrics.Metric",
    estimator="base=",
    param_distributions="param_grid=",
)
@with_parameters
class CostSearch(FittedSearch, CallbackSupportMixin, ThresholdClassifier, SearchOptions):
    """Classifier for F1 or another metric: class weights, threshold and parameters in one search.

    Metrics such as F-beta, Jaccard or the G-mean are not sums over samples, so ordinary training does not maximise
    them. Training with the right costs ``(c_fn, c_fp)`` of false negatives and false positives does [1]_ [2]_.
    ``CostSearch`` trains the base with a few costs and parameters, tunes each threshold on pooled out-of-fold scores,
    and trains the winner once more on all samples. ``predict_proba`` takes the costs out again; use ``predict`` for
    decisions. The guide has the mathematics.

    The parameters come in three groups. Most searches need only those up to ``time_limit``; ``constraint`` to ``refit``
    control the decisions and their guarantees; those from ``strategy`` on are for experts.

    Parameters
    ----------
    base : estimator, list of estimator or dict of str to estimator
        Classifier, pipeline that ends in one, or OneVsRestClassifier. ``fit`` should take ``sample_weight``, or the
        base have ``class_weight``; others are trained at equal costs only. The best of several models wins.
    metric : str, Metric or callable, default="f1"
        What is maximised, such as ``"f1"``, ``"f2"`` or ``"gmean"`` (`csf.metrics.METRICS`); for several classes or
        labels ``"f1_macro"`` or ``"mcc"`` (`csf.metrics.CONFUSION_METRICS`). A function
        ``f(y_true, y_pred, sample_weight=None)`` or a scorer of one will do. Costs of each row: `csf.metrics.RowCosts`.
    pos_label, null_class : label, default=None
        Positive class; ``None`` means 1 for labels {0, 1} or {-1, 1}. Class with nothing to find, if ``y`` has several
        others.
    param_grid : dict, list of dict, "auto", "wide" or None, default="auto"
        Parameters of the base to search too; for several models a dict by name. ``"auto"`` searches C of `LinearSVC`
        and `LogisticRegression` and the rounds of boosters; where rows have costs, on at most 20 000 rows, also four
        settings of LightGBM, XGBoost, CatBoost and `HistGradientBoostingClassifier`, which leave alone what you set.
        ``"wide"`` asks for these with any metric; ``None`` keeps the base as it is.
    cv : int, float, splitter, iterable, "oob", "prefit" or None, default=None
        Folds, a held-out share in (0, 1), a splitter or the splits. ``None`` means 5 shuffled folds, repeated where the
        rarest class has fewer than 500 samples. Without a constraint, only so many of the 5 are used as hold out 2000
        samples of each class: one where the rarest class has 10 000. Of forests with a bootstrap and 50 trees ``None``
        is ``"oob"``: out-of-bag scores of one training, or folds where they would be wrong (``stop_reason_`` says
        why). ``"prefit"`` only tunes the threshold of a fitted base.
    random_state : int, RandomState or None, default=None
        Seed of folds, of the ``calibration`` share and of bases without a seed. ``None`` always draws the same folds.
    n_jobs : int, default=None
        Workers (-1: all cores). They do not change the result.
    verbose : int, default=0
        1 shows a progress bar.
    time_limit : float, default=None
        Stop after so many seconds.
    constraint : str or Constraint, default=None
        What the classifier must satisfy on held-out predictions, e.g. ``"precision >= 0.8, fpr <= 0.01"``; of one of
        several classes or labels ``"recall[urgent] >= 0.9"``. Of several labels one without brackets is on each.
        ``"recall gap <= 0.05 by sex"`` and ``"precision >= 0.8 in each country"`` have a threshold for each value of a
        column of X, or of ``by=`` of `fit` and `predict`; for some uses this is illegal, see the guide.
    confidence : float, default=None
        Probability, in (0, 1), with which the constraint and all limits on wrong answers of a review also hold on new
        data, all together. The promise breaks if you repeat the search until one passes. See
        `csf.thresholding.certificates`.
    calibration : float, "cross-fit" or None, default=None
        Share of the samples that is held back and tests the constraint when ``confidence`` is given. ``None`` means
        0.3; of a fitted base all samples test a threshold, and half of them other rules. ``"cross-fit"`` tests a
        threshold on the out-of-fold scores of all samples, which is not proven.
    threshold : {"stable", "tune", None} or RowThresholds, default="stable"
        ``"stable"`` takes winner and threshold that are best on average over bootstrap resamples, ``"tune"`` the best
        on the samples as they are (so does a constraint), ``None`` the base's own decision. A
        `csf.thresholding.RowThresholds` depends on a column, or on ``by`` of `fit` and `predict`.
    review : Review, default=None
        A further answer of `predict_with_review`: a person looks at the row, see `csf.metrics.Review`. `predict` does
        without it.
    refit : bool or "folds", default=True
        Train the winner on all samples (needed to predict); ``"folds"`` predicts with the mean of the folds' models.
    strategy : str, Strategy or callable, default="ladder"
        Which costs to try: a name in `csf.strategies.STRATEGIES`, an object, or ``f(trials, *, metric, pos)``.
    n_trials : int, default=10
        Most costs to try for each setting of ``param_grid``. The ladder has at most 6, and 1 for slow bases.
    tol : float, default=None
        Stop once the bound of a setting is this close to its best value.
    bound : {"support", "diagonal", "envelope", "parambath"} or type, default="support"
        How ``upper_bound_`` is computed, see `csf.bounds`.
    bound_on : {"validation", "train"}, default="validation"
        Predictions that strategies and bounds read: held-out ones, or those of the training parts as in the papers.
    engine : {"auto", "generic", "liblinear"}, default="auto"
        ``"auto"`` solves linear models from earlier solutions; ``"generic"`` trains a clone each time; ``"liblinear"``
        uses LIBLINEAR's own package. See `csf.trainers`.
    weighting : {"class", "one-vs-rest"}, default="class"
        Whether costs weigh classes, or each problem of a OneVsRestClassifier by itself.
    normalize : {"mean", "none"}, default="mean"
        ``"mean"`` keeps the mean weight, and so the regularisation, constant; ``"none"`` takes costs as they are.
    sample_weight_name : str, default=None
        Argument of the base's ``fit`` for weights, such as ``"clf__sample_weight"``, where it is not found.
    error_score : "raise" or nan, default=nan
        Raise the error of a failing training, or leave the trial out.
    checkpoint : path-like, default=None
        File that keeps finished trials. The same search resumes from it. Of several labels that have a search each
        (``"f1_macro"``), label k has a file of its own, such as ``trials.label0.json`` for ``trials.json``.
    callbacks : list of callable, default=None
        ``callback(study, trial)`` after each trial; a true result ends the search.

    Attributes
    ----------
    corrected_score_, best_score_ : float
        Value to expect on new data; out-of-fold value of the winner, which is too high.
    score_interval_, threshold_interval_ : tuple of float
        90 % intervals of the returned model's value on new data and of the best threshold.
    best_threshold_, best_threshold_proba_, best_t_ : float
        Predict positive where `score_samples` is at least the first, which may be a raw margin of the base, or where
        ``predict_proba`` of this search is at least the second (``None`` where no number is); level that the winner
        aims at.
    best_estimator_, best_params_, best_cost_weights_, best_index_ : estimator, dict, tuple, int
        The fitted winner, its setting, its costs ``(c_fn, c_fp)`` and its place in ``trials_``.
    upper_bound_, gap_, bound_margin_ : float
        The most that other costs could reach here, its distance from the best value, and its margin for chance.
    feasible_, constraint_value_, guarantee_, review_ : bool, float, Guarantee, Reviewed
        Whether the constraint holds, the (first) constrained value, the test of ``confidence``; what answers with
        reviews are worth. Of several labels lists, but for the first.
    trials_, cv_results_, studies_, held_out_ : list of Trial, dict of ndarray, list of Study, ScoreStore
        Trials, the same as a table, one study for each setting, and held-out scores.
    result_, decision_rule_ : SearchResult, ThresholdRule
        All that the search found, for plots and reports, and what predicts.
    stop_reason_, n_trials_, n_splits_, refit_time_ : str, int, int, float
        Why the search ended, number of trials and splits, seconds of the last training.
    classes_, class_count_, pos_label_, null_class_, n_features_in_, feature_names_in_ : ndarray, label, int
        Labels, samples of each, positive class and the other one; number and names of the features.
    rule_, class_costs_, confusion_ : ClassProbabilityRule, ndarray, ndarray
        Several classes: the decision, the winner's class weights, the out-of-fold confusion matrix in shares.
    searches_, best_scores_, label_names_ : list of CostSearch, ndarray, ndarray
        Several labels: the search, value and name of each.
    thresholds_, segments_, limit_cost_ : dict, dict of dict, float
        By segments: the threshold of each, its size and rates out-of-fold, and by how much the metric there is smaller
        than with the best decisions without the limit. Costs of rows have no ``thresholds_``; ``segments_`` has what
        errors cost besides, ``extra_fn`` and ``extra_fp``, in the unit of the costs.
    row_rule_, row_costs_, threshold_without_costs_, dearest_share_ : str, RowCosts, float, float
        Costs of each row: the decision, the costs, the threshold without them, the share of the dearest 1 % of rows.

    References
    ----------
    .. [1] S. Parambath et al., "Optimizing F-measures by cost-sensitive classification", NIPS 2014.
    .. [2] K. Bascol et al., "From Cost-Sensitive Classification to Tight F-measure Bounds", AISTATS 2019.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.linear_model import LogisticRegression
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> search = CostSearch(make_pipeline(StandardScaler(), LogisticRegression()), "f1", pos_label=0).fit(X, y)
    >>> print(f"{search.corrected_score_:.2f} to expect on new data")
    0.96 to expect on new data
    """

    # What scikit-learn's metadata routing may be asked for, by `set_fit_request` and its kind.
    __metadata_request__fit = __metadata_request__predict = __metadata_request__score = dict.fromkeys(_OF_ROWS)
    __metadata_request__predict_proba = dict.fromkeys(COSTS)

    def get_params(self, deep: bool = True) -> Keywords:
        """Return the search's arguments; with ``deep`` also the base's, or those of several models by their names.

        Parameters
        ----------
        deep : bool, default=True
            Whether to tell the parameters of estimators inside.

        Returns
        -------
        dict
            Such as ``base__C``; of several models ``logistic``, the model itself, and ``logistic__C``.
        """
        params = super().get_params(deep)
        for name, model in (named_models(self.base) or ()) if deep else ():
            inside = model.get_params() if hasattr(model, "get_params") and not isinstance(model, type) else {}
            params |= {name: model} | {f"{name}__{key}": value for key, value in inside.items()}
        return params

    def set_params(self, **params: object) -> CostSearch:
        """Set arguments of the search, or parameters inside it, by the names that `get_params` gives.

        Parameters
        ----------
        **params : object
            New values.

        Returns
        -------
        CostSearch
            ``self``.
        """
        if "base" in params:
            self.base = params.pop("base")
        models = dict(named_models(self.base) or ())
        if replaced := {name: params.pop(name) for name in models if name in params}:
            models |= replaced
            self.base = models if isinstance(self.base, Mapping) else list(models.values())
        return super().set_params(**params)

    def fit(self, X: Samples, y: ArrayLike, sample_weight: ArrayLike | None = None, **fit_params: object) -> CostSearch:
        """Search the costs and train the winner.

        Parameters
        ----------
        X : array-like, sparse matrix or frame of shape (n_samples, n_features)
            Samples.
        y : array-like of shape (n_samples,) or (n_samples, n_labels)
            Labels of two classes or of more; or 0 and 1 with a column for each of several labels.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights >= 0; they count in every training, metric and bound. They say for how many samples each one
            stands; where errors have costs of their own in each row, give these instead, see `csf.metrics.RowCosts`.
        **fit_params
            Arguments of the base's ``fit`` (and ``groups`` of the splitter); those with one entry a sample are split
            with the samples. Where the metric is ``"savings"``, ``"cost"``, ``"benefit"`` or a `csf.metrics.RowCosts`,
            also ``fn_cost``, ``fp_cost``, ``tp_cost`` and ``tn_cost``: a number, or one for each sample, that a false
            negative, false positive, true positive and true negative costs. Where the constraint is by segments, also
            ``by``: the segment of each sample, where it is no column of ``X``.

        Returns
        -------
        CostSearch
            ``self``, fitted.

        Raises
        ------
        ValueError
            If an argument or the data cannot be used, or every trial failed.

        Warns
        -----
        UserWarning
            If no trial satisfies the constraint, or the threshold does not pass on to the model trained on everything.
        """
        return self._fit(X, y, sample_weight, fit_params, Prepared())

    @with_callbacks
    def _fit(
        self,
        X: Samples,
        y: ArrayLike,
        sample_weight: ArrayLike | None,
        fit_params: Keywords,
        prepared: Prepared,
        max_bytes: int = MAX_BYTES,
    ) -> CostSearch:
        """Fit with data prepared by other searches on the same samples and splits, and with a share of their memory."""
        self._forget()
        config = SearchConfig.of(self)
        deadline = Deadline.of(config.time_limit)
        X, y = check_samples(X, y, sample_weight=sample_weight, **fit_params)
        X, y, sample_weight, fit_params, cv = drop_weightless(X, y, sample_weight, fit_params, config.cv)
        config = replace(config, cv=cv)
        given = {name: fit_params[name] for name in _OF_ROWS if fit_params.get(name) is not None}
        costs = self._costs(given)
        fit_params = {name: value for name, value in fit_params.items() if name not in _OF_ROWS}
        if costs is not None:
            # Whatever else is given is for the base or the splits, unless it is like a cost.
            self._costs({name: value for name, value in fit_params.items() if did_you_mean(name, COSTS)})
        if has_several_columns(y) and costs is None:
            self._publish_fit(*LabelSearch(self, config, X, y, sample_weight, fit_params).fit(deadline))
            return self
        problem, codes = read_problem(config, X, y, given)
        labels = problem.labels
        config = aimed(config, problem)
        groups = read_groups(fit_params.get("groups"), codes.shape[0])
        weight = problem.weights(sample_weight, codes)
        task = Task(X, codes, weight, fit_params | given, labels, groups, is_pairwise(self))
        task, held_back = split_for_test(config, task, by_score=problem.decides_by_score)
        problem, trained = problem.of_part(task)
        if config.is_prefit:
            (result, rule), refit_time = problem.prefit(config, trained), 0.0
        else:
            plan = plan_in_memory(self, config, problem, trained, prepared, max_bytes)
            result, rule, refit_time, _ = run_search(config, problem, plan, search=self, deadline=deadline)
            result = result if rule is None else result.with_training(rule, training_sample(task))
        heaviest = None if weight is None else float(weight.max())
        about = {"class_count_": labels.count(codes), "max_sample_weight_": heaviest}
        self._publish_fit(result, rule, refit_time, class_attributes(labels) | about)
        if config.confidence is not None:
            n_tests = n_promises(self.constraint, self.review, labels.answers)
            self._test(held_back, confidence_in_each(config.confidence, n_tests))
        return self

    def _test(self, held_back: Task | None, confidence: float) -> None:
        """Test the constraint and each limit of reviews, by a confidence in each, on samples held back or on all."""
        config = self.result_.config
        try:
            if self.result_.constraint is not None:
                won = self.result_.tested(self._rule, held_back, confidence)
                self._publish(won, won.in_rule(self._rule))
            if held_back is not None:
                if config.limits_answers:
                    self._bands = self.result_.tested_reviews(config.review, self._rule, held_back, confidence)
                self.result_ = self.result_.with_calibration(self._rule, held_back)
        except BaseException:
            self._forget()
            raise

    def _costs(self, given: Mapping[str, object]) -> RowCosts | None:
        """Read the costs of rows, if they are searched; raise a TypeError for other arguments or for another metric."""
        if BY in given:
            demand = get_constraint(self.constraint)
            if (demand is None or demand.segment_column is None) and not isinstance(self.threshold, RowThresholds):
                raise TypeError(
                    f"{BY} has the segments of a constraint such as 'recall gap <= 0.05 by sex', got constraint="
                    f"{self.constraint!r}; leave {BY} out. Rows that belong together in folds are groups="
                )
            given = {name: value for name, value in given.items() if name != BY}
        return given_costs(self.metric, given)

    @property
    def threshold_(self) -> float | None:
        """Threshold ``best_threshold_``, under its name in the classifiers of `csf.thresholding`."""
        return self.best_threshold_

    @property
    def estimator_(self) -> Estimator:
        """Estimator ``best_estimator_``, under its name in the classifiers of `csf.thresholding`."""
        # The error of the rule says what a search without refit lacks.
        return self.best_estimator_ if "best_estimator_" in vars(self) else self.decision_rule_.estimator

    def predict(
        self,
        X: Samples,
        at_most: float | Mapping[Label, float] | None = None,
        *,
        wrong_at_most: float | Mapping[Label, float] | None = None,
        **costs: ArrayLike,
    ) -> Array:
        """Predict labels by the winner and its threshold, or by the costs of each row.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Samples.
        at_most : int, float or dict, default=None
            Largest number of samples that are predicted positive, an int >= 0, or their share of these samples, a float
            in (0, 1), rounded down. Of those that are predicted positive without it the ones with the largest expected
            gain stay, where errors have costs in each row, else those with the largest scores. The order of the samples
            does not matter: equals at the border are taken in an order that follows from their features alone, and
            prefers none of them. Of several classes or labels a dict of such limits, ``{"urgent": 50}``: of several
            classes the rows stay that lose most by another class; several limits lose as little as possible in all.
            Beside a null class "none" a number, or ``{"not none": 50}``, limits all others together.
        wrong_at_most : float or dict, default=None
            Largest share of wrong alerts (positive predictions) among those of a batch, in (0, 1), on average over
            batches: ``X`` is one batch, and what is predicted of a row depends on the others. It takes the place of the
            threshold, whatever the share of positives, as long as negatives look (and cost) as before; see Notes. With
            costs of rows only those that pay can be alerts. With ``at_most`` the best rows stay among those that are
            sure enough for so many alerts. Of several classes or labels a dict, ``{"urgent": 0.2}``: rows that pass
            get the class, others the best one of the rest.
        **costs : float or array-like of shape (n_samples,)
            ``fn_cost``, ``fp_cost``, ``tp_cost`` and ``tn_cost`` of these samples, where `fit` was given some. Without
            them one threshold on the probability decides, with a warning. ``by``, where `fit` was given it.

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_labels)
            Labels, as in ``classes_``; of several labels a sample 1 for those that are found, else 0.

        Raises
        ------
        ValueError
            If ``wrong_at_most`` is given for a single row, or the search has no held-out scores.

        Warns
        -----
        UserWarning
            If ``wrong_at_most`` gives far more alerts than among held-out rows, or can give none.

        Notes
        -----
        ``wrong_at_most`` is the procedure of Benjamini and Hochberg on p-values against held-out negatives, see
        `csf.thresholding.alerts.AlertLimit`. The promise is exact for a base that was fitted before
        (``cv="prefit"``) and with ``confidence``, whose ``calibration`` share is then compared with; else the scores
        are out-of-fold, those of other models than the final one, and it is approximate: rows are compared with
        training rows of the final model too, and the larger p-value counts. With costs of rows it is close
        to exact: what pays is tuned on the rows that are compared with. The mean is over batches, and a batch without
        alerts counts 0. Where labels miss positives (`csf.metrics.Incomplete`), held-out positives
        without a label count as wrong alerts: fewer alerts are wrong than promised.
        """
        rule = self._with_costs(costs, X=X)
        wrong = self._alert_limits(wrong_at_most)
        return rule.predict_within(X, at_most, wrong) if wrong or at_most is not None else rule.predict(X)

    def _alert_limits(self, wrong_at_most: object, bands: Any = None) -> AlertLimits:
        """Read limits on wrong alerts in a batch, of answers with reviews by the rule of these."""
        if wrong_at_most is None:
            return NO_LIMITS
        self._require_scores("wrong_at_most")
        return self.result_.alert_limits(wrong_at_most, self._answer_names, bands)

    @property
    def _answer_names(self) -> list[Label]:
        """Names of the classes or labels; of two classes, or beside a null class, the positive one comes last."""
        if self.null_class_ is not None:
            return names_of_answers(self.null_class_, self.pos_label_)
        return getattr(self, "label_names_", self.classes_).tolist()

    def predict_with_review(
        self,
        X: Samples,
        at_most: float | Mapping[Label, float] | None = None,
        *,
        wrong_at_most: float | Mapping[Label, float] | None = None,
        **costs: ArrayLike,
    ) -> Array:
        """Choose the answer with the smallest expected cost, a review among them, where the search has a ``review``.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Samples.
        at_most : int, float or dict, default=None
            Largest number or share of positive answers, as for `predict`; of several classes or labels a dict of
            these, ``{"urgent": 50}``. Beside a null class "none" all others have one limit, 50 or ``{"not none": 50}``.
            Rows beyond it get the answer that is best for them without this one. The reviews stay within ``at_most`` of
            the `Review`, a share of these samples, or as many as they are without this limit where that is more; those
            stay that save most. Limits on wrong answers go before both.
        wrong_at_most : float or dict, default=None
            Largest share of wrong positive answers (or of a class) in this batch, on average over batches, as for
            `predict`. Rows that do not pass get their next best answer; limits of the `Review` hold besides.
        **costs : float or array-like of shape (n_samples,)
            As for `predict`; `fit` was given some where they are needed.

        Returns
        -------
        ndarray of object, shape (n_samples,) or (n_samples, n_labels)
            Labels, as `predict` gives them, or ``"review"``.

        Raises
        ------
        ValueError
            If the search has no ``review``.

        Examples
        --------
        >>> from sklearn.datasets import make_classification
        >>> from sklearn.linear_model import LogisticRegression
        >>> from csf.metrics import Review
        >>> X, y = make_classification(2000, weights=[0.9], random_state=0)
        >>> options = {"param_grid": None, "n_trials": 1}
        >>> search = CostSearch(LogisticRegression(), review=Review(at_most=0.1), **options).fit(X, y)
        >>> reviewed = (search.predict_with_review(X) == "review").mean()
        >>> print(f"{reviewed:.1f} of the samples")
        0.1 of the samples
        """
        answers, rule = self.review_bands(), self._with_costs(costs, X=X)
        if not np.array_equal(rule.threshold, self._rule.threshold):
            raise ValueError(
                f"best_threshold_ was set to {rule.threshold!r}, and the answers with reviews are those of "
                f"{self._rule.threshold!r}, which fit chose: set it back to that"
            )
        return answers.answers(rule, X, at_most, self._alert_limits(wrong_at_most, answers))

    def review_bands(self) -> Any:
        """Return the bands of scores, or of costs by row, that get each of three answers.

        Returns
        -------
        csf.thresholding.capacity.ReviewBands
            The bands; of several classes or labels their rule.

        Raises
        ------
        ValueError
            If the search has no ``review``.
        """
        check_is_fitted(self, "trials_")
        if not hasattr(self, "_bands"):
            raise ValueError("this search was fitted without a third answer; give review=csf.metrics.Review(cost=...)")
        return self._bands

    @property
    def review_(self) -> Any:
        """Value of the answers with reviews on held-out scores, computed on first access; of several labels a list."""
        try:
            bands = self.review_bands()
        except ValueError as error:  # what lists attributes passes over those that are not there
            raise AttributeError(str(error)) from error
        if "_reviewed" not in vars(self):
            self._reviewed = self.result_.reviewed(bands, self.assess())
        return self._reviewed

    @property
    def band_(self) -> ConfidenceBand:
        """Bounds at all thresholds that hold together, with ``confidence`` or 0.9, see `csf.certify`.

        On samples that were held back or the scores of a fitted base; for others ``certify(y, score_samples(X))``.
        """
        check_is_fitted(self, "trials_")
        band = self.result_.band(self.confidence or 0.9)
        if band is None:
            raise AttributeError(
                "band_ needs scores of two classes that were held back (confidence=) or are of a fitted base "
                "(cv='prefit'), without weights, groups and segments; for other rows that the model has not seen use "
                "csf.certify(y, search.score_samples(X))"
            )
        return band

    @overload
    def at_capacity(self, at_most: float) -> Capacity: ...

    @overload
    def at_capacity(self, at_most: Mapping[Label, float]) -> NamedCapacities: ...

    def at_capacity(self, at_most: float | Mapping[Label, float]) -> Capacity | NamedCapacities:
        """Estimate the value of `predict` with ``at_most`` on one large batch of new rows, from the held-out scores.

        Parameters
        ----------
        at_most : float or dict
            Share of the rows that can be acted on, in (0, 1): 50 calls a day for 1000 customers are 0.05. Of several
            classes or labels a dict of such shares, ``{"urgent": 0.05}``. Beside a null class "none" it limits other
            classes one by one, ``{"urgent": 0.05}``, and a number, or ``{"not none": 0.05}``, all of them together.

        Returns
        -------
        Capacity or NamedCapacities
            The ``value`` of the metric to expect and its ``interval``, the ``threshold``, the share of rows that are
            ``acted_on``, and what share of all that could be gained is ``captured``; by name for a dict.

        Raises
        ------
        ValueError
            If a limit is no share or on no class, or the held-out scores have not been kept.

        Notes
        -----
        Small batches reach less: the best row of each hundred is not one of the best hundredth of all rows.

        Examples
        --------
        >>> from sklearn.datasets import make_classification
        >>> from sklearn.linear_model import LogisticRegression
        >>> X, y = make_classification(2000, weights=[0.9], random_state=0)
        >>> search = CostSearch(LogisticRegression(), param_grid=None, n_trials=1).fit(X, y)
        >>> search.at_capacity(0.05).captured < search.at_capacity(0.1).captured
        True
        """
        check_is_fitted(self, "trials_")
        self._require_scores("at_capacity")
        self._require("at_capacity")
        return self.result_.capacity(at_most, self._answer_names, self.assess)

    def score(self, X: Samples, y: ArrayLike, sample_weight: ArrayLike | None = None, **costs: ArrayLike) -> float:
        """Compute ``metric`` (not the accuracy) on new data, as scikit-learn's searches do.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Samples.
        y : array-like of shape (n_samples,) or (n_samples, n_labels)
            Labels.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights >= 0.
        **costs : float or array-like of shape (n_samples,)
            ``fn_cost``, ``fp_cost``, ``tp_cost`` and ``tn_cost`` of these samples, where `fit` was given some.

        Returns
        -------
        float
            The value of the predictions.
        """
        rule = self._with_costs(costs, X=X, y=y, sample_weight=sample_weight)
        return rule.score(metric_of(self), X, y, check_weights(sample_weight, num_samples(X)))

    def _with_costs(self, given: Mapping[str, object], **rows: object) -> Any:
        """Return the rule that knows the costs of the rows, which belong to other arguments too."""
        warn_of_order(**rows, **given)
        costs, rule = self._costs(given), self.decision_rule_
        return replace(rule, given=given) if costs is not None or BY in given else rule

    @available_if(_has_a_threshold)
    def score_samples(self, X: Samples, **costs: ArrayLike) -> Array:
        """Compute the scores that ``best_threshold_`` is for: `predict` is positive where they are at least that.

        They are on the scale of the base: ``decision_function`` of ``best_estimator_`` where it has one (LightGBM from
        4.7 on and HistGradientBoosting have, of raw margins), times -1 where the first of two labels is the positive
        one; else its probability of the positive class.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Samples.
        **costs : array-like of shape (n_samples,)
            As for `predict`. With costs of rows the score is what "positive" is expected to save, and 0 the threshold.

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_labels)
            Scores, larger for samples that look positive. With ``null_class`` they say how the best other class
            compares with that one, see Notes; with several labels a sample each has a column. With ``threshold=None``
            the base's own decision is positive above ``best_threshold_``, and not at it. Of several classes that are
            all alike none is compared with a threshold: the method is not there.
        """
        return self._with_costs(costs, X=X).score_samples(X)

    @available_if(_base_has_scores)
    def decision_function(self, X: Samples, **costs: ArrayLike) -> Array:
        """Compute scores that agree with the decisions of `predict`.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Samples.
        **costs : array-like of shape (n_samples,)
            As for `predict`.

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_classes)
            With two classes the score minus the threshold, above 0 exactly where the second of ``classes_`` is
            predicted. With more the scores of all classes as the winner gives them, except that the one of the null
            class is moved by the threshold, or as ``rule_`` moves them: the largest one is the class that is predicted.
        """
        return self._with_costs(costs, X=X).decision_function(X)

    @available_if(_base_has_scores)
    def threshold_curve(
        self, X: Samples, y: ArrayLike, sample_weight: ArrayLike | None = None, **costs: ArrayLike
    ) -> ThresholdCurve:
        """Evaluate all thresholds on the score that ``best_threshold_`` is for, on new data.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Samples.
        y : array-like of shape (n_samples,)
            Labels, of ``classes_``.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights >= 0.
        **costs : float or array-like of shape (n_samples,)
            As for `score`.

        Returns
        -------
        ThresholdCurve
            Error profile at each threshold, see `csf.thresholding.threshold_curve`. Of costs of rows, and of a mean
            over samples with several labels, a `csf.thresholding.ValuedCurve` with the ``values`` of the metric.

        Raises
        ------
        ValueError
            If ``y`` has one class only, or labels that the search has not seen, costs are missing, or each label has a
            threshold of its own.
        """
        self._require("threshold_curve")
        return self._with_costs(costs, X=X, y=y, sample_weight=sample_weight).curve(X, y, sample_weight)

    @available_if(base_has("predict_proba"))
    def predict_proba(self, X: Samples, **costs: ArrayLike) -> Array:
        """Predict class probabilities with the costs taken out again.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Samples.
        **costs : float or array-like of shape (n_samples,)
            As for `predict`: needed where `fit` was given costs, and the winner was trained with weights of them.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            Probabilities in the order of ``classes_``: those of the winner, divided by the cost that their class was
            trained with (with ``weighting="one-vs-rest"`` the odds of each problem, divided by the ratio of its own
            costs), and scaled to sum 1. They estimate how likely each class is; ``predict`` puts its threshold where
            the metric is best, which is not where the most likely class changes.
        """
        return self._with_costs(costs, X=X).predict_proba(X)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = self.null_class is not None or class_metric(self.metric) is not None
        tags.classifier_tags.multi_label = is_label_metric(self.metric)
        return tags
