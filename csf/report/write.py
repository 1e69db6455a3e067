"""Reports of fitted searches as files."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from csf._common.typing import PathLike, Samples
from csf.plots._searched import FittedMacroSearch, FittedSearch, is_class_search, is_macro_search, is_search
from csf.report.checks import check_codes
from csf.report.held_out import held_out
from csf.report.page import check_page, write_page
from csf.report.search import class_data, macro_data, search_data

__all__ = ["write_report"]


def write_report(
    search: FittedSearch | FittedMacroSearch,
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
    """Write what a fitted search found as one page for a browser.

    The page holds all that it shows: it loads nothing, can be sent by mail, printed, and read by day and by night.

    Parameters
    ----------
    search : CostSearch or MacroCostSearch
        Fitted, with ``refit=True`` where data are given.
    path : path-like
        File to write, such as ``"report.html"``.
    X : array-like of shape (n_samples, n_features), default=None
        Samples that ``fit`` has not seen, to judge the winner on. ``None`` shows what the search itself knows.
    y : array-like of shape (n_samples,), default=None
        Their labels.
    sample_weight : array-like of shape (n_samples,), default=None
        Their weights >= 0.
    rivals : dict of str to array-like of shape (n_samples,), default=None
        Labels that other classifiers predict for ``X``, by their names.
    title : str, default=None
        Heading; ``None`` names the metric and the base.
    facts : dict of str to str, default=None
        Further facts to name, such as ``{"Data": "customers.csv"}``.
    mute : collection of str, default=()
        Codes of checks to leave out, such as ``["CSF001"]``; the guide's page "Checks" explains each one.

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
    # A search on a cluster is shown as the one in memory that it can become.
    to_local = getattr(search, "to_local", None)
    search = search if to_local is None else to_local()
    if not (is_search(search) or is_macro_search(search)):
        raise TypeError(f"search must be a fitted csf.CostSearch or csf.MacroCostSearch, got {search!r}")
    if hasattr(search, "label_names_"):
        raise ValueError(
            "the search has several labels a sample, and a report is of one; fit and report a column of y by itself, "
            "or report searches_[k], which metric='f1_macro' gives"
        )
    check_is_fitted(search, "best_score_")
    held = held_out(search, X, y, sample_weight, rivals)
    kinds = {"classes": class_data, "macro": macro_data, "search": search_data}
    kind = "classes" if is_class_search(search) else "macro" if is_macro_search(search) else "search"
    about = {"facts": [(str(name), str(value)) for name, value in (facts or {}).items()], "muted": sorted(mute)}
    write_page(path, f"{kind}.html.j2", title=title or "Cost search", **kinds[kind](search, held, mute), **about)
