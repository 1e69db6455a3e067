"""Reports as web pages: of a fitted search, and of several methods on the same splits."""

from __future__ import annotations

import base64
import hashlib
import io
import os
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from importlib.resources import files
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from csf._common import __version__
from csf._common.files import replaced
from csf._common.typing import Array, Axes, PathLike, Samples
from csf.metrics.registry import truth_of
from csf.plots.decisions import reviewed_in_words
from csf.plots.words import base_name, digits, short, spread, strategy_name, target_name
from csf.report.checks import check_codes, summary_of
from csf.report.facts import Cell, Facts, Table
from csf.report.held_out import (
    confusion,
    held_out,
    label_scores,
    matrix_of,
    scores_out_of_fold,
    values_by_group,
)
from csf.report.kinds import UPPER_BOUND, facts_of, is_tuned
from csf.search.kinds import is_search

if TYPE_CHECKING:
    from jinja2 import Environment

    from csf.search import CostSearch


def write_report(
    search: CostSearch,
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
    """Write the results of a fitted search as one web page.

    The page is self-contained: it loads nothing, can be sent by mail and printed, and has a light and a dark theme.

    Parameters
    ----------
    search : CostSearch
        Fitted, with ``refit=True`` where data are given.
    path : path-like
        File to write, such as ``"report.html"``.
    X : array-like of shape (n_samples, n_features), default=None
        Samples that ``fit`` has not seen, to judge the winner on. ``None`` shows what the search itself knows.
    y : array-like of shape (n_samples,) or (n_samples, n_labels), default=None
        Their labels.
    sample_weight : array-like of shape (n_samples,), default=None
        Their weights >= 0.
    groups : array-like of shape (n_samples,), default=None
        What rows belong together by, such as the hospital: intervals then allow for the chance in groups. The page has
        the value in each of up to 50 groups.
    rivals : dict of str to array-like, default=None
        Labels, in the shape of ``y``, that other classifiers predict for ``X``, by their names.
    title : str, default=None
        Heading; ``None`` names the metric and the base.
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
    TypeError
        If ``search`` is no search.
    ValueError
        If data or rivals do not fit the search, ``mute`` holds an unknown code, or the file is called like one of
        another format.

    Examples
    --------
    >>> import os, tempfile
    >>> from sklearn.datasets import load_digits
    >>> from sklearn.svm import LinearSVC
    >>> X, y = load_digits(return_X_y=True)
    >>> from csf import CostSearch
    >>> search = CostSearch(LinearSVC(), n_trials=3, cv=3).fit(X[:900], y[:900] == 8)
    >>> path = os.path.join(tempfile.mkdtemp(), "report.html")
    >>> write_report(search, path, X[900:], y[900:] == 8)
    >>> os.path.getsize(path) < 3_000_000
    True
    """
    check_page(path)  # before all that is drawn
    check_codes(mute)
    if not is_search(search):
        raise TypeError(f"search must be a fitted csf.CostSearch, got {search!r}")
    check_is_fitted(search, "best_score_")
    held = held_out(search, X, y, sample_weight, rivals, given=costs, groups=groups)
    write_facts(path, facts_of(search, held), title=title, about=facts or {}, mute=mute)


# ---------------------------------------------------------------- what the page of a search shows


# A page of more rows is too heavy; the best ones are shown.
MOST_ROWS = 1000


def write_facts(
    path: PathLike, known: Facts, *, title: str | None, about: Mapping[str, str], mute: Collection[str] = ()
) -> None:
    """Write what a search has learnt as one web page, with further facts ``about`` it; see `write_report`."""
    search = known.search
    # Splits may be given as arrays of row numbers, which tell nobody anything.
    arguments = [
        (key, short(" ".join(repr(value).split()), 300)) for key, value in search.get_params(deep=False).items()
    ]
    write_page(
        path,
        known.template,
        title=title or "Cost search",
        lead="",
        known=known,
        search=search,
        summary=summary_of(known, mute),
        drawn=partial(_drawn, known),
        estimated=truth_of(search.metric) is not None,
        arguments=arguments,
        facts=[(str(name), str(value)) for name, value in about.items()],
        muted=sorted(mute),
    )


def _drawn(known: Facts, name: str, height: float = 4.6) -> Drawn:
    """Draw one of the figures of a search."""
    return figure(name, known.figures[name], size=(7.2, height))


def _shown_trials(known: Facts) -> list[tuple[int, str, list[tuple[Cell, str]]]]:
    """Return place, state and cells of the trials to show, the winner first and then by rank."""
    won, trials = known.search.best_index_, known.search.trials_
    order = np.argsort(known.search.cv_results_["rank_test_score"], kind="stable").tolist()[:MOST_ROWS]
    cells = Table("", known.trial_columns).rows
    places = dict.fromkeys([won, *order])
    return [(place, "winner" if place == won else trials[place].state, cells[place]) for place in places]


# ---------------------------------------------------------------- several methods on the same splits


@dataclass(frozen=True, eq=False)
class Comparison:
    """Results of one method on all splits.

    Parameters
    ----------
    method : str
        Its name.
    values : ndarray of shape (n_splits,)
        The metric on the held-out parts.
    difference, error : float
        Mean of the paired differences to the reference and its standard error; NaN where unknown.
    rate : float
        Mean of the constrained rate; NaN without a constraint.
    seconds : float
        Mean time per split.
    interval : tuple of float, default=None
        Exact 90 % interval of the metric, of a single split.

    Examples
    --------
    >>> Comparison("plain", np.array([0.5, 0.7]), -0.1, 0.02, np.nan, 0.2).method
    'plain'
    """

    method: str
    values: Array
    difference: float
    error: float
    rate: float
    seconds: float
    interval: tuple[float, float] | None = None

    @property
    def mean(self) -> float:
        """Mean of the metric over splits."""
        return float(self.values.mean())

    @property
    def deviation(self) -> float:
        """Standard deviation of the metric over splits; NaN of a single one."""
        return float(self.values.std(ddof=1)) if self.values.size > 1 else np.nan


def write_comparison(
    path: PathLike,
    outcomes: Sequence[Comparison],
    *,
    metric_name: str,
    reference: str,
    facts: Mapping[str, str],
    notes: Sequence[str] = (),
) -> None:
    """Write a comparison as one web page.

    Parameters
    ----------
    path : path-like
        File to write.
    outcomes : sequence of Comparison
        The methods, in the order of the page.
    metric_name : str
        What was measured.
    reference : str
        Method that the others are compared with; its difference is not shown.
    facts : dict of str to str
        The settings and the data.
    notes : sequence of str, default=()
        Notes below the table.

    Raises
    ------
    ValueError
        If there is no method, or none is called like the reference.

    Examples
    --------
    >>> import os, tempfile
    >>> path = os.path.join(tempfile.mkdtemp(), "comparison.html")
    >>> plain = Comparison("plain", np.array([0.5, 0.7]), 0.0, 0.0, np.nan, 0.2)
    >>> write_comparison(path, [plain], metric_name="f1", reference="plain", facts={})
    >>> os.path.getsize(path) > 1000
    True
    """
    if reference not in [one.method for one in outcomes]:
        raise ValueError(f"reference must be a method of outcomes, got {reference!r}")
    best = max(outcomes, key=lambda one: one.mean)
    write_page(
        path,
        "comparison.html.j2",
        title="Comparison of methods",
        lead=f"{best.method} has the highest mean {metric_name} of {len(outcomes)} methods: {best.mean:.3f} "
        f"over {best.values.shape[0]} splits into training and held-out samples.",
        metric=str(metric_name),
        reference=reference,
        best=best,
        constrained=any(np.isfinite(one.rate) for one in outcomes),
        outcomes=outcomes,
        splits=figure(
            "splits", lambda ax: draw_outcomes(ax, outcomes, metric_name), size=(7.2, 1.2 + 0.4 * len(outcomes))
        ),
        to_mind=_notes(outcomes, reference, best, notes),
        facts=[(str(name), str(value)) for name, value in facts.items()],
    )


def draw_outcomes(ax: Axes, outcomes: Sequence[Comparison], metric_name: str) -> None:
    """Draw the values of methods on all splits, and their means."""
    for place, one in enumerate(outcomes):
        ax.plot(one.values, [place] * one.values.shape[0], "o", color="#6b6b6b", alpha=0.5, markersize=4, zorder=1)
        ax.plot(one.mean, place, "|", color="#0072b2", markersize=18, markeredgewidth=2.5, zorder=2)
    ax.set_yticks(range(len(outcomes)), [short(one.method, 40) for one in outcomes])
    ax.invert_yaxis()
    ax.set_xlabel(f"{metric_name} on held-out data (points: splits, bars: means)")
    ax.grid(axis="x", color="#d9d9d9")
    ax.set_axisbelow(True)
    ax.spines[["top", "right", "left"]].set_visible(False)
    ax.tick_params(left=False)


def _notes(outcomes: Sequence[Comparison], reference: str, best: Comparison, notes: Sequence[str]) -> list[str]:
    texts = []
    if best.method != reference and np.isfinite(best.error) and best.difference < 2 * best.error:
        texts.append(
            f"{best.method} is ahead of {reference} by {best.difference:+.3f} ± {best.error:.3f}, less than two "
            "standard errors: it may be chance, and the simpler method will do."
        )
    if best.values.shape[0] < 5:
        texts.append(f"{best.values.shape[0]} splits are few: add some (--splits) before you decide.")
    return [*texts, *map(str, notes)]


# ---------------------------------------------------------------- figures whose colours follow the page


# Colours of the displays that would vanish on a dark page, and the page's own that take their place.
_THEMED = {
    "#ffffff": "paper",
    "#000000": "ink",
    "#222222": "ink",
    "#6b6b6b": "grey",
    "#d9d9d9": "pale",
    "#0072b2": "blue",
    "#d55e00": "vermillion",
    "#009e73": "green",
}
_STYLE: dict[Any, Any] = {
    "svg.fonttype": "path",
    "svg.hashsalt": "csf",
    "text.parse_math": False,  # names are texts, with whatever dollars they hold
    "text.usetex": False,
}


class Drawn(NamedTuple):
    """Markup of a graphic, split where its title belongs, or the reason why there is none."""

    opening: str = ""
    content: str = ""
    error: str | None = None


def figure(name: str, draw: Callable[[Axes], object], *, size: tuple[float, float] = (7.2, 4.6)) -> Drawn:
    """Return the graphic that ``draw`` makes on the axes that it is given; its identifiers begin with ``name``."""
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    with rc_context(_STYLE):
        # One of its own works without a screen and leaves pyplot alone.
        drawn = Figure(figsize=size, layout="constrained")
        try:
            draw(drawn.subplots())
        except (ValueError, TypeError) as error:
            return Drawn(error=str(error))
        drawn.patch.set_visible(False)
        for ax in drawn.axes:
            ax.patch.set_visible(False)
        buffer = io.StringIO()
        drawn.savefig(buffer, format="svg", metadata={"Date": None, "Creator": None})
    return _inline(buffer.getvalue(), name)


def _inline(svg: str, name: str) -> Drawn:
    """Adapt a graphic to its page: unique identifiers, colours of the page, no comments."""
    from markupsafe import Markup

    svg = svg[svg.index("<svg") :]
    svg = re.sub(r"<!--.*?-->|<metadata>.*?</metadata>", "", svg, flags=re.DOTALL)
    svg = re.sub(r'\bid="', f'id="{name}-', svg)
    svg = re.sub(r'href="#', f'href="#{name}-', svg)
    svg = re.sub(r"url\(#", f"url(#{name}-", svg)
    for colour, themed in _THEMED.items():
        svg = svg.replace(f": {colour}", f": var(--fig-{themed})")
    opening, _, content = svg.removeprefix("<svg ").partition(">")
    return Drawn(Markup(f'<svg role="img" {opening}>'), Markup(content))


# ---------------------------------------------------------------- pages that carry all they need


@cache
def templates() -> Environment:
    """Load the pages of ``templates/``, which escape their variables and raise an error for missing ones."""
    try:
        from jinja2 import Environment, PackageLoader, StrictUndefined
    except ImportError as error:
        raise ImportError("reports are made with jinja2, which is not installed: pip install jinja2") from error

    made = Environment(
        loader=PackageLoader("csf.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    made.filters |= {"digits": digits, "short": short, "spread": spread, "base_name": base_name, "zip": zip}
    made.filters |= {"strategy_name": strategy_name, "target_name": target_name, "shown_trials": _shown_trials}
    made.globals |= {"reviewed_in_words": reviewed_in_words, "is_tuned": is_tuned, "confusion_of": confusion}
    made.globals |= {"matrix_of": matrix_of, "label_scores": label_scores, "scores_out_of_fold": scores_out_of_fold}
    made.globals |= {"values_by_group": values_by_group, "upper_bound_is": UPPER_BOUND}
    return made


def check_page(path: PathLike) -> None:
    """Raise an error for a folder, or for a file name with the suffix of another format."""
    suffix, is_folder = os.path.splitext(os.fspath(path))[1], os.path.isdir(path)
    if is_folder or suffix.lower() not in ("", ".html", ".htm"):
        raise ValueError(
            f"a report is a page of HTML, and {os.fspath(path)!r} "
            f"{'is a folder' if is_folder else f'ends in {suffix!r}'}; give a name such as 'report.html' (a browser "
            "prints it as PDF)"
        )


def write_page(path: PathLike, template: str, *, title: str, lead: str, **data: object) -> None:
    """Write the page of a template to a file, which is replaced as a whole or not at all."""
    from markupsafe import Markup

    check_page(path)
    style, script = ((files("csf.report") / name).read_text(encoding="utf-8") for name in ("report.css", "report.js"))
    page = templates().get_template(template)
    text = page.render(
        # A title may come as markup of somebody else's, which is a text here.
        title=str(title),
        lead=lead,
        version=__version__,
        policy=_policy(script),
        style=Markup(style),
        script=Markup(script),
        **data,
    )
    # Labels may hold half of a surrogate pair, which no file can.
    with replaced(path, errors="replace") as file:
        file.write(text)


def _policy(script: str) -> str:
    """Return the page's content security policy: this script, its own styles and pictures, and no requests."""
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    return f"default-src 'none'; style-src 'unsafe-inline'; img-src data:; script-src 'sha256-{digest}'"
