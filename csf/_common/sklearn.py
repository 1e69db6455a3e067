"""The only file that uses scikit-learn's private names, and names that some versions lack."""

from __future__ import annotations

import os
import re
import sys
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields, is_dataclass
from inspect import Parameter, signature
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeAlias, TypeVar, dataclass_transform

import sklearn
from sklearn.base import clone as _clone
from sklearn.metrics import make_scorer, zero_one_loss
from sklearn.pipeline import Pipeline
from sklearn.utils import Tags, get_tags
from sklearn.utils import _safe_indexing as safe_indexing
from sklearn.utils.validation import _num_samples as num_samples

from csf._common.typing import Estimator, Foreign, IntArray, Params
from csf._common.validation import check_choice

Method = TypeVar("Method", bound=Callable[..., object])
Kind = TypeVar("Kind")

if TYPE_CHECKING:

    class CallbackSupportMixin:
        """Base class of estimators that accept scikit-learn's callbacks."""

    def with_callbacks(method: Method) -> Method:
        """Let scikit-learn's callbacks run around ``method``, a ``fit``."""
        return method

else:
    try:  # scikit-learn 1.9 and later
        from sklearn.callback import CallbackSupportMixin, with_callbacks
    except ImportError:  # pragma: no cover - older scikit-learn

        class CallbackSupportMixin:
            """Stand-in where scikit-learn has no callbacks."""

        def with_callbacks(fit):
            """Return ``fit`` unchanged: this scikit-learn has no callbacks."""
            return fit


def clone(estimator: Estimator, *, safe: bool = True) -> Estimator:
    """Clone an unfitted estimator; where its constructor copies its arguments, raise an error that says what works."""
    try:
        return _clone(estimator, safe=safe)
    except RuntimeError as error:
        way = "Give tuples for lists, cat_features=('town',), or arguments of fit: fit(X, y, cat_features=['town'])"
        raise TypeError(f"{error}. {way}") from None


def trained(estimator: Estimator, *args: object, **given: object) -> Estimator:
    """Fit an estimator and return it; the ``fit`` of some wrappers returns nothing."""
    estimator.fit(*args, **given)
    return estimator


class DocLinkMixin:
    """Link from scikit-learn's diagrams of estimators to the reference of csf, where its address is known.

    The site is built from the sources (see the README). The environment variable ``CSF_DOCS`` gives its address, such
    as ``https://docs.example.org/csf`` or ``file:///srv/csf/site``; without it there is no link.
    """

    @property
    def _doc_link_module(self) -> str:
        return "csf" if os.environ.get("CSF_DOCS") else ""

    @property
    def _doc_link_template(self) -> str:
        return f"{os.environ.get('CSF_DOCS', '').rstrip('/')}/api/{{name}}.html"

    def _doc_link_url_param_generator(self) -> dict[str, str]:
        """Return the shortest public name of the class, under which the reference has its page."""
        kind = type(self)
        package = kind.__module__.partition(".")[0]
        loaded = [name for name in sys.modules if f"{name}.".startswith(f"{package}.")]
        public = [name for name in loaded if kind.__name__ in getattr(sys.modules[name], "__all__", ())]
        home = min(public, key=lambda name: (name.count("."), name), default=kind.__module__)
        return {"name": f"{home}.{kind.__name__}"}


def tree_type() -> type:
    """Return the class of the compiled trees of forests."""
    from sklearn.tree._tree import Tree

    return Tree


def last_step(base: Estimator) -> tuple[str, Estimator]:
    """Return the innermost last step of (nested) pipelines, with the prefix of its parameters; else the base itself."""
    prefix = ""
    while isinstance(base, Pipeline):
        name, base = base.steps[-1]
        prefix += f"{name}__"
    return prefix, base


def last_name(base: Estimator) -> str:
    """Return the class name of the last step."""
    return type(last_step(base)[1]).__name__


