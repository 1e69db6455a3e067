"""Linear winners as rules: coefficients of the features, or contributions of each column of a table."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import logit
from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import FunctionTransformer, MaxAbsScaler, MinMaxScaler, OneHotEncoder, StandardScaler
from sklearn.utils.validation import check_is_fitted

from csf._common.typing import Array, Estimator, FloatArray, Label, Params, Samples
from csf.export.records import SavedRule, in_files
from csf.search import CostSearch


class Winner(NamedTuple):
    """Estimator and threshold of a search, the labels of the user and of the estimator, and the method that scores."""

    estimator: Estimator
    threshold: float
    positive: Label
    negative: Label
    known_positive: Label
    known_negative: Label
    method: str

    @property
    def margin(self) -> float:
        """Threshold on the margin of a linear model, even where the score is a probability."""
        return self.threshold if self.method == "decision_function" else float(logit(np.clip(self.threshold, 0.0, 1.0)))


def fitted_winner(search: CostSearch) -> None:
    """Raise an error unless ``search`` is a cost search with a fitted winner."""
    if not isinstance(search, CostSearch):
        raise TypeError(f"search must be a fitted csf.CostSearch, got {search!r}")
    check_is_fitted(search, "trials_")
    if not hasattr(search, "best_estimator_"):
        raise ValueError(
            "this CostSearch was fitted with refit=False and has no model to export; use refit=True, or save bestModel "
            "after a search on Spark"
        )


def winner_of(search: CostSearch) -> Winner:
    """Return the winner of a fitted search of two classes.

    Parameters
    ----------
    search : CostSearch
        Fitted with ``refit=True``.

    Returns
    -------
    Winner
        The estimator, its threshold and the labels.

    Raises
    ------
    sklearn.exceptions.NotFittedError
        If the search is not fitted.
    TypeError
        If it is no search, or its winner has no scores.
    ValueError
        If it has several classes or labels, or was fitted with ``refit=False``.
    """
    fitted_winner(search)
    rule = search.decision_rule_
    if rule.more_than_threshold is not None:
        raise ValueError(
            f"the search knows {rule.more_than_threshold}; a single threshold separates two classes. Export "
            "best_estimator_, and with csf.export.decision_rule(search) the rule for its scores"
        )
    names, known = rule.names.tolist(), rule.known.tolist()
    index = names.index(search.pos_label_)
    return Winner(
        rule.estimator,
        float(rule.cut),
        names[index],
        names[1 - index],
        known[index],
        known[1 - index],
        str(rule.method),
    )


class BinaryRule(SavedRule):
    """Rule that predicts ``positive`` where the score reaches the threshold."""

    threshold: float
    negative: Label
    positive: Label

    @abstractmethod
    def score(self, X: Samples) -> FloatArray:
        """Compute the scores of samples."""

    def predict(self, X: Samples) -> Array:
        """Predict labels.

        Parameters
        ----------
        X : array-like, sparse matrix, DataFrame or dict of array-like
            Samples, as for ``score``.

        Returns
        -------
        ndarray of shape (n_samples,)
            ``positive`` where the score reaches the threshold.
        """
        return np.where(self.score(X) >= self.threshold, self.positive, self.negative)


@in_files
@dataclass(frozen=True, eq=False)
class LinearRule(BinaryRule):
    """Rule that predicts ``positive`` where ``X @ coef + intercept >= threshold``, else ``negative``.

    Parameters
    ----------
    coef : ndarray of shape (n_features,)
        Coefficients of the raw features: they include any scaling.
    intercept : float
        Constant added to each score.
    threshold : float
        The threshold, maybe infinite.
    negative, positive : label
        The classes.
    features : list of str or None
        Names of the features, where they are known.

    Examples
    --------
    >>> rule = LinearRule(np.array([1.0, -2.0]), 0.5, 0.0, "no", "yes", None)
    >>> rule.predict([[1.0, 0.0], [0.0, 1.0]])
    array(['yes', 'no'], dtype='<U3')
    """

    coef: FloatArray
    intercept: float
    threshold: float
    negative: Label
    positive: Label
    features: list[str] | None

    def score(self, X: Samples) -> FloatArray:
        """Compute the scores of samples.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Samples.

        Returns
        -------
        ndarray of shape (n_samples,)
            ``X @ coef + intercept``.
        """
        X = X if hasattr(X, "tocsr") else np.asarray(X, dtype=float)
        return np.asarray(X @ self.coef).ravel() + self.intercept

    @property
    def in_words(self) -> Params:
        """The rule in words."""
        return {"words": "positive where sum(coef * features) + intercept >= threshold, else negative"}


def linear_rule(search: CostSearch) -> LinearRule:
    """Convert the linear winner of a search to a rule.

    Parameters
    ----------
    search : CostSearch
        Fitted, of two classes. The base has ``coef_`` and ``intercept_``, and may be the end of a pipeline of
        StandardScaler, MinMaxScaler (without ``clip``) and MaxAbsScaler.

    Returns
    -------
    LinearRule
        It predicts what the search does, except for scores that rounding moves across the threshold.

    Raises
    ------
    TypeError
        If the winner is not linear in the features.
    ValueError
        If the search has several classes, or no fitted winner.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from sklearn.svm import LinearSVC
    >>> X, y = load_digits(return_X_y=True)
    >>> search = CostSearch(LinearSVC(), n_trials=3, cv=3).fit(X, y == 8)
    >>> rule = linear_rule(search)
    >>> rule.coef.shape, bool((rule.predict(X) == search.predict(X)).all())
    ((64,), True)
    """
    winner = winner_of(search)
    coef, intercept = linear_part(winner.estimator, winner)
    names = getattr(search, "feature_names_in_", None)
    features = None if names is None else [str(name) for name in names]
    return LinearRule(coef, intercept, winner.margin, winner.negative, winner.positive, features)


@in_files
@dataclass(frozen=True)
class NumberColumn:
    """Column of numbers: each adds ``coef`` times its value to the score, a missing one adds ``missing``.

    Parameters
    ----------
    coef : float
        Contribution of one unit.
    missing : float
        Contribution of a missing number; NaN where the model does not accept them.

    Examples
    --------
    >>> NumberColumn(coef=0.5, missing=20.0).part([10.0, float("nan")])
    array([ 5., 20.])
    """

    coef: float
    missing: float

    def part(self, values: ArrayLike) -> FloatArray:
        """Compute the contributions of the column's values to the scores.

        Parameters
        ----------
        values : array-like of shape (n_samples,)
            Numbers; NaN where they are missing.

        Returns
        -------
        ndarray of shape (n_samples,)
            Parts of the scores.
        """
        numbers = np.asarray(values, dtype=float)
        return np.where(np.isnan(numbers), self.missing, self.coef * numbers)


@in_files
@dataclass(frozen=True)
class TextColumn:
    """Column of texts: each known text adds a number to the score, a missing one adds ``missing``, others add nothing.

    Parameters
    ----------
    texts : dict of str to float
        Contribution of each text.
    missing : float
        Contribution of a missing text.

    Examples
    --------
    >>> TextColumn(texts={"Oslo": -1.5, "Rome": 2.0}, missing=0.25).part(["Rome", "Lima", None])
    array([2.  , 0.  , 0.25])
    """

    texts: dict[str, float]
    missing: float

    def part(self, values: ArrayLike) -> FloatArray:
        """Compute the contributions of the column's values to the scores.

        Parameters
        ----------
        values : array-like of shape (n_samples,)
            Texts; ``None`` or NaN where they are missing.

        Returns
        -------
        ndarray of shape (n_samples,)
            Parts of the scores.
        """
        entries = np.asarray(values, dtype=object).tolist()
        return np.array([self.missing if _is_missing(entry) else self.texts.get(entry, 0.0) for entry in entries])


@in_files
@dataclass(frozen=True, eq=False)
class TableRule(BinaryRule):
    """Rule that predicts ``positive`` where ``intercept`` plus all columns' contributions reach ``threshold``.

    Parameters
    ----------
    columns : dict of str to NumberColumn or TextColumn
        Contribution of each column, by its name.
    intercept : float
        Constant added to each score.
    threshold : float
        The threshold, maybe infinite.
    negative, positive : label
        The classes.

    Examples
    --------
    >>> columns = {"age": NumberColumn(0.5, 20.0), "city": TextColumn({"Oslo": -1.5, "Rome": 2.0}, 0.0)}
    >>> rule = TableRule(columns, intercept=-10.0, threshold=0.0, negative="stay", positive="churn")
    >>> rule.predict({"age": [18.0, 30.0], "city": ["Rome", "Oslo"]})
    array(['churn', 'churn'], dtype='<U5')
    """

    columns: dict[str, NumberColumn | TextColumn]
    intercept: float
    threshold: float
    negative: Label
    positive: Label

    def score(self, X: Mapping[str, ArrayLike] | Samples) -> FloatArray:
        """Compute the scores of samples.

        Parameters
        ----------
        X : DataFrame or dict of array-like
            Columns by their names; others are ignored.

        Returns
        -------
        ndarray of shape (n_samples,)
            ``intercept`` plus the contributions of the columns.
        """
        parts = [column.part(X[name]) for name, column in self.columns.items()]
        return np.sum(parts, axis=0) + self.intercept

    @property
    def in_words(self) -> Params:
        """The rule in words."""
        words = (
            "positive where intercept + the part of each column >= threshold, else negative; the part of a column is "
            "coef * number, or texts[text] (0 for unknown texts), or missing where there is none"
        )
        return {"words": words}


def table_rule(search: CostSearch) -> TableRule:
    """Convert the linear winner of a search on a table to a rule.

    Parameters
    ----------
    search : CostSearch
        Fitted, of two classes. The base is a pipeline of a ColumnTransformer and a classifier with ``coef_`` and
        ``intercept_``; the columns, named by texts, go through SimpleImputer and scalers as in
        `csf.export.linear_rule`, or through OneHotEncoder with ``handle_unknown="ignore"``. Searches of tables by
        ``csf search`` are like that where the base is linear.

    Returns
    -------
    TableRule
        It predicts what the search does, except for scores that rounding moves across the threshold.

    Raises
    ------
    TypeError
        If the winner is not linear in its columns, or one of them is processed in another way.
    ValueError
        If the search has several classes, or no fitted winner.

    Examples
    --------
    >>> import pandas as pd
    >>> from sklearn.linear_model import LogisticRegression
    >>> table = pd.DataFrame({"city": ["Oslo", "Rome", "Lima"] * 40, "age": range(120)})
    >>> y = (table["city"] == "Rome") & (table["age"] > 30)
    >>> coded = ColumnTransformer([("city", OneHotEncoder(handle_unknown="ignore"), ["city"])], remainder="passthrough")
    >>> search = CostSearch(make_pipeline(coded, LogisticRegression()), n_trials=3, cv=3).fit(table, y)
    >>> rule = table_rule(search)
    >>> sorted(rule.columns), bool((rule.predict(table) == search.predict(table)).all())
    (['age', 'city'], True)
    """
    winner = winner_of(search)
    prepare, *rest = steps_of(winner.estimator)
    if not isinstance(prepare, ColumnTransformer) or not rest:
        raise TypeError(
            f"the winner starts with {type(prepare).__name__}, not with a ColumnTransformer; "
            "csf.export.linear_rule(search) exports a rule for features without names"
        )
    coef, intercept = linear_part(make_pipeline(*rest), winner)
    columns: dict[str, NumberColumn | TextColumn] = {}
    for name, transformer, chosen in prepare.transformers_:
        if len(chosen) == 0 or (isinstance(transformer, str) and transformer == "drop"):
            continue
        names, weights = _names(chosen, prepare), coef[prepare.output_indices_[name]]
        steps = steps_of(transformer)
        if len(steps) == 1 and isinstance(steps[0], OneHotEncoder):
            parts, shift = _texts(steps[0], weights), 0.0
        else:
            parts, shift = _numbers(steps, weights, len(names))
        intercept += shift
        columns |= dict(zip(names, parts))
    return TableRule(columns, intercept, winner.margin, winner.negative, winner.positive)


def _numbers(steps: list[Estimator], weights: FloatArray, n_columns: int) -> tuple[list[NumberColumn], float]:
    """Return the columns that are imputed and scaled, and their total contribution to the intercept."""
    fills = np.full(n_columns, np.nan)
    if steps and isinstance(steps[0], SimpleImputer):
        imputer, *steps = steps
        if imputer.add_indicator or not _is_missing(imputer.missing_values):
            raise TypeError(f"no rule has what {imputer} does; fill NaN, without add_indicator")
        fills = np.asarray(imputer.statistics_, dtype=float)
    if weights.shape[0] != n_columns:
        raise TypeError(
            f"csf cannot write {', '.join(type(step).__name__ for step in steps)} as a rule, because it makes "
            f"{weights.shape[0]} features of {n_columns} columns; export the winner with csf.export.fixed_threshold"
        )
    shift = 0.0
    for scaler in reversed(steps):
        scale, offset = scaling(scaler, n_columns)
        shift += float(weights @ offset)
        weights = weights * scale
    return [NumberColumn(float(coef), float(coef * fill)) for coef, fill in zip(weights, fills)], shift


def _texts(encoder: OneHotEncoder, weights: FloatArray) -> Iterator[TextColumn]:
    """Yield the one-hot encoded columns, with a coefficient for each text."""
    limits = encoder.drop, encoder.min_frequency, encoder.max_categories
    if encoder.handle_unknown != "ignore" or limits != (None, None, None):
        raise TypeError(
            f'no rule has what {encoder} does; use OneHotEncoder(handle_unknown="ignore") without drop and limits'
        )
    start = 0
    for known in encoder.categories_:
        entries = list(zip(known.tolist(), weights[start : start + len(known)].tolist()))
        start += len(known)
        wrong = [text for text, _ in entries if not isinstance(text, str) and not _is_missing(text)]
        if wrong:
            raise TypeError(f"categories must be texts to have a rule, {wrong[0]!r} is none; turn them into texts")
        missing = sum(weight for text, weight in entries if _is_missing(text))
        yield TextColumn({text: weight for text, weight in entries if isinstance(text, str)}, float(missing))


def _is_missing(entry: object) -> bool:
    return entry is None or (isinstance(entry, float) and np.isnan(entry))


def _names(chosen: Sequence[object] | str, prepare: ColumnTransformer) -> list[str]:
    """Return the names of the chosen columns; the remainder of a table may be chosen by index."""
    known = getattr(prepare, "feature_names_in_", ())
    columns = [known[column] if type(column) is int and len(known) else column for column in chosen]
    names = [name for name in columns if isinstance(name, str)]
    if isinstance(chosen, str) or len(names) < len(columns):
        raise TypeError(f"columns must be chosen by lists of their names, got {chosen!r}; fit the search on a frame")
    return names


# ---------------------------------------------------------------- what pipelines are made of


def steps_of(estimator: Estimator) -> list[Estimator]:
    """Return the steps of a pipeline that are no identity; any other estimator counts as a single step."""
    steps = [step for _, step in estimator.steps] if isinstance(estimator, Pipeline) else [estimator]
    return [step for step in steps if not _does_nothing(step)]


def _does_nothing(step: Estimator) -> bool:
    """Check for an identity step, such as the FunctionTransformer without a function that ColumnTransformer inserts."""
    return step is None or step == "passthrough" or (isinstance(step, FunctionTransformer) and step.func is None)


def linear_part(estimator: Estimator, winner: Winner) -> tuple[FloatArray, float]:
    """Return coefficients and intercept of scores that increase with the probability of the positive class."""
    coef, intercept = affine(estimator)
    if winner.estimator.classes_.tolist()[0] == winner.known_positive:  # scores are those of the second class
        return -coef, -intercept
    return coef, intercept


def affine(estimator: Estimator) -> tuple[FloatArray, float]:
    """Return coefficients and intercept in the features that an estimator is given."""
    *scalers, last = steps_of(estimator)
    if isinstance(last, Pipeline):
        coef, intercept = affine(last)
    elif np.shape(getattr(last, "coef_", 0.0))[:1] != (1,) or not hasattr(last, "decision_function"):
        raise TypeError(
            f"{type(last).__name__} is no linear classifier of two classes; export it with csf.export.fixed_threshold"
        )
    else:
        coef = last.coef_.toarray() if hasattr(last.coef_, "toarray") else last.coef_
        coef, intercept = np.asarray(coef, dtype=float).ravel(), float(np.ravel(last.intercept_)[0])
    for scaler in reversed(scalers):
        scale, shift = scaling(scaler, coef.shape[0])
        intercept += float(coef @ shift)
        coef = coef * scale
    return coef, intercept


def scaling(scaler: Estimator, n_features: int) -> tuple[FloatArray, FloatArray]:
    """Return the factor and then the offset that a scaler applies to each feature."""
    ones, zeros = np.ones(n_features), np.zeros(n_features)
    if isinstance(scaler, StandardScaler):
        scale = ones if scaler.scale_ is None else ones / np.asarray(scaler.scale_)
        return scale, -np.asarray(scaler.mean_) * scale if scaler.with_mean else zeros
    if isinstance(scaler, MinMaxScaler) and not scaler.clip:
        return np.asarray(scaler.scale_), np.asarray(scaler.min_)
    if isinstance(scaler, MaxAbsScaler) and not getattr(scaler, "clip", False):
        return ones / np.asarray(scaler.scale_), zeros
    raise TypeError(
        f"the winner is not linear in the features: {type(scaler).__name__} comes before it. Export it with "
        "csf.export.fixed_threshold"
    )
