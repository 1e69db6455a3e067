"""What kinds of targets and decisions refuse: options of a search and methods of a fitted one, with the way out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple


class Unsupported(NamedTuple):
    """Value of an option that is accepted, or several of them in a tuple, and why no other one is."""

    accepted: object
    why: str


class Together(NamedTuple):
    """What a search may not ask for at once: properties of its options, and the message, which may name the options."""

    asked: Sequence[str]
    why: str


@dataclass(frozen=True)
class Supports:
    """What a kind of target or decision refuses; everything else is supported.

    Parameters
    ----------
    name : str
        What refuses, in the words of messages.
    options : dict of str to Unsupported
        Options of a search that have no use.
    methods : dict of str to str
        Methods of a fitted search that have no meaning, with the message that says why not, and what there is instead;
        it may have a ``{name}``.
    together : sequence of Together
        Options of a search that have no use together.
    way : str, default=""
        A way out for all options.
    """

    name: str
    options: Mapping[str, Unsupported] = field(default_factory=dict)
    methods: Mapping[str, str] = field(default_factory=dict)
    together: Sequence[Together] = ()
    way: str = ""

    def check(self, config: object, name: str | None = None, way: str | None = None) -> None:
        """Raise a ValueError for options that have another value than is accepted, by a closer name and way out."""
        way_out = self.way if way is None else way
        for option, (values, why) in self.options.items():
            given, accepted = getattr(config, option), values if isinstance(values, tuple) else (values,)
            if given not in accepted and not (option == "refit" and given is False):
                more = way_out if accepted == (None,) else f", or give {accepted[0]!r}{way_out}"
                raise ValueError(f"{option}={given!r} is not for {name or self.name}: {why}. Leave it out{more}")
        for asked, why in self.together:
            if all(getattr(config, name) for name in asked):
                raise ValueError(why.format(config=config))

    def require(self, method: str, name: str | None = None) -> None:
        """Raise a ValueError for a method that has no meaning, by a closer name."""
        if method in self.methods:
            raise ValueError(self.methods[method].replace("{name}", name or self.name))


_ONE_THRESHOLD = {
    "threshold": Unsupported(("stable", "tune", None), "thresholds by row are those of two classes, in memory")
}
_NO_MEAN_OF_FOLDS = {"refit": Unsupported(True, "models are averaged in memory, and not of this kind")}
_NO_BOUND = "there is no upper bound"
_OWN_SEARCH = "each label has a search of its own; ask searches_[k] for that of one label"
_COUNT_POSITIVES = (
    "the share of positives is estimated of two classes, of several that are all alike, and of labels with a threshold "
    "each (metric='f1_macro'); here classes or labels share one threshold. Count the positives in a random sample of "
    "the new data"
)
_NO_AUDIT = {
    "audit": "audit is for one label a sample. Plan each label by itself: csf.audit(probability[:, k], "
    "predicted[:, k], metric='f1')"
}

# Held-out scores that do not say which class a row would get next, beside a null class.
NO_CLASS_GAPS = (
    "at_capacity of single classes beside a null class needs the scores of all classes for each held-out row, and this "
    "search does not have them: an earlier version of csf kept none, a trainer of your own gives none "
    "(csf.data.responses.Response.class_gaps), or 32 MB were too few for the winner's. Limit all of these classes "
    "together by a number, such as at_capacity(0.05), or search once more, with fewer rows or folds"
)

TWO_CLASSES = Supports("two classes")

ROW_THRESHOLDS = Supports(
    "thresholds by row",
    options={
        "null_class": Unsupported(None, "thresholds by row are those of two classes"),
        "tol": Unsupported(None, _NO_BOUND),
        "bound_on": Unsupported("validation", _NO_BOUND),
    },
    methods={
        "study": "this plot shows an upper bound, and there is none where rows have thresholds of their own. Use "
        "csf.plots.ThresholdCurveDisplay, or search.report('report.html')",
        "at_prevalence": "at_prevalence moves one threshold, and here rows have thresholds of their own; tune them on "
        "new labelled rows, with cv='prefit'",
    },
)

SEGMENTS = Supports(
    "thresholds by segment",
    options={
        "threshold": Unsupported(("stable", "tune"), "each segment has a tuned threshold"),
        **ROW_THRESHOLDS.options,
    },
    methods=ROW_THRESHOLDS.methods,
)

ROW_COSTS = Supports(
    "costs of rows",
    options={
        "null_class": Unsupported(None, "costs are those of two classes"),
        "tol": Unsupported(None, _NO_BOUND),
        "threshold": Unsupported("stable", "the costs of a row decide"),
        "weighting": Unsupported("class", "rows have weights of their own"),
        "bound_on": Unsupported("validation", _NO_BOUND),
    },
    methods={
        "study": "this plot shows class costs and an upper bound, and a search with costs by row has neither: each row "
        "has its own costs. Use csf.plots.ThresholdCurveDisplay, or search.report('report.html')"
    },
)

# Costs of rows under a constraint by segments.
SEGMENTED_COSTS = Supports(
    f"{ROW_COSTS.name} under a constraint by segments",
    options=ROW_COSTS.options,
    methods={
        **ROW_COSTS.methods,
        "at_prevalence": "at_prevalence moves the share of positives of all rows, and segments have shares of their "
        "own; tune the decisions on new labelled rows, with cv='prefit'",
    },
)

# Several classes that are all alike.
CLASSES = Supports(
    "several classes",
    options={
        "tol": Unsupported(None, f"{_NO_BOUND} for several classes"),
        "weighting": Unsupported("class", "costs of each problem are c_fn and c_fp beside a null class"),
        "bound_on": Unsupported("validation", f"{_NO_BOUND} for several classes"),
        **_ONE_THRESHOLD,
    },
    methods={
        **dict.fromkeys(
            ("study", "ThresholdCurveDisplay"),
            "this is drawn of two classes, whose costs and thresholds are in one line; of several, draw "
            "sklearn.metrics.ConfusionMatrixDisplay(search.confusion_, display_labels=search.classes_).plot(), or "
            "write search.report('report.html')",
        ),
        **dict.fromkeys(
            ("held_out_curve", "threshold_curve", "score_samples", "best_threshold_"),
            "several classes have no threshold: rule_ says what decides, and confusion_ what comes of it",
        ),
    },
)

# Several labels a sample, with a search for each.
LABELS = Supports(
    "several labels a sample",
    options={
        "pos_label": Unsupported(None, "each label is there or not"),
        "null_class": Unsupported(None, "each label is there or not"),
        "weighting": Unsupported("class", "it is about classes of one label a sample"),
        **_ONE_THRESHOLD,
    },
    methods={
        "study": "each label has a search of its own; draw searches_[k] for one label k, or all of them by "
        "csf.plots.ThresholdCurveDisplay",
        **dict.fromkeys(("held_out_curve", "exchange_rate", "trials_frame"), _OWN_SEARCH),
        **_NO_AUDIT,
    },
    together=(
        Together(
            ("is_prefit",),
            "y has several labels, and csf trains the base once for each, but the base is already fitted. Give an "
            "unfitted base, or tune the threshold of each column with cv='prefit' and a model fitted to that column",
        ),
        Together(
            ("asks_out_of_bag",),
            "cv='oob' is for one target, and y has several columns; leave cv out, or give folds",
        ),
    ),
    way=", or search each column of y by itself",
)

# Several labels that share one threshold.
SHARED_THRESHOLD = Supports(
    LABELS.name,
    options=LABELS.options,
    methods={
        "at_prevalence": "all labels share one threshold, but each label has its own share of positives. Use a mean "
        "over labels, such as metric='f1_macro', where each label has its own threshold",
        "prevalence": _COUNT_POSITIVES,
        **_NO_AUDIT,
    },
    together=(
        *LABELS.together,
        Together(
            ("confidence", "limits_answers"),
            "confidence={config.confidence!r} cannot certify wrong= of a review where labels share a threshold; use a "
            "mean over labels, such as metric='f1_macro'",
        ),
    ),
    way=LABELS.way,
)

# A mean over samples of several labels.
SAMPLE_MEANS = Supports(
    "a mean over samples",
    options=dict.fromkeys(
        ("constraint", "confidence", "review"),
        Unsupported(
            None,
            "it is about pairs of a sample and a label, and the metric about samples; use 'f1_micro' or 'f1_macro'",
        ),
    )
    | _NO_MEAN_OF_FOLDS,
    methods=SHARED_THRESHOLD.methods,
)

# Data on Dask and Spark.
CLUSTER = Supports("data on a cluster", options=_NO_MEAN_OF_FOLDS | _ONE_THRESHOLD)

# The base's own decisions.
OWN_DECISIONS = Supports("threshold=None", options={"review": Unsupported(None, "reviews need tuned scores")})

# Several classes beside one that means nothing to find.
NULL_CLASS = Supports(
    "several classes beside a null class",
    methods={
        "audit": "audit takes two classes, or several that are all alike. Beside {name} give csf.audit(probability of "
        "any other class, search.predict(X) != {name})",
    },
)

# Labels that miss positives.
INCOMPLETE = Supports(
    "labels that miss positives",
    options={"review": Unsupported(None, "labels do not show which answers are wrong, nor what a review would find")},
    methods={
        "audit": "{name}: the labels of an audit are complete, and this metric is of labels that miss positives. Audit "
        "the metric of complete labels, with probabilities of the truth: csf.audit(p, search.predict(X), metric='f1'), "
        "where p = np.minimum(search.predict_proba(X)[:, 1] / share, 1) and share is that of the labelled positives"
    }
    | dict.fromkeys(
        ("prevalence", "at_prevalence"),
        "{name}: at another share of positives the rows without a label hide more or fewer of them, so prevalence and "
        "at_prevalence take a metric of complete labels, such as 'f1'. Tune the threshold on newer labels instead: "
        "search.monitor().retune(X, y), or csf monitor --retune",
    ),
    way=", or search for the plain metric by complete labels",
)
