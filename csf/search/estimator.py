"""CostSearch: chains the arrows from data to the best cost-weighted classifier."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from contextlib import nullcontext
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal

from numpy.typing import ArrayLike
from sklearn.utils.metaestimators import available_if

from csf._common.messages import called_elsewhere
from csf._common.sklearn import CallbackSupportMixin, named_models, open_callback_context, with_callbacks
from csf._common.typing import Array, Estimator, Label, PathLike, RandomState_, Samples
from csf._common.validation import check_samples
from csf.data.folds import Task, read_groups
from csf.data.labels import has_several_columns
from csf.evaluate import MAX_BYTES
from csf.metrics.labels import is_label_metric
from csf.metrics.profile import ErrorProfile
from csf.metrics.row_costs import COSTS, RowCosts, row_costs
from csf.search.config import AUTO, SearchConfig
from csf.search.fitted import FittedSearch, told_of_classes
from csf.search.labels import LabelSearch, value_of_labels
from csf.search.loop import Deadline, Forecast, SearchLoop
from csf.search.outcome import ClassOutcome
from csf.search.problem import (
    Plan,
    Problem,
    ThresholdProblem,
    calibration_split,
    certified,
    fold_mean,
    is_prefit,
    make_plan,
    open_checkpoint,
    read_problem,
    serves_classes,
)
from csf.search.row_costs import RowProblem
from csf.search.workers import LocalTrainer, threads_for
from csf.thresholds.capacity import Capacity, Ranked, capacity_of, predict_within
from csf.thresholds.linear_rule import no_threshold
from csf.thresholds.review import Answered, Bands, Reviewed, reviewed
from csf.thresholds.row_rule import RowRule
from csf.thresholds.rule import ThresholdClassifier, base_has
from csf.trainers import Prepared

if TYPE_CHECKING:
    from csf.metrics.constraints import Constraint
    from csf.metrics.registry import MetricLike
    from csf.metrics.review import Review
    from csf.search.strategies.base import Strategy
    from csf.search.study import Bound
    from csf.thresholds.curve import ThresholdCurve


__all__ = ["CostSearch"]

_base_has_scores = base_has("decision_function", "predict_proba")


def _has_a_threshold(self: CostSearch) -> bool:
    """Condition for `available_if`: scores have a threshold, as all have but those of classes that are all alike."""
    if hasattr(self, "class_costs_"):
        raise no_threshold()
    return _base_has_scores(self)


class CostSearch(FittedSearch, CallbackSupportMixin, ThresholdClassifier):
    """Search the class costs, and with them the threshold, that maximise a metric.

    Metrics such as F-beta, Jaccard or the G-mean cannot be summed over examples, so no classifier optimises them
    directly. For each level t that such a metric can take there are class costs ``(c_fn, c_fp)``, of a false negative
    and of a false positive, for which ordinary weighted training aims at that level. ``CostSearch`` trains the base
    classifier at a few of these costs, chosen by a strategy, tunes the threshold of each model on pooled out-of-fold
    scores, and trains the winner once more on everything. Without further arguments it also searches the C of linear
    models, and repeats the folds where positives are few.

    Three and more classes that are all alike have a weight each, and a rule of their probabilities takes the place of
    the threshold; several labels a sample (``y`` of 0 and 1, a column each) have a threshold each, or share one. See
    Notes.

    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.linear_model import LogisticRegression
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> search = CostSearch(make_pipeline(StandardScaler(), LogisticRegression()), "f1", pos_label=0).fit(X, y)
    >>> search.best_score_ > 0.97
    True

    Parameters
    ----------
    base : estimator, list of estimator or dict of str to estimator
        Classifier whose ``fit`` takes ``sample_weight`` (or that has ``class_weight``), or a pipeline that ends in one,
        or a OneVsRestClassifier of one. Others, such as ``KNeighborsClassifier``, are trained at equal costs alone:
        parameters and threshold are searched. Of several models the best one wins, see Notes; a dict names them, in a
        list the class of the last step does (``"logisticregression"``). A base is trained on targets coded 0 and 1, 1
        for the positive class (0 for the null class and 1, 2, ... for others; for classes that are all alike the places
        in ``classes_``). With a fitted ``sklearn.frozen.FrozenEstimator`` only the threshold is tuned. Costs slow
        ``HistGradientBoostingClassifier`` of scikit-learn 1.9 down, see `csf.trainers`.
    metric : str, Metric or callable, default="f1"
        What is maximised: ``"f1"``, ``"f2"``, ``"f0.5"``, ``"jaccard"``, ``"gmean"``, ... (``csf.metrics.METRICS``)
        or an object; of several classes ``"f1_macro"``, ``"balanced_accuracy"``, ``"mcc"``, ``"quadratic_kappa"``, ...
        (``csf.metrics.CONFUSION_METRICS``) or a `csf.metrics.ConfusionMetric`; of several labels a sample an average
        such as ``"f1_macro"``, see Notes. A function ``f(y_true, y_pred, sample_weight=...)`` or a scorer of one is
        given codes: 1 for the positive class and 0, or the places in ``classes_``, see `csf.metrics.get_metric`. Costs
        of each row are a `csf.metrics.RowCosts`, or ``"savings"``, ``"cost"`` or ``"benefit"`` with costs given to
        `fit`.
    strategy : str, Strategy or callable, default="ladder"
        Where to train next: ``"ladder"`` (equal costs, then ratios up to the one that balances the classes),
        ``"cone"``, ``"grid"``, ... (``csf.strategies.STRATEGIES``), an object, or a function
        ``f(trials, *, metric, pos)``. Of several classes the ladder or a grid of powers of their shares.
    n_trials : int, default=10
        Largest number of levels to train at, for each setting of ``param_grid``; the ladder has 6. For bases without a
        fast solver it has equal costs alone with ``param_grid="auto"``, else 3; ``strategy=Ladder(3)`` always has 3.
    param_grid : dict, list of dict, "auto" or None, default="auto"
        Parameters of the base to search together with the costs, e.g. ``{"C": [0.1, 1, 10]}``. ``"auto"`` searches the
        C of `LinearSVC` and `LogisticRegression` (in pipelines and OneVsRestClassifier too) over multiples of the
        base's own, fewer rounds of boosters (all, half and a quarter of the base's own, read off the same trainings,
        see `csf.trainers`), and nothing of other bases; ``None`` keeps the base as it is. Settings race, see Notes.
        Of several models a dict by their names: ``{"forest": {"max_depth": [4, 8]}}``; others are searched by
        ``"auto"``.
    constraint : str or Constraint, default=None
        What the classifier must satisfy, e.g. ``"precision >= 0.8, fpr <= 0.01"``: on the held-out predictions, and so
        on new data about every second time.
    confidence : float, default=None
        With at least this probability no threshold is certified that violates the constraint on new data. A
        ``calibration`` share of the samples is then never trained on, and decides which thresholds pass, see
        `csf.thresholds.certificates`: for one search. The guarantee does not hold if you rerun with new seeds
        until one passes, and where no threshold reaches the level all that pass are false.
    calibration : float, default=0.3
        That share, stratified.
    review : Review, default=None
        A third answer, to have a person look at a row, see `csf.metrics.Review`: `decide` then says "negative",
        "review" or "positive", and ``review_`` what that is worth. `predict` keeps its two answers.
    threshold : {"stable", "tune", None}, default="stable"
        ``"tune"`` chooses the threshold of the score that maximises the metric. ``"stable"`` takes the mean of the best
        thresholds on bootstrap draws (of the shares found there: the ranking alone decides), and as the winner the
        trial that is best on average over them (for bases without a fast solver by a standard deviation better than the
        best one of equal costs, or than the base's own rounds); under a constraint it is the same as ``"tune"``.
        ``None`` keeps the base's own decision.
    cv : int, float, splitter, iterable, "prefit" or None, default=None
        Stratified folds, a held-out share in (0, 1), a splitter, or the splits. Predictions of all folds are pooled
        before the metric is computed. ``None`` means 5 shuffled folds, three times over where the rarest class has less
        than 500 samples (beyond 20 000 samples only for bases with a fast solver; twice where rounds of boosters are
        searched, and twice 4 for other bases without a fast solver and ``param_grid="auto"``). ``"prefit"`` takes the
        base as it is and only tunes the threshold on the data.
    refit : bool or "folds", default=True
        Train the winner on all data; needed to predict. ``"folds"`` trains it on each fold once more instead (two
        classes, bases with ``predict_proba``): the mean of these models predicts, with the threshold that is best for
        its own out-of-fold means, and predicting takes as many times as long as there are folds.
    n_jobs : int, default=None
        Workers for folds and proposals (-1: all cores); the result does not depend on it.
    engine : {"auto", "generic", "liblinear"}, default="auto"
        ``"auto"`` solves LinearSVC and LogisticRegression from earlier solutions, and fits the steps of a pipeline
        before its last one once; ``"generic"`` trains a clone of the base each time; ``"liblinear"`` trains
        LinearSVC and LogisticRegression with LIBLINEAR's own package (class weights alone, no ``max_iter``). See
        `csf.trainers`.
    pos_label : label, default=None
        Positive class; ``None`` means 1 for labels {0, 1} or {-1, 1}.
    null_class : label, default=None
        Class of nothing to find, where ``y`` has several others; see Notes. Of two classes it is the negative one.
    weighting : {"class", "one-vs-rest"}, default="class"
        ``"class"`` weights a sample by the cost of its class. ``"one-vs-rest"``, for a OneVsRestClassifier, weights it
        in each problem by itself: ``c_fn`` if it is of the class to be found there, else ``c_fp``. See Notes.
    normalize : {"mean", "none"}, default="mean"
        ``"mean"`` scales the weights of each training to the mean of the given sample weights (1 without them), so that
        the regularisation stays the same at all levels: that of the base trained without costs. ``"none"`` takes the
        costs as they are, as the papers do.
    sample_weight_name : str, default=None
        Argument of the base's ``fit`` for the weights, such as ``"clf__sample_weight"``; found by itself otherwise.
    min_gain : float, default=None
        Train with equal costs first, and keep them unless the best trial gains this many standard errors more than
        the best of equally good trials would by chance: at 1.5 they stay in 5 of 6 cases where nothing is better,
        however many trials there are. See `csf.search.selection`. ``None`` takes the best trial.
    bound : {"support", "diagonal", "envelope", "parambath"} or type, default="support"
        How ``upper_bound_`` is computed: from the support lines of all trials, with a margin where
        ``bound_on="validation"``; or as in the papers, without one. See `csf.bounds` for what is proven.
    bound_on : {"validation", "train"}, default="validation"
        Data whose error profiles guide strategies and bounds: the pooled held-out predictions, or the training parts
        as in the papers (a flexible base that fits them perfectly leaves nothing to search there).
    tol : float, default=None
        Stop when the bound of a setting, without margin, is within this of its best value: that can end a search which
        has not looked far. ``None`` uses all trials.
    time_limit : float, default=None
        Seconds after which the search ends with the trials that it has. It stops while there is time left for the last
        training; the first trial, of equal costs, is always finished.
    random_state : int, RandomState or None, default=None
        Seed of a ``cv`` that is a float or ``None``, of the ``calibration`` share, and of every ``random_state`` that
        the base leaves unset. ``None`` draws folds and share in one fixed way (not that of seed 0), so that the same
        call gives the same result; a base that draws random numbers itself then does so again each time.
    verbose : int, default=0
        1 shows a progress bar. At 0, and without ``time_limit``, one line of the logger ``"csf"`` says what the rest
        takes at most, where that is more than half a minute; ``logging.getLogger("csf").setLevel("ERROR")`` mutes it.
    error_score : "raise" or nan, default=nan
        What a failing training, or one that kills its worker process, does: end the search, or be left out as failed.
    checkpoint : path-like, default=None
        File that keeps finished trials; the same search resumes from it, to the same trials and winner as without
        the pause. Solutions that linear models start from are kept too (large ones are computed again). It is refused
        where the data, the base, the metric or other code differ, see `csf._common.identity`.
    callbacks : list of callable, default=None
        ``callback(study, trial)`` after each trial; a true result ends the search. scikit-learn's own callbacks go
        through ``set_callbacks`` (scikit-learn 1.9).

    Attributes
    ----------
    best_t_ : float or None
        Level of the winner.
    best_cost_weights_ : tuple of float
        Its costs ``(c_fn, c_fp)``.
    best_threshold_ : float
        Predict positive when `score_samples` is at least this. ``trials_`` have the threshold that is best on the
        held-out samples as they are.
    best_score_ : float
        Metric of the winner on the pooled held-out predictions; optimistic, as the largest of many.
    corrected_score_ : float
        Value to expect on new data, by choosing trial and threshold again, as this search chooses, on two thirds of the
        held-out samples and judging on the others. Computed, like the intervals, when first asked for. See
        `csf.evaluate`; ``assess().monte_carlo_error`` says by how much chance moves it.
    score_interval_, threshold_interval_ : tuple of float
        90 % intervals: for the value of the returned model on new data, and for the best threshold of the winner's
        held-out scores if other samples had been drawn.
    rule_ : LinearRule
        Of several classes: what decides on their probabilities, see `csf.thresholding.LinearRule`; ``rule_.kind`` is
        ``"argmax"`` where the base's own decision won. There is no ``best_t_`` and no ``best_threshold_`` then.
    class_costs_ : ndarray of shape (n_classes,)
        Of several classes: the weights that the winner was trained with, in the order of ``classes_``.
    confusion_ : ndarray of shape (n_classes, n_classes)
        Of several classes: what the rule decides about the held-out samples, as shares of all; rows are true and
        columns predicted classes.
    row_rule_ : str
        With costs of each row: ``"plain"`` where the probabilities of the winner decide as they are, else what was
        tuned: ``"sigmoid"``, ``"isotonic"`` or ``"swept"``. ``best_t_`` is then the power of the costs that weighed the
        training, and ``best_threshold_`` that of the log-odds plus log(gain / loss), see `csf.metrics.RowCosts`.
    row_costs_ : RowCosts
        With costs of each row: these, with the numbers that `fit` was given.
    threshold_without_costs_, dearest_share_ : float
        With costs of each row: the threshold on the winner's probability where costs are not known, and the share of
        all that is at stake that the dearest 1 % of the rows carry.
    best_params_ : dict
        Setting of ``param_grid`` that won; of several models with its ``"model"``.
    best_index_ : int
        Place of the winner in ``trials_`` and ``cv_results_``.
    best_estimator_ : estimator
        The winner, trained on all data (coded 0 and 1); absent with ``refit=False``. With ``refit="folds"`` a
        `sklearn.ensemble.VotingClassifier` of the models of all folds.
    upper_bound_, gap_ : float
        What other levels could reach at most with these parameters on these folds (in 19 of 20 searches a dense grid
        of levels finds no more, see `csf.bounds`), and its distance from the best value attained. That is no estimate
        of the gain, which is mostly far smaller. Under a constraint both hold for classifiers that satisfy it: where
        none does the gap is NaN.
    bound_margin_ : float
        What ``upper_bound_`` holds for the noise of few positives: 2.4 k^(-1/4) standard errors after k trials; the
        rest is the bound of exact learners.
    stop_reason_ : str
        Why the search ended; of several models also which were dropped, when, and how far they were behind.
    feasible_ : bool
        Whether ``constraint`` holds on the held-out predictions (with ``confidence``: was shown to hold on new data).
    constraint_value_ : float or None
        Value of the (first) constrained rate there; with ``confidence`` on the calibration samples.
    guarantee_ : Guarantee
        With ``confidence``: the test.
    review_ : csf.thresholds.review.Reviewed
        With ``review``: ``value`` and ``interval`` after the reviews, the ``shares`` of rows that get each answer, how
        many of these are ``wrong``, what one more review would save (``extra_cost``), and what was shown
        (``guarantees``).
    gain_, gain_by_luck_, gain_error_ : float
        With ``min_gain``: the value of the best trial minus that of the best one with equal costs; its mean and its
        standard error if no trial were better than these (NaN where not needed).
    trials_ : list of Trial
        Everything that was tried.
    held_out_ : ScoreStore
        Held-out scores of the trials, in 32 MB at most (of more the best trials), see `csf.evaluate`.
    studies_ : list of Study
        One for each setting of ``param_grid``, of several models in the order of their names.
    cv_results_ : dict of ndarray
        The trials as a table; ``dropped`` is whether the setting of a trial was left behind in the race, and
        ``param_model`` the name of its model, where there are several.
    n_trials_, n_splits_ : int
        Number of trials and of splits.
    refit_time_ : float
        Seconds of the last training.
    classes_ : ndarray of shape (n_classes,)
        Labels.
    class_count_ : ndarray of int, shape (n_classes,)
        Samples of each, whatever they weigh.
    pos_label_, null_class_ : label
        Positive class (``None`` where there are several) and the other one.
    n_features_in_, feature_names_in_ : int, ndarray of str
        Number and names of the features, where the base has them.
    label_names_ : ndarray of shape (n_labels,)
        With several labels a sample: names of the columns of a frame, else their places, which ``classes_`` has.
    searches_, best_scores_ : list of CostSearch, ndarray of shape (n_labels,)
        With the mean of a metric over labels: the search of each label, and its value there. ``best_threshold_``,
        ``best_t_``, ``best_params_`` and ``best_cost_weights_`` then have an entry for each label, ``trials_`` are
        those of all searches, and more about each is found in it.

    See Also
    --------
    csf.metrics.LabelMetric : Averages over several labels.
    csf.Study : The same search for models that you train yourself.

    Notes
    -----
    Settings of ``param_grid`` race where each of them begins with equal costs (the ladder) and the winner is to be
    stable: those that, by their paired held-out scores and three standard errors, cannot gain 0.005 on the best one
    are trained at no other costs, and if none can gain that on the base's own setting, it alone goes on;
    ``strategy=Ladder(6, race=False)`` trains all of them at all costs. With ``"auto"`` the values of C are tried from
    the base's own outwards, as long as they gain, and beyond 4^-3 and 4^3 times where these are best.

    Several models share the folds: two repetitions of five where one of them is slow to train, of four where that is
    neither a booster nor a linear model. The first setting of each model comes first, at equal costs, that of a slow
    model on one repetition. A model is dropped when it cannot gain 0.005 on the best one by the same paired scores and
    three standard errors; the others are trained on the second repetition, at their other settings and at other costs.
    Each model has the costs and the margins that it has alone. ``corrected_score_`` makes the choice among the models
    again on two thirds of the samples, so that it is not that of the luckiest of them. Models are dropped where
    settings race; with a constraint, another strategy or ``threshold="tune"`` all are trained on all folds. The order
    of the models decides nothing.

    The costs change what the base's probabilities mean. ``predict_proba`` takes them out again (odds times
    ``c_fp / c_fn``). It is not thresholded at ``best_threshold_``, so use ``predict``.

    With ``null_class``, a sample of another class is found only if its own class is predicted. Metrics read the errors
    ``fn`` (samples of other classes that are not found) and ``fp`` (samples of the null class in which something is
    found); ``"f1"`` is then the multiclass F-measure of [2]_, see `ErrorProfile.from_classes`. The threshold is an
    offset on the score of the null class: the best other class is predicted where its score exceeds that one by it
    (probabilities p: where ``p / (p + p_null)`` reaches it). All classes but one cost the same, which cannot balance a
    class against many: for that a one-vs-rest base has ``weighting="one-vs-rest"``.

    Several classes without a null class are trained with the weights ``share ** -s`` for s = 0, 1/2 and 1 and, where
    the base is a linear model, with C times 1, 16 and 1/16. Each training may decide by itself, or by the class k with
    the largest ``a_k p_k - b_k``: p are its probabilities with the weights taken out, a and b follow from the gradient
    of the metric at the rule's own confusion matrix [3]_, found by a damped fixed point on the held-out samples. The
    base's own decision with equal weights is kept unless another candidate gains more than half a standard deviation
    of the gain over draws of the samples (two with other weights), where rules decide about samples that they were not
    tuned on. ``corrected_score_`` makes the choice and the rule again on two thirds of the samples and judges the rest.
    ``upper_bound_`` is NaN: bounds of each class against the rest bound nothing here, as decisions of several classes
    are none of the classifiers that they hold for.

    With several labels a sample, ``y`` is 0 and 1 of shape (n_samples, n_labels), and the metric says how it averages.
    ``"f1_macro"``, a mean over labels (of any metric: ``"gmean_macro"``), is searched for each label by itself.
    ``"f1_micro"`` counts all pairs of a sample and a label: all labels are trained with the same costs and share a
    threshold; what is said of the search of two classes holds for the pairs, except that whole samples are drawn.
    ``"f1_samples"`` is the mean over samples of the F-measure of their labels, 1 for a sample without any in which none
    is found. No costs aim at it: all of them are equal, whatever the strategy, what is tuned are parameters and the
    shared threshold, ``trials_`` tell of ``value`` and errors as of pairs, and there is no upper bound (NaN). Folds are
    stratified by the rarest label of each sample. Each label has a clone of the base (of the one inside a
    MultiOutputClassifier), and ``best_estimator_`` is a OneVsRestClassifier of the models; ``predict``,
    ``decision_function`` and ``predict_proba`` have a column for each label.

    References
    ----------
    .. [1] K. Bascol et al., "From Cost-Sensitive Classification to Tight F-measure Bounds", AISTATS 2019.
    .. [2] S. Parambath, N. Usunier, Y. Grandvalet, "Optimizing F-measures by cost-sensitive classification",
       NIPS 2014.
    .. [3] H. Narasimhan et al., "Consistent multiclass algorithms for complex metrics and constraints", JMLR 25, 2024.

    Examples
    --------
    Three classes with 80, 15 and 5 of 100 samples:

    >>> from sklearn.datasets import make_classification
    >>> X, y = make_classification(600, 8, n_informative=5, n_classes=3, weights=[0.8, 0.15], random_state=0)
    >>> search = CostSearch(LogisticRegression(), metric="f1_macro", random_state=0).fit(X, y)
    >>> search.rule_.kind, search.best_score_, search.corrected_score_
    ('affine', 0.778, 0.761)
    """

    # What scikit-learn's metadata routing may be asked for, by `set_fit_request` and its kind.
    __metadata_request__fit = __metadata_request__predict = __metadata_request__score = dict.fromkeys(COSTS)
    __metadata_request__predict_proba = dict.fromkeys(COSTS)

    @called_elsewhere(
        scoring="metric=, a name such as 'f1' or a csf.metrics.Metric",
        estimator="base=",
        param_distributions="param_grid=",
    )
    def __init__(
        self,
        base: Estimator,
        metric: MetricLike = SearchConfig.metric,
        strategy: str | Strategy | Callable[..., Any] = SearchConfig.strategy,
        *,
        n_trials: int = SearchConfig.n_trials,
        param_grid: dict[str, Any] | list[dict[str, Any]] | Literal["auto"] | None = SearchConfig.param_grid,
        constraint: str | Constraint | None = SearchConfig.constraint,
        confidence: float | None = SearchConfig.confidence,
        calibration: float = SearchConfig.calibration,
        review: Review | None = SearchConfig.review,
        threshold: Literal["stable", "tune"] | None = SearchConfig.threshold,
        cv: Any = SearchConfig.cv,
        refit: bool | Literal["folds"] = SearchConfig.refit,
        n_jobs: int | None = SearchConfig.n_jobs,
        engine: Literal["auto", "generic", "liblinear"] = SearchConfig.engine,
        pos_label: Label = SearchConfig.pos_label,
        null_class: Label = SearchConfig.null_class,
        weighting: Literal["class", "one-vs-rest"] = SearchConfig.weighting,
        normalize: Literal["none", "mean"] = SearchConfig.normalize,
        sample_weight_name: str | None = SearchConfig.sample_weight_name,
        min_gain: float | None = SearchConfig.min_gain,
        bound: Bound = SearchConfig.bound,
        bound_on: Literal["validation", "train"] = SearchConfig.bound_on,
        tol: float | None = SearchConfig.tol,
        time_limit: float | None = SearchConfig.time_limit,
        random_state: RandomState_ = SearchConfig.random_state,
        verbose: int = SearchConfig.verbose,
        error_score: str | float = SearchConfig.error_score,
        checkpoint: PathLike | None = SearchConfig.checkpoint,
        callbacks: list[Callable[..., Any]] | None = SearchConfig.callbacks,
    ) -> None:
        self.base = base
        self.metric = metric
        self.strategy = strategy
        self.n_trials = n_trials
        self.param_grid = param_grid
        self.constraint = constraint
        self.confidence = confidence
        self.calibration = calibration
        self.review = review
        self.threshold = threshold
        self.cv = cv
        self.refit = refit
        self.n_jobs = n_jobs
        self.engine = engine
        self.pos_label = pos_label
        self.null_class = null_class
        self.weighting = weighting
        self.normalize = normalize
        self.sample_weight_name = sample_weight_name
        self.min_gain = min_gain
        self.bound: Bound = bound
        self.bound_on = bound_on
        self.tol = tol
        self.time_limit = time_limit
        self.random_state = random_state
        self.verbose = verbose
        self.error_score = error_score
        self.checkpoint = checkpoint
        self.callbacks = callbacks

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Arguments of the search; with ``deep`` also the base's, or those of several models by their names.

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

    def set_params(self, **params: Any) -> CostSearch:
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

    @with_callbacks
    def fit(self, X: Samples, y: ArrayLike, sample_weight: ArrayLike | None = None, **fit_params: Any) -> CostSearch:
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
            negative, false positive, true positive and true negative costs.

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

    def _fit(
        self,
        X: Samples,
        y: ArrayLike,
        sample_weight: ArrayLike | None,
        fit_params: dict[str, Any],
        prepared: Prepared,
        max_bytes: int = MAX_BYTES,
    ) -> CostSearch:
        """`fit` with what other searches on the same samples and splits prepared, and a share of their memory."""
        self._forget()
        config = SearchConfig.of(self)
        deadline = None if config.time_limit is None else Deadline(config.time_limit)
        X, y = check_samples(X, y, sample_weight=sample_weight, **fit_params)
        given = {name: fit_params[name] for name in COSTS if fit_params.get(name) is not None}
        fit_params, costs = {name: each for name, each in fit_params.items() if name not in COSTS}, self._costs(given)
        if has_several_columns(y) and costs is None:
            config.refuse_review("y has several labels a sample")
            self._publish_fit(*LabelSearch(self, config, X, y, sample_weight, fit_params).fit(deadline))
            return self
        problem, codes = read_problem(config, y) if costs is None else RowProblem.read(config, costs, X, y, given)
        labels = problem.labels
        if labels.classes.size != 2:
            config.refuse_review(f"y has {labels.classes.size}")
        groups = read_groups(fit_params.get("groups"), codes.shape[0])
        task = Task(X, codes, problem.weights(sample_weight, codes), fit_params | given, labels, groups)
        task, calibration = (task, None) if config.confidence is None else calibration_split(config, task)
        if isinstance(problem, RowProblem):
            problem, task = problem.of_part(task)
        if is_prefit(config):
            (found, rule), refit_time = problem.prefit(config, task), 0.0
        else:
            found, rule, refit_time = self._searched(config, problem, task, prepared, deadline, max_bytes)
        if calibration is not None and config.constraint is not None:
            assert rule is not None, "confidence needs refit=True"
            # A constraint is one on two classes.
            found = certified(found, rule, calibration)  # pyright: ignore[reportArgumentType]
            rule = replace(rule, threshold=found.threshold)
        self._publish_fit(found, rule, refit_time, told_of_classes(labels) | {"class_count_": labels.count(codes)})
        if calibration is not None and config.limits_answers:
            given = {name: each for name, each in calibration.fit_params.items() if name in COSTS}
            known: Any = found
            bands = known.bands(config.review)
            rows = self._with_costs(given).leaning(calibration.X, bands.review, bands.extra_cost)
            own = Answered(rows, calibration.codes > 0, calibration.weight)
            self._bands = bands.limited(known.answered(bands), own, config.confidence)
        return self

    def _costs(self, given: Mapping[str, Any]) -> RowCosts | None:
        """Costs of rows, if they are searched; a TypeError for arguments that are no costs, or with another metric."""
        costs = row_costs(self.metric)
        if given and (costs is None or not set(given) <= set(COSTS)):
            raise TypeError(
                f"{', '.join(given)} cannot be given with metric={self.metric!r}; accepted: {', '.join(COSTS)}, with "
                "metric='savings', 'cost' or 'benefit', or a csf.metrics.RowCosts"
            )
        return costs

    def _searched(
        self,
        config: SearchConfig,
        problem: Problem,
        task: Task,
        prepared: Prepared,
        deadline: Deadline | None,
        max_bytes: int,
    ) -> tuple[Any, Any, float]:
        """Outcome of the search, what predicts with its winner, and the seconds of the last training."""
        fit_params, split_params = self._route(task.fit_params)
        plan = make_plan(config, problem, replace(task, fit_params=fit_params), split_params, prepared)
        plan = problem.weighed(config, plan) if isinstance(problem, RowProblem) else plan
        context = open_callback_context(self, max_subtasks=None)
        trainer = LocalTrainer(
            problem.judge(config),
            plan.trainers(),
            plan.folds,
            on_train=config.bound_on == "train",
            n_jobs=config.n_jobs,
            max_bytes=max_bytes,
        )
        data = plan.task.X, plan.task.codes, plan.task.weight, plan.splits, plan.task.fit_params
        data += (problem.table,) if isinstance(problem, RowProblem) else ()
        loop = SearchLoop(
            plan.studies,
            trainer,
            raise_errors=config.error_score == "raise",
            checkpoint=open_checkpoint(config, plan.bases, data, plan.studies),
            callbacks=list(config.callbacks or ()),
            context=context,
            verbose=config.verbose,
            deadline=deadline,
            # Trials of several models take their own times each.
            forecast=None if config.verbose or deadline is not None or len(plan.models) > 1 else Forecast(),
            # Multiples of its own C decide nothing about whether a base can be trained.
            n_settings=len(plan.models) if config.param_grid == AUTO else None,
            race=problem.race(config, plan, trainer.store),
        )
        stopped = loop.run()
        with threads_for([each for row in trainer.startables for each in row], config.n_jobs) or nullcontext():
            found = problem.conclude(config, plan, loop.store, stopped)
        if config.averages_folds:
            del loop, trainer
            result = _averaged(plan, problem, found)
            context.end()
            return result
        # The last training is the largest: what the folds and their trainers hold is let go before it.
        plan = replace(plan, folds=[])
        del loop, trainer
        rule, seconds = _refitted(plan, problem, found) if config.refit else (None, 0.0)
        context.end()
        return found, rule, seconds

    @property
    def threshold_(self) -> float | None:
        """``best_threshold_``, under its name in the classifiers of `csf.thresholding`."""
        return self.best_threshold_

    @property
    def estimator_(self) -> Estimator:
        """``best_estimator_``, under its name in the classifiers of `csf.thresholding`."""
        return self.best_estimator_

    def predict(self, X: Samples, at_most: float | None = None, **costs: Any) -> Array:
        """Labels by the winner and its threshold, or by the costs of each row.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Samples.
        at_most : int or float, default=None
            Largest number of samples that are predicted positive, an int >= 0, or their share of these samples, a float
            in (0, 1), rounded down. Of those that are predicted positive without it the ones with the largest expected
            gain stay, where errors have costs in each row, else those with the largest scores. The order of the samples
            does not matter: equals at the border are taken in an order that follows from their features alone, and
            prefers none of them.
        **costs : float or array-like of shape (n_samples,)
            ``fn_cost``, ``fp_cost``, ``tp_cost`` and ``tn_cost`` of these samples, where `fit` was given some. Without
            them one threshold on the probability decides, with a warning.

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_labels)
            Labels, as in ``classes_``; of several labels a sample 1 for those that are found, else 0.
        """
        rule = self._with_costs(costs)
        return rule.predict(X) if at_most is None else predict_within(rule, X, at_most)

    def decide(self, X: Samples, **costs: Any) -> Array:
        """Which of three answers costs least on average, where the search was given a ``review``.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Samples.
        **costs : float or array-like of shape (n_samples,)
            As for `predict`; `fit` was given some where they are needed.

        Returns
        -------
        ndarray of str, shape (n_samples,)
            ``"negative"``, ``"review"`` or ``"positive"``.

        Raises
        ------
        ValueError
            If the search has no ``review``.

        Examples
        --------
        >>> from sklearn.datasets import make_classification
        >>> from csf.metrics import Review
        >>> X, y = make_classification(2000, weights=[0.9], random_state=0)
        >>> options = {"param_grid": None, "n_trials": 1}
        >>> search = CostSearch(LogisticRegression(), review=Review(at_most=0.1), **options).fit(X, y)
        >>> answers = search.decide(X)
        >>> 0.05 < (answers == "review").mean() < 0.15
        True
        """
        bands = self._banded
        return bands.decide(self._with_costs(costs).leaning(X, bands.review, bands.extra_cost))

    @property
    def _banded(self) -> Bands:
        """What gets each of three answers."""
        self._of_one_search()
        if not hasattr(self, "_bands"):
            raise ValueError("this search was fitted without a third answer; give review=csf.metrics.Review(cost=...)")
        return self._bands

    @property
    def review_(self) -> Reviewed:
        """What the three answers are worth, from held-out scores; computed when it is first asked for."""
        bands = self._banded
        if "_reviewed" not in vars(self):
            found, ranked = self._outcome, self._ranked()
            answers = bands.decide(found.leaning(bands.review, bands.extra_cost))
            self._reviewed = reviewed(bands, answers, ranked, self.assess(), self._luck)
        return self._reviewed

    def at_capacity(self, at_most: float) -> Capacity:
        """What `predict` is worth with ``at_most``, from the held-out scores.

        Parameters
        ----------
        at_most : float
            Share of the rows that can be acted on, in (0, 1): 50 calls a day for 1000 customers are 0.05.

        Returns
        -------
        Capacity
            The ``value`` of the metric to expect and its ``interval``, the ``threshold``, the share of rows that are
            ``acted_on``, and what share of all that could be gained is ``captured``.

        Raises
        ------
        ValueError
            If there are several classes or labels, or the held-out scores have not been kept.

        Examples
        --------
        >>> from sklearn.datasets import make_classification
        >>> X, y = make_classification(2000, weights=[0.9], random_state=0)
        >>> search = CostSearch(LogisticRegression(), param_grid=None, n_trials=1).fit(X, y)
        >>> search.at_capacity(0.05).captured < search.at_capacity(0.1).captured
        True
        """
        ranked = self._ranked()
        return capacity_of(ranked, at_most, self.assess(), self._luck)

    def _ranked(self, **options: Any) -> Ranked:
        """The held-out entries as the winner ranks them."""
        found = self._of_one_search()
        if self.classes_.size != 2 or hasattr(self, "label_names_"):
            raise ValueError(
                f"y has the classes or labels {self.classes_.tolist()}, and capacities are those of two classes; "
                "search one of them against the rest"
            )
        return found.ranked(**options)

    @property
    def _luck(self) -> float:
        """What choosing trial and threshold added to the value of the winner."""
        return self.best_score_ - self.corrected_score_

    def score(self, X: Samples, y: ArrayLike, sample_weight: ArrayLike | None = None, **costs: Any) -> float:
        """Value of ``metric`` (not the accuracy) on new data, as scikit-learn's searches do.

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
        rule = self._with_costs(costs)
        if not isinstance(rule, RowRule):
            return super().score(X, y, sample_weight)
        # Before predicting, which can do without costs.
        rule.row_costs.table(X, **costs)
        options = {"sample_weight": sample_weight, "pos_label": self.pos_label_}
        return rule.row_costs.score(y, rule.predict(X), X, **options, **costs)

    def _with_costs(self, given: Mapping[str, Any]) -> Any:
        """What predicts, knowing the costs of the rows."""
        return self._predicting if self._costs(given) is None else replace(self._predicting, given=given)

    @available_if(_has_a_threshold)
    def score_samples(self, X: Samples) -> Array:
        """Scores that ``best_threshold_`` is for: `predict` is positive where they are at least that.

        They are on the scale of the base: ``decision_function`` of ``best_estimator_`` where it has one (LightGBM from
        4.7 on and HistGradientBoosting have, of raw margins), else its probability of the positive class.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Samples.

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_labels)
            Scores, larger for samples that look positive. With ``null_class`` they say how the best other class
            compares with that one, see Notes; with several labels a sample each has a column. With ``threshold=None``
            the base's own decision is positive above ``best_threshold_``, and not at it. Of several classes that are
            all alike none is compared with a threshold: the method is not there.
        """
        return self._predicting.score_samples(X)

    @available_if(_base_has_scores)
    def decision_function(self, X: Samples) -> Array:
        """Scores that say what `predict` does.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Samples.

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_classes)
            With two classes the score minus the threshold, above 0 exactly where the second of ``classes_`` is
            predicted. With more the scores of all classes as the winner gives them, except that the one of the null
            class is moved by the threshold, or as ``rule_`` moves them: the largest one is the class that is predicted.
        """
        return self._predicting.decision_function(X)

    @available_if(_base_has_scores)
    def threshold_curve(self, X: Samples, y: ArrayLike, sample_weight: ArrayLike | None = None) -> ThresholdCurve:
        """All thresholds on the score that ``best_threshold_`` is for, on new data.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Samples.
        y : array-like of shape (n_samples,)
            Labels, of ``classes_``.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights >= 0.

        Returns
        -------
        ThresholdCurve
            Error profile at each threshold, see `csf.thresholding.threshold_curve`.

        Raises
        ------
        ValueError
            If ``y`` has one class only, or labels that the search has not seen.
        """
        return self._predicting.curve(X, y, sample_weight)

    @available_if(base_has("predict_proba"))
    def predict_proba(self, X: Samples, **costs: Any) -> Array:
        """Class probabilities with the costs taken out again.

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
        return self._with_costs(costs).predict_proba(X)

    def _value(self, y: ArrayLike, predicted: Array, sample_weight: ArrayLike | None) -> float:
        if predicted.ndim == 2:
            return value_of_labels(self.metric, y, predicted, sample_weight)
        if isinstance(self._outcome, ClassOutcome):
            return self._outcome.value_of(y, predicted, self.classes_, sample_weight)
        return super()._value(y, predicted, sample_weight)

    def _errors(self, y: ArrayLike, predicted: Array, sample_weight: ArrayLike | None) -> ErrorProfile:
        return ErrorProfile.from_classes(y, predicted, null_class=self.null_class_, sample_weight=sample_weight)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = self.null_class is not None or serves_classes(self.metric)
        tags.classifier_tags.multi_label = is_label_metric(self.metric)
        return tags


def _averaged(plan: Plan, problem: Problem, found: Any) -> tuple[Any, Any, float]:
    """Outcome and rule of the mean of the models of all folds, and the seconds that their trainings took."""
    assert isinstance(problem, ThresholdProblem), "others are refused"
    start = time.perf_counter()
    found, mean = fold_mean(found, plan)
    return found, problem.rule_of_mean(found, mean), time.perf_counter() - start


def _refitted(plan: Plan, problem: Problem, found: Any) -> tuple[Any, float]:
    """What predicts with the winner trained on everything, and the seconds that took."""
    start = time.perf_counter()
    trainer = plan.final_trainer(found.winner.setting, judged=not isinstance(problem, RowProblem))
    with threads_for([trainer], found.config.n_jobs) or nullcontext():
        rule = problem.rule(found, trainer, trainer.fit(found.winner.costs))
    return rule, time.perf_counter() - start
