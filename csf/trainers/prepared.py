"""What trainers of several settings on the same folds have in common."""

from __future__ import annotations

from collections.abc import Iterator, MutableMapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from csf._common.typing import IntArray, Samples
from csf.data.responses import Features

__all__ = ["FittedSteps", "Prepared", "Steps"]


@dataclass(frozen=True, eq=False)
class Steps:
    """Steps of a pipeline before its last one, fitted to a training part, and what they make of all rows."""

    fitted: list[tuple[str, Any]]
    # The rows to train on come first.
    X: Samples
    # What trainers of the last step have in common.
    prepared: Prepared


@dataclass(frozen=True, eq=False)
class FittedSteps:
    """Fitted steps of all folds, and how a later setting finds out that they are its own."""

    # Hash of the unfitted steps.
    key: str
    splits: list[tuple[IntArray, IntArray]]
    # One for each fold; None where they fail on the data.
    steps: list[Steps] | None

    def serve(self, key: str | None, splits: list[tuple[IntArray, IntArray]]) -> bool:
        """Whether these are the steps with this key, fitted on the same splits."""
        return (
            key == self.key
            and len(splits) == len(self.splits)
            and all(
                np.array_equal(own, other)
                for pair, others in zip(self.splits, splits)
                for own, other in zip(pair, others)
            )
        )


@dataclass(eq=False)
class Prepared(MutableMapping[str, Any]):
    """What is made of the samples once, by the first trainers that need it, for all settings and classes.

    Makers of your own keep what they like in it, as in a dict.

    Parameters
    ----------
    labels : ndarray of int, shape (n_samples,), default=None
        What the steps of a pipeline before its last one are fitted to, where several problems on the same samples
        share them; ``None`` fits them to the targets.
    matrix : ndarray or CSR, default=None
        Samples as linear models read them.
    features : Features
        What linear models keep of the features.
    steps : list of FittedSteps
        Steps of pipelines that were fitted.
    kept : dict
        What makers of your own keep.

    Examples
    --------
    >>> prepared = Prepared()
    >>> prepared["mine"] = 3
    >>> "mine" in prepared, len(prepared)
    (True, 1)
    """

    labels: IntArray | None = None
    matrix: Samples | None = None
    features: Features = field(default_factory=Features)
    steps: list[FittedSteps] = field(default_factory=list)
    kept: dict[str, Any] = field(default_factory=dict)

    @classmethod
    def of(cls, shared: MutableMapping[str, Any] | None) -> Prepared:
        """The record that a caller keeps between calls: itself, or inside a dict of the caller's; or a new one."""
        if isinstance(shared, Prepared):
            return shared
        return cls() if shared is None else shared.setdefault("csf", cls())

    def __getitem__(self, name: str) -> Any:
        return self.kept[name]

    def __setitem__(self, name: str, value: Any) -> None:
        self.kept[name] = value

    def __delitem__(self, name: str) -> None:
        del self.kept[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.kept)

    def __len__(self) -> int:
        return len(self.kept)
