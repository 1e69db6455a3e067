"""Rules as JSON, in one form: objects by the names of their fields, which one reader makes objects of again."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from dataclasses import fields
from typing import Any, TypeVar

import numpy as np

from csf._common.files import check_fields, reading, write_json
from csf._common.typing import Keywords, Params, PathLike
from csf.metrics import Review, RowCosts
from csf.thresholding.alerts import AlertLimit, WrongAlerts
from csf.thresholding.base import ScoredElsewhere
from csf.thresholding.capacity import LabelReviews, ReviewBands
from csf.thresholding.class_answers import ClassReviews
from csf.thresholding.cost_decisions import CostDecision
from csf.thresholding.label_rule import MultilabelRule
from csf.thresholding.linear_rule import ClassCalibrator, ClassProbabilityRule, MulticlassRule, Sigmoid
from csf.thresholding.row_costs import RowCostRule
from csf.thresholding.row_thresholds import RowThresholdRule
from csf.thresholding.rule import ThresholdRule
from csf.thresholding.segments import Segments, SegmentThresholds

# Of the form of files.
VERSION = 2
# What files hold, by the names of classes.
_RULES = (ThresholdRule, RowThresholdRule, RowCostRule, MulticlassRule, MultilabelRule)
_REVIEWS = (Review, ReviewBands, ClassReviews, LabelReviews)
_PARTS = (
    AlertLimit,
    WrongAlerts,
    ScoredElsewhere,
    SegmentThresholds,
    Segments,
    RowCosts,
    CostDecision,
    ClassProbabilityRule,
)
_KINDS: dict[str, Any] = {kind.__name__: kind for kind in (*_RULES, *_REVIEWS, *_PARTS, ClassCalibrator, Sigmoid)}
_Kind = TypeVar("_Kind", bound=type)


def in_files(kind: _Kind) -> _Kind:
    """Let files hold objects of a dataclass."""
    _KINDS[kind.__name__] = kind
    return kind


class SavedRule(ABC):
    """Rule that is written as JSON."""

    def __setstate__(self, state: Params) -> None:
        vars(self).update(state)
        check_fields(self)

    @property
    @abstractmethod
    def in_words(self) -> Params:
        """The rule in words, by the names of its fields."""

    def to_dict(self) -> Keywords:
        """Return the rule as plain numbers, strings, lists and dicts.

        Returns
        -------
        dict
            The rule in words, its fields, and the version of this form. An infinite number is the largest or smallest
            number there is, with which comparisons come out the same, and what is not known is ``None``.
        """
        return self.in_words | {"version": VERSION} | plain(self)

    def save(self, path: PathLike) -> None:
        """Write the rule as JSON, for use from any language; `csf.export.read_rule` reads it.

        Parameters
        ----------
        path : path-like
            File to write.
        """
        write_json(path, self.to_dict())


def plain(value: Any) -> Any:
    """Convert what a rule holds to JSON; what decides nothing, such as the demand it was tuned for, is a text."""
    kind = type(value).__name__
    if kind in _KINDS:
        return {"type": kind} | plain({field.name: getattr(value, field.name) for field in fields(value)})
    if hasattr(value, "to_dict"):
        return {"type": kind} | plain(value.to_dict())
    if isinstance(value, dict):
        return {str(name): plain(entry) for name, entry in value.items()}
    if getattr(value, "dtype", None) == np.float32:
        return {"type": "float32", "values": plain(value.astype(float))}
    if isinstance(value, (list, tuple, np.ndarray)):
        return [plain(entry) for entry in value]
    value = value.item() if isinstance(value, np.generic) else value
    if isinstance(value, float):
        return None if np.isnan(value) else float(np.nan_to_num(value))
    return value if isinstance(value, (str, int, type(None))) else str(value)


def restored(value: Any) -> Any:
    """Make objects of what `plain` returned."""
    if isinstance(value, list):
        return tuple(map(restored, value))
    if not isinstance(value, dict):
        is_infinite = isinstance(value, float) and abs(value) == np.finfo(float).max
        return float(np.copysign(np.inf, value)) if is_infinite else value
    known = {name: restored(entry) for name, entry in value.items()}
    kind = known.get("type")
    if not isinstance(kind, str):
        return known
    if kind == "float32":
        return np.array(known["values"], dtype=np.float32)
    if kind not in _KINDS:
        raise ValueError(f"no file holds what {kind} decides by; save the search itself by csf.save(search, path)")
    types = {field.name: str(field.type) for field in fields(_KINDS[kind]) if field.name in known}
    return _KINDS[kind](**{name: _typed(known[name], named) for name, named in types.items()})


def _typed(value: Any, named: str) -> Any:
    """Return a number or an array as the type of a field asks for it."""
    if value is None:
        return np.nan if named == "float" else None
    return np.array(value) if "Array" in named else value


def read_rule(path: PathLike) -> Any:
    """Read a rule that ``save`` of an exported rule wrote.

    Parameters
    ----------
    path : path-like
        File of JSON.

    Returns
    -------
    ScoreRule, LinearRule or TableRule
        What was saved.

    Raises
    ------
    ValueError
        If the file holds no rule, or one of another version of csf.

    Examples
    --------
    >>> import tempfile
    >>> from csf.export import LinearRule
    >>> rule = LinearRule(np.array([1.0, -2.0]), 0.5, 0.0, "no", "yes", None)
    >>> with tempfile.NamedTemporaryFile() as file:
    ...     rule.save(file.name)
    ...     read_rule(file.name).predict([[1.0, 0.0], [0.0, 1.0]])
    array(['yes', 'no'], dtype='<U3')
    """
    with reading(path, "a rule"):
        with open(path, encoding="utf-8") as file:
            record = json.load(file)
        if not isinstance(record, dict) or not {"words", "rule"} & record.keys():
            raise ValueError("it holds none; csf.export.decision_rule(search).save(path) writes rules")
        if record.get("version") != VERSION:
            raise ValueError(
                f"it is of version {record.get('version', 1)}, and this csf reads {VERSION}. Write it again by "
                "csf.export.decision_rule(search).save(path), or go by what it says in words"
            )
        return restored(record)
