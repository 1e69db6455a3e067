"""One training at one level: what went in and what came out."""

from dataclasses import asdict, dataclass, field, fields

import numpy as np

from csf.hull import Hull
from csf.profiles import ErrorProfile

__all__ = ["Trial", "best_trial", "first_line", "gap", "known_hull", "outcome"]

STATES = ("pending", "complete", "failed")


@dataclass(frozen=True, slots=True)
class Trial:
    """One training at one level t; never changes once made.

    Parameters
    ----------
    number : int
        Running number within its study, from 0.
    t : float or None
        Level aimed at; ``None`` where the costs belong to no level.
    c_fn, c_fp : float
        Costs of a false negative and of a false positive.
    state : {"pending", "complete", "failed"}, default="pending"
        Asked for, told, or told to have failed.
    profile : ErrorProfile, default=None
        Errors of the classifier's own decision. Strategies and bounds read it.
    value : float, default=None
        Metric of ``profile``.
    attained : float, default=None
        Best metric value that this trial shows on the data of ``profile``, over all known cuts; what a bound is
        compared with.
    threshold : float, default=None
        Cut of the score that was best for the metric; ``None`` where only the own decision is known.
    score : float, default=None
        Metric at ``threshold`` (``value`` without one); the trial with the largest score wins.
    rate : float, default=None
        Constrained rate at ``threshold``, where there is a constraint.
    violation : float, default=0.0
        By how much the constraint is missed there; 0 where it holds.
    hull : Hull, default=None
        Known profiles on the data of ``profile``: those of all cuts of the score, or the own decision alone.
    fold_scores : tuple of float, default=()
        ``score`` within each fold.
    setting : int, default=0
        Which setting of the base's parameters was trained.
    error : str, default=None
        Why a failed trial failed.
    duality_gap : float, default=None
        How far the objective of the model, on the worst fold, can be from its optimum, as a share of it; known for
        the linear models of `csf.linear`.
    fit_time, score_time : float, default=0.0
        Seconds spent in the base, summed over folds; not part of equality.

    Examples
    --------
    >>> Trial(number=0, t=0.5, c_fn=1.5, c_fp=0.5).state
    'pending'
    """

    number: int
    t: float | None
    c_fn: float
    c_fp: float
    state: str = "pending"
    profile: ErrorProfile | None = None
    value: float | None = None
    attained: float | None = None
    threshold: float | None = None
    score: float | None = None
    rate: float | None = None
    violation: float = 0.0
    hull: Hull | None = None
    fold_scores: tuple = ()
    setting: int = 0
    error: str | None = None
    duality_gap: float | None = field(default=None, compare=False)
    fit_time: float = field(default=0.0, compare=False)
    score_time: float = field(default=0.0, compare=False)

    @property
    def costs(self):
        """``(c_fn, c_fp)``."""
        return self.c_fn, self.c_fp

    @property
    def feasible(self):
        """Whether the constraint, if any, holds."""
        return self.violation == 0

    def to_dict(self):
        """Plain numbers, strings and lists, ready for JSON.

        Returns
        -------
        dict
            One entry a field; infinite thresholds as strings.
        """
        record = {f.name: getattr(self, f.name) for f in fields(self)}
        if self.profile is not None:
            record["profile"] = asdict(self.profile)
        if self.hull is not None:
            record["hull"] = self.hull.points.tolist()
        if self.threshold is not None:
            record["threshold"] = repr(float(self.threshold))
        record["fold_scores"] = list(self.fold_scores)
        return record

    @classmethod
    def from_dict(cls, record):
        """Trial of a dict made by `to_dict`.

        Parameters
        ----------
        record : dict
            As `to_dict` returns it.

        Returns
        -------
        Trial
            An equal trial.

        Raises
        ------
        ValueError
            If the record is not that of a trial.
        """
        try:
            record = dict(record)
            if record["profile"] is not None:
                record["profile"] = ErrorProfile(**record["profile"])
            if record["hull"] is not None:
                record["hull"] = Hull(record["hull"])
            if record["threshold"] is not None:
                record["threshold"] = float(record["threshold"])
            record["fold_scores"] = tuple(record["fold_scores"])
            if record["state"] not in STATES:
                raise ValueError(f"state must be one of {STATES}, got {record['state']!r}")
            return cls(**record)
        except (KeyError, TypeError, AttributeError) as error:
            raise ValueError(f"this is not the record of a trial: {error!r}") from error


def outcome(metric, profile, *, hull=None, cut=None):
    """Fields of a complete `Trial` whose model was evaluated on one data set.

    Parameters
    ----------
    metric : Metric
        What is maximised; its ``constraint`` attribute, if any, counts.
    profile : ErrorProfile
        Errors of the model's own decision.
    hull : Hull, default=None
        Known profiles of all its cuts; ``None`` knows only the own decision.
    cut : Cut, default=None
        The best of all cuts; ``None`` keeps the own decision.

    Returns
    -------
    dict
        Everything but times and folds.
    """
    chosen = profile if cut is None else cut.profile
    known = np.array([(profile.fn, profile.fp), (chosen.fn, chosen.fp)])
    hull = Hull(known) if hull is None else hull
    known = np.concatenate([hull.points, known])
    values = metric.value(known[:, 0], known[:, 1], pos=profile.pos)
    rate, violation = None, 0.0
    constraint = metric.constraint
    if constraint is not None:
        rate = constraint.quantity.of(chosen)
        violation = constraint.violation(chosen.fn, chosen.fp, pos=chosen.pos)
        values = values[constraint.violation(known[:, 0], known[:, 1], pos=profile.pos) == 0]
    return {
        "profile": profile,
        "value": metric.of(profile),
        "attained": float(np.max(values, initial=metric.range(profile.pos)[0])),
        "threshold": None if cut is None else cut.threshold,
        "score": metric.of(chosen),
        "rate": rate,
        "violation": violation,
        "hull": hull,
    }


def known_hull(profile, curve):
    """Hull of a model's own decision and all cuts of its score (``None`` for no score)."""
    points = [[(profile.fn, profile.fp)]]
    return Hull(np.concatenate(points if curve is None else [*points, curve.lower_hull()]))


def best_trial(trials):
    """Complete trial that wins: the smallest violation, then the largest score, then the earliest."""
    complete = [trial for trial in trials if trial.state == "complete"]
    return min(complete, key=lambda t: (t.violation, -t.score, t.number), default=None)


def gap(trials, bound):
    """Upper bound minus the best value that the trials attain, not below 0; ``None`` without one."""
    attained = [trial.attained for trial in trials if trial.attained is not None]
    return max(bound - max(attained), 0.0) if attained else None


def first_line(error):
    """What went wrong in one line: in a traceback the kind of the last exception, with the first line of its text.

    Parameters
    ----------
    error : str
        Text of an error, as in `Trial`.

    Returns
    -------
    str
        One line.

    Examples
    --------
    >>> first_line("Traceback (most recent call last):\\n  ...\\nValueError: X contains NaN.\\nSee the documentation.")
    'ValueError: X contains NaN.'
    """
    lines = error.rpartition("Traceback (most recent call last):\n")[2].splitlines()
    return next((line for line in lines if line.strip() and not line.startswith(" ")), "no reason is given")
