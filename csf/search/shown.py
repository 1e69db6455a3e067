"""Fitted searches that write a report."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from csf._common import reporting
from csf._common.typing import PathLike, Samples

__all__ = ["ReportMixin"]


class ReportMixin:
    """Searches that write a report."""

    def report(
        self,
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
        """Write what was found as one page for a browser, which loads nothing and can be sent and printed.

        Parameters
        ----------
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
            Heading.
        facts : dict of str to str, default=None
            Further facts to name, such as ``{"Data": "customers.csv"}``.
        mute : collection of str, default=()
            Codes of checks to leave out, such as ``["CSF001"]``; the guide's page "Checks" explains each one.

        Raises
        ------
        sklearn.exceptions.NotFittedError
            If the search is not fitted.
        ValueError
            If data or rivals do not fit the search, ``mute`` holds an unknown code, or the file is called like one of
            another format.
        """
        check_is_fitted(self, "best_score_")
        fitted: Any = self
        options: dict[str, Any] = {"sample_weight": sample_weight, "rivals": rivals, "title": title, "facts": facts}
        reporting.write_report(fitted, path, X, y, mute=mute, **options)
