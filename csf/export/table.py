"""Linear winners of tables as what each column adds: numbers times a coefficient, texts a number each."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

from csf._common.files import write_json
from csf._common.typing import Array, Estimator, FloatArray, Label, PathLike
from csf.export._parts import decision, linear_part, scaling, steps_of
from csf.export.winner import winner_of
from csf.search import CostSearch

__all__ = ["NumberColumn", "TableRule", "TextColumn", "table_rule"]


@dataclass(frozen=True)
class NumberColumn:
    """A column of numbers adds ``coef`` times its number to the score, or ``missing`` where it has none.

    Parameters
    ----------
    coef : float
        What a unit adds.
    missing : float
        What a missing number adds; NaN where the model takes none.

    Examples
    --------
    >>> NumberColumn(coef=0.5, missing=20.0).part([10.0, float("nan")])
    array([ 5., 20.])
    """

    coef: float
    missing: float

    def part(self, values: ArrayLike) -> FloatArray:
        """What the values of the column add.

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

    def to_dict(self) -> dict[str, Any]:
        """Plain numbers.

        Returns
        -------
        dict
            ``coef`` and ``missing``, ``None`` where the model takes no missing numbers.
        """
        return {"coef": self.coef, "missing": None if np.isnan(self.missing) else self.missing}


@dataclass(frozen=True)
class TextColumn:
    """A column of texts adds a number for each text, or ``missing`` where it has none; unknown texts add nothing.

    Parameters
    ----------
    texts : dict of str to float
        What each text adds.
    missing : float
        What a missing text adds.

    Examples
    --------
    >>> TextColumn(texts={"Oslo": -1.5, "Rome": 2.0}, missing=0.25).part(["Rome", "Lima", None])
    array([2.  , 0.  , 0.25])
    """

    texts: dict[str, float]
    missing: float

    def part(self, values: ArrayLike) -> FloatArray:
        """What the values of the column add.

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

    def to_dict(self) -> dict[str, Any]:
        """Plain numbers and strings.

        Returns
        -------
        dict
            ``texts`` and ``missing``.
        """
        return {"texts": self.texts, "missing": self.missing}


@dataclass(frozen=True, eq=False)
class TableRule:
    """Predict ``positive`` where ``intercept`` and the parts of all columns reach ``threshold``, else ``negative``.

    Parameters
    ----------
    columns : dict of str to NumberColumn or TextColumn
        What each column adds, by its name.
    intercept : float
        What is added to each score.
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

    def score(self, table: Mapping[str, ArrayLike] | Any) -> FloatArray:
        """Scores.

        Parameters
        ----------
        table : DataFrame or dict of array-like
            Columns by their names; others do not matter.

        Returns
        -------
        ndarray of shape (n_samples,)
            ``intercept`` and what the columns add.
        """
        parts = [column.part(table[name]) for name, column in self.columns.items()]
        return np.sum(parts, axis=0) + self.intercept

    def predict(self, table: Mapping[str, ArrayLike] | Any) -> Array:
        """Labels.

        Parameters
        ----------
        table : DataFrame or dict of array-like
            Columns by their names; others do not matter.

        Returns
        -------
        ndarray of shape (n_samples,)
            ``positive`` where the score reaches the threshold.
        """
        return np.where(self.score(table) >= self.threshold, self.positive, self.negative)

    def to_dict(self) -> dict[str, Any]:
        """Plain numbers, strings and dicts.

        Returns
        -------
        dict
            One entry a parameter; an infinite threshold as the largest or smallest number there is.
        """
        return {
            "rule": "positive where intercept + the part of each column >= threshold, else negative; the part of a "
            "column is coef * number, or texts[text] (0 for unknown texts), or missing where there is none",
            "columns": {name: column.to_dict() for name, column in self.columns.items()},
            **decision(self),
        }

    def save(self, path: PathLike) -> None:
        """Write the rule as JSON, for any language.

        Parameters
        ----------
        path : path-like
            File to write.
        """
        write_json(path, self.to_dict())


def table_rule(search: CostSearch) -> TableRule:
    """The rule of a search on a table whose winner is linear.

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
        It predicts what the search does, but for scores that rounding moves over the threshold.

    Raises
    ------
    TypeError
        If the winner is not linear in its columns, or one of them is treated otherwise.
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
            f"the winner does not begin with a ColumnTransformer, but with {type(prepare).__name__}; a rule of "
            "features without names is csf.export.linear_rule(search)"
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
    return TableRule(columns, intercept, winner.threshold, winner.negative, winner.positive)


def _numbers(steps: list[Estimator], weights: FloatArray, n_columns: int) -> tuple[list[NumberColumn], float]:
    """Columns that are filled and scaled, and what all of them add to the intercept."""
    fills = np.full(n_columns, np.nan)
    if steps and isinstance(steps[0], SimpleImputer):
        imputer, *steps = steps
        if imputer.add_indicator or not _is_missing(imputer.missing_values):
            raise TypeError(f"no rule has what {imputer} does; fill NaN, without add_indicator")
        fills = np.asarray(imputer.statistics_, dtype=float)
    if weights.shape[0] != n_columns:
        raise TypeError(
            f"{', '.join(type(step).__name__ for step in steps)} makes {weights.shape[0]} features of {n_columns} "
            "columns, which has no rule; export the winner with csf.export.fixed_threshold"
        )
    shift = 0.0
    for scaler in reversed(steps):
        scale, moved = scaling(scaler, n_columns)
        shift += float(weights @ moved)
        weights = weights * scale
    return [NumberColumn(float(coef), float(coef * fill)) for coef, fill in zip(weights, fills)], shift


def _texts(encoder: OneHotEncoder, weights: FloatArray) -> Iterator[TextColumn]:
    """Columns of which each text has a coefficient."""
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


def _names(chosen: Any, prepare: ColumnTransformer) -> list[str]:
    """Names of chosen columns; the rest of a table may be chosen by place."""
    known = getattr(prepare, "feature_names_in_", ())
    names: list[Any] = [known[at] if type(at) is int and len(known) else at for at in chosen]
    wrong = [name for name in names if not isinstance(name, str)]
    if isinstance(chosen, str) or wrong:
        raise TypeError(f"columns must be chosen by lists of their names, got {chosen!r}; fit the search on a frame")
    return names