def named_models(base: Estimator) -> list[tuple[str, Estimator]] | None:
    """List the names and estimators of several models, given as a list or dict; return ``None`` for a single one.

    In a list each name is the class of the last step in lower case, with a number where several share it.
    """
    if isinstance(base, Mapping):
        return list(base.items())
    if not isinstance(base, list | tuple):
        return None
    kinds = [last_name(model).lower() for model in base]
    numbered = [f"{kind}-{kinds[:place].count(kind) + 1}" for place, kind in enumerate(kinds)]
    return [(kind if kinds.count(kind) == 1 else name, model) for kind, name, model in zip(kinds, numbered, base)]


def slice_params(params: Params, rows: IntArray, n_samples: int) -> Params:
    """Slice the arguments of a ``fit``: those with one entry per sample are restricted to the samples ``rows``."""

    def part(value: object) -> object:
        try:
            one_a_sample = not isinstance(value, (str, dict)) and num_samples(value) == n_samples
        except TypeError:
            return value
        return safe_indexing(value, rows) if one_a_sample else value

    return {name: part(value) for name, value in params.items()}


class NoCallbackContext:
    """Stand-in for the callback context where scikit-learn has no callbacks."""

    def subcontext(self, **options: object) -> NoCallbackContext:
        """Return the same stand-in."""
        return self

    def begin(self) -> None:
        """Do nothing."""

    def end(self) -> bool:
        """Do nothing and let the search go on."""
        return False


class _CallbackContext:
    """scikit-learn's callback context of one task of an estimator."""

    def __init__(self, context: Foreign, estimator: Estimator) -> None:
        self.context, self.estimator = context, estimator

    def subcontext(self, **options: object) -> _CallbackContext:
        return _CallbackContext(self.context.subcontext(**options), self.estimator)

    def begin(self) -> None:
        self.context.call_on_fit_task_begin(estimator=self.estimator)

    def end(self) -> bool:
        return bool(self.context.call_on_fit_task_end(estimator=self.estimator))


def open_callback_context(estimator: Estimator, max_subtasks: int | None) -> NoCallbackContext | _CallbackContext:
    """Open the root context of scikit-learn's callbacks for one ``fit``, and begin it."""
    if not hasattr(estimator, "_init_callback_context"):  # scikit-learn before 1.9
        return NoCallbackContext()
    context = _CallbackContext(estimator._init_callback_context(max_subtasks=max_subtasks), estimator)
    context.begin()
    return context


def pass_on_features(inner: Estimator, outer: Estimator) -> None:
    """Copy the number and names of features from the inner estimator to the outer one, where known."""
    for name in ("n_features_in_", "feature_names_in_"):
        if hasattr(inner, name):
            setattr(outer, name, getattr(inner, name))


def pass_on_input_tags(inner: Estimator, tags: Tags) -> None:
    """Copy the input tags (sparse data, missing values, precomputed kernels) of the inner estimator, if it is one."""
    models = [base for _, base in named_models(inner) or [("", inner)]]
    if all(hasattr(model, "fit") and not isinstance(model, type) for model in models):
        of_models = [get_tags(model).input_tags for model in models]
        tags.input_tags.sparse = all(inputs.sparse for inputs in of_models)
        tags.input_tags.allow_nan = all(inputs.allow_nan for inputs in of_models)
        tags.input_tags.pairwise = all(inputs.pairwise for inputs in of_models)


def is_pairwise(estimator: Estimator) -> bool:
    """Check whether the samples of an estimator are a kernel or distances between all of them."""
    return hasattr(estimator, "__sklearn_tags__") and bool(get_tags(estimator).input_tags.pairwise)


def routing_enabled() -> bool:
    """Check whether scikit-learn's metadata routing is switched on."""
    return bool(sklearn.get_config()["enable_metadata_routing"])


class ScorerParts(NamedTuple):
    """Function and options that a scorer was made of."""

    function: Callable[..., float]
    sign: float
    options: Params
    response: str


