"""Held-out data as a report takes them, and the tables of labels and answers that both kinds of pages show."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from csf._common.typing import Array, Estimator, Samples
from csf._validation import check_labels, check_samples, check_weights
from csf.report.facts import short, spread
from csf.report.markup import Cell, Markup, element, join, number, table

if TYPE_CHECKING:
    from csf.report.held_out import Judged

__all__ = ["HeldOut", "class_table", "confusion", "held_out", "judged_table"]

# More classes than this make no table that anyone reads.
MOST_CLASSES = 30


class HeldOut(NamedTuple):
    """Data that a search has not seen.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        Samples.
    y : ndarray of shape (n_samples,)
        Labels.
    weight : ndarray of shape (n_samples,) or None
        Weights.
    answers : dict of str to ndarray of shape (n_samples,)
        Labels predicted by the search, which comes first, and by its rivals.
    """

    X: Samples
    y: Array
    weight: Array | None
    answers: dict[str, Array]


def held_out(
    search: Estimator,
    X: Samples | None,
    y: ArrayLike | None,
    sample_weight: ArrayLike | None,
    rivals: Mapping[str, ArrayLike] | None,
) -> HeldOut | None:
    """Checked data of a report.

    Parameters
    ----------
    search : estimator
        Fitted search.
    X, y, sample_weight, rivals
        See `csf.report.write_report`.

    Returns
    -------
    HeldOut or None
        ``None`` without data.

    Raises
    ------
    ValueError
        If one of ``X`` and ``y`` is missing, lengths differ, or ``y`` holds labels that the search does not know.
    """
    if X is None and y is None:
        if rivals or sample_weight is not None:
            raise ValueError("rivals and sample_weight belong to held-out data: give X and y, which fit has not seen")
        return None
    if X is None or y is None:
        raise ValueError("give X and y together: samples that fit has not seen, and their labels")
    X, given = check_samples(X, y)
    labels, classes = check_labels(given)
    if not np.isin(classes, search.classes_).all():
        raise ValueError(f"y holds the labels {classes.tolist()}, the search knows {search.classes_.tolist()}")
    weight = check_weights(sample_weight, labels.shape[0])
    answers = {"this search": search.predict(X)}
    for name, predicted in (rivals or {}).items():
        predicted = np.asarray(predicted)
        if predicted.shape != labels.shape:
            raise ValueError(
                f"rivals[{name!r}] must be the labels that it predicts for X, of shape {labels.shape}; "
                f"got shape {predicted.shape}"
            )
        answers[str(name)] = predicted
    return HeldOut(X, labels, weight, answers)


def class_table(classes: Array, counts: Array, held: HeldOut | None, roles: Mapping[Any, str]) -> Markup:
    """How many samples of each class there are.

    Parameters
    ----------
    classes : ndarray of shape (n_classes,)
        Labels.
    counts : ndarray of int, shape (n_classes,)
        Samples that were learnt from.
    held : HeldOut or None
        Held-out data.
    roles : dict of label to str
        What a class is to the search.

    Returns
    -------
    Markup
        The table.
    """
    header = ["class", "role", "learnt from", *(["held out"] if held else [])]
    rows = []
    for at, label in enumerate(classes.tolist()):
        row = [Cell(short(label)), Cell(roles.get(label, "to be found"))]
        row += [_share(int(counts[at]), int(counts.sum()))]
        row += [] if held is None else [_share(int(np.sum(held.y == label)), held.y.shape[0])]
        rows.append(row)
    return table("Samples of each class", header, rows, names=2)


def _share(count, total):
    return Cell(f"{count:,} ({count / total:.1%})".replace(",", "\u202f"), count)


def judged_table(metric_name: str, judged: Sequence[Judged]) -> Markup:
    """Held-out results beside those of rivals.

    Parameters
    ----------
    metric_name : str
        The metric.
    judged : sequence of Judged
        The search first.

    Returns
    -------
    Markup
        The table.
    """
    rivals = len(judged) > 1
    header = ["method", metric_name, "90 % of resamples", *(["this search is ahead by", "90 %"] if rivals else [])]
    rows = []
    for at, one in enumerate(judged):
        row = [Cell(short(one.name)), number(one.value), Cell(spread(one.interval))]
        if rivals:
            row += [number(one.difference if at else None, "+.3f")]
            row += [Cell(spread(one.difference_interval, "+.3f") if at else "–")]
        rows.append(row)
    return table("Held-out result", header, rows, marked=0)


def confusion(classes: Array, held: HeldOut) -> Markup:
    """Confusion matrix of the search on held-out data.

    Parameters
    ----------
    classes : ndarray of shape (n_classes,)
        Labels.
    held : HeldOut
        The data.

    Returns
    -------
    Markup
        The matrix, in samples (in weights, where there are some), with shares of each true class.
    """
    if classes.shape[0] > MOST_CLASSES:
        return element("p", f"{classes.shape[0]} classes are too many for a table of true and predicted ones.")
    predicted = next(iter(held.answers.values()))
    weight = np.ones(held.y.shape[0]) if held.weight is None else held.weight
    names = [short(label, 40) for label in classes.tolist()]
    heads = [element("th", "truth \\ predicted", scope="col")]
    heads += [element("th", name, scope="col", class_="n") for name in names]
    body = []
    for true, name in zip(classes, names):
        row = [float(weight[(held.y == true) & (predicted == label)].sum()) for label in classes]
        total = sum(row)
        cells = [element("th", name, scope="row")]
        for label, count in zip(classes, row):
            kind = "n right" if label == true else "n wrong" if count else "n"
            share = f" ({count / total:.1%})" if count else ""
            cells.append(element("td", f"{count:.6g}{share}", class_=kind))
        body.append(element("tr", *cells))
    caption = "Confusion matrix at the cut, held-out data" + ("" if held.weight is None else ", in sample weights")
    whole = element(
        "table", element("caption", caption), element("thead", element("tr", *heads)), element("tbody", *body)
    )
    return join([element("div", whole, class_="scroll", tabindex="0", role="region", aria_label=caption)])
