"""What a fitted search found, for people and for their tools."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from csf._common.typing import Array, PathLike, Samples

if TYPE_CHECKING:
    from csf.trials import Trial

__all__ = ["ReportMixin", "TrialsFrameMixin"]


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

        Raises
        ------
        sklearn.exceptions.NotFittedError
            If the search is not fitted.
        ValueError
            If data or rivals do not fit the search.
        """
        check_is_fitted(self, "best_score_")
        from csf.report.write import write_report  # draws: loaded when a page is asked for

        fitted: Any = self
        write_report(fitted, path, X, y, sample_weight=sample_weight, rivals=rivals, title=title, facts=facts)


class TrialsFrameMixin:
    """Searches whose trials open as a frame; they have ``trials_``, ``best_index_`` and ``cv_results_``."""

    trials_: list[Trial]
    best_index_: int
    cv_results_: dict[str, Array]

    def trials_frame(self) -> Any:
        """The trials as a pandas frame, one row each.

        Returns
        -------
        pandas.DataFrame
            ``cv_results_`` without ``params``, with the constrained ``rate``, whether the trial is ``feasible`` and
            which one is the ``winner``; the index is the place in ``trials_``.

        Raises
        ------
        sklearn.exceptions.NotFittedError
            If the search is not fitted.
        ImportError
            If pandas is not installed.

        Examples
        --------
        >>> from sklearn.datasets import load_digits
        >>> from sklearn.svm import LinearSVC
        >>> from csf.search import CostSearch
        >>> X, y = load_digits(return_X_y=True)
        >>> frame = CostSearch(LinearSVC(), n_trials=3, param_grid=None, cv=3).fit(X, y == 8).trials_frame()
        >>> bool(frame.loc[frame["winner"], "pooled_test_score"].item() == frame["pooled_test_score"].max())
        True
        """
        check_is_fitted(self, "trials_")
        try:
            import pandas
        except ImportError as error:
            raise ImportError(
                "trials_frame needs pandas: install it, or read cv_results_, a dict of arrays that holds the same"
            ) from error
        columns = {name: values for name, values in self.cv_results_.items() if name != "params"}
        frame = pandas.DataFrame(columns)
        frame["rate"] = [float("nan") if trial.rate is None else trial.rate for trial in self.trials_]
        frame["feasible"] = [trial.state == "complete" and trial.feasible for trial in self.trials_]
        frame["winner"] = frame.index == self.best_index_
        return frame