def scorer_parts(scorer: object) -> ScorerParts | None:
    """Take apart a scorer of `sklearn.metrics.make_scorer`; return ``None`` for anything else."""
    if not isinstance(scorer, type(make_scorer(zero_one_loss))):
        return None
    response = scorer._response_method
    return ScorerParts(scorer._score_func, float(scorer._sign), scorer._kwargs, str(response))


def fit_request(estimator: Estimator, argument: str) -> bool | str | None:
    """Return the metadata request of an estimator for an argument of its ``fit``, or ``None``."""
    return estimator._get_metadata_request().fit.requests.get(argument)


# Check of a parameter: raises an error, of a value and the name of the parameter.
Check: TypeAlias = Callable[[Any, str], object]


class Option(NamedTuple):
    """What is known of a parameter beside its type and its default."""

    # For the command line and for Spark.
    words: str = ""
    # Raises an error, of a value and the name of the parameter; None where another part checks it.
    check: Check | None = None
    # Why searches on clusters do not have it; empty where they do.
    in_memory: str = ""


def option(
    words: str = "",
    check: Check | None = None,
    *,
    in_memory: str = "",
    default: object,
    kw_only: bool = True,
) -> Any:
    """Declare a parameter of a class `with_parameters`, with what `Option` describes."""
    return field(default=default, kw_only=kw_only, metadata={"option": Option(words, check, in_memory)})


def options_of(kind: Any) -> dict[str, Option]:
    """Return what is known of each parameter of a class `with_parameters`."""
    return {
        parameter.name: parameter.metadata["option"] for parameter in fields(kind) if "option" in parameter.metadata
    }


def one_of(*accepted: object) -> Callable[[object, str], object]:
    """Make the check of a parameter with some values."""
    return lambda value, name: check_choice(value, name, accepted)


def check_options(estimator: Estimator, names: Mapping[str, str] | None = None) -> None:
    """Check the parameters of an estimator `with_parameters`; ``names`` are those that messages use for some.

    None is accepted where it is the default.
    """
    for parameter in fields(estimator) if is_dataclass(estimator) else ():
        check, value = parameter.metadata.get("option", Option()).check, getattr(estimator, parameter.name, None)
        if check is not None and not (value is None and parameter.default is None):
            check(value, (names or {}).get(parameter.name, parameter.name))


@dataclass_transform(eq_default=False, kw_only_default=True, field_specifiers=(field, option))
def with_parameters(kind: type[Kind]) -> type[Kind]:
    """Decorate an estimator whose annotated attributes are its parameters: ``__init__`` only stores them.

    Its signature has them in the order of the docstring, whatever class declares them.
    """
    made = dataclass(eq=False, repr=False, kw_only=True)(kind)
    documented = ", ".join(re.findall(r"^ {4}(\w+(?:, \w+)*) : ", kind.__doc__ or "", re.MULTILINE)).split(", ")

    def place(parameter: Parameter) -> tuple[bool, int]:
        return parameter.kind is parameter.KEYWORD_ONLY, documented.index(
            parameter.name
        ) if parameter.name in documented else -1

    known, init = signature(made.__init__), vars(made)["__init__"]
    init.__signature__ = known.replace(parameters=sorted(known.parameters.values(), key=place))
    return made


class HasHtml(Protocol):
    """What notebooks show as HTML."""

    def _repr_html_(self) -> str: ...


class SummaryMixin(ABC):
    """Summary of a fitted estimator: notebooks show it above scikit-learn's diagram, and `print` mentions it."""

    @abstractmethod
    def summary(self) -> HasHtml:
        """Summarise the result."""

    def __str__(self) -> str:
        text = repr(self)
        return f"{text}\n# fitted; search.summary() says what was found" if "best_score_" in vars(self) else text

    def _repr_mimebundle_(self, **options: object) -> dict[str, str]:
        bundle = super()._repr_mimebundle_(**options)  # pyright: ignore[reportAttributeAccessIssue]
        if "text/html" in bundle and "best_score_" in vars(self):
            bundle["text/html"] = f"{self.summary()._repr_html_()}{bundle['text/html']}"
        return bundle
