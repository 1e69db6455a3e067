"""Trained models as files, read back without running code that is not on a short list."""

from __future__ import annotations

import inspect
import zipfile
from collections.abc import Sequence

import sklearn

from csf import metrics, strategies
from csf._common.files import replaced
from csf._common.typing import PathLike
from csf._common.version import __version__
from csf._common.warn import warn
from csf.cli.data import Features
from csf.cli.errors import CliError, require
from csf.errors import ErrorProfile
from csf.errors.hull import Hull
from csf.metrics import rates
from csf.resampling import Assessment
from csf.search import CostSearch
from csf.search.config import SearchConfig
from csf.search.gain_rule import Choice
from csf.search.guarantee import Guarantee
from csf.search.outcome import SearchOutcome
from csf.study import Study
from csf.thresholding.rule import ThresholdRule
from csf.trials import Trial

__all__ = ["load_model", "required_trust", "save_model"]

FORMAT = "csf-model"
VERSION = 1
_PARTS = {"version", "sklearn", "features", "search"}

# What models hold besides the types that skops trusts by itself: scikit-learn's estimators, numpy, scipy. Whole
# packages are not trusted, as their functions can run code and write files.
_PLAIN = ("numpy.dtype", "collections.OrderedDict")


def _trusted_types():
    """Full names of all types that a file may hold."""
    parts = [Assessment, Choice, CostSearch, ErrorProfile, Study, Trial, Guarantee, Hull, SearchConfig]
    parts += [SearchOutcome, ThresholdRule]
    for module in (metrics, rates, strategies):
        parts += [part for _, part in inspect.getmembers(module, inspect.isclass)]
    parts += strategies.STRATEGIES.values()
    return {f"{part.__module__}.{part.__qualname__}" for part in parts} | set(_PLAIN)


def save_model(path: PathLike, search: CostSearch, features: Features) -> None:
    """Write a fitted search and what features it takes."""
    skops = require("skops.io", "saving a model")
    content = {
        "format": FORMAT,
        "version": VERSION,
        "csf": __version__,
        "sklearn": sklearn.__version__,
        "features": features.to_dict(),
        "search": search._without_scores(),
    }
    try:
        with replaced(path, "wb") as file:
            skops.dump(content, file, compression=zipfile.ZIP_DEFLATED)
    except TypeError as error:
        raise CliError(f"cannot save this model: {error}") from error


def required_trust(path: PathLike) -> list[str]:
    """Types in a file that `load_model` reads only when they are named."""
    skops = require("skops.io", "reading a model")
    try:
        return sorted(set(skops.get_untrusted_types(file=path)) - _trusted_types())
    except OSError as error:
        raise CliError(f"cannot read {path}: {error.strerror or error}") from error
    except Exception as error:  # a damaged file can fail anywhere
        raise CliError(
            f"{path} is not a model saved by csf search --save, or it is damaged ({type(error).__name__}: {error})"
        ) from error


def load_model(path: PathLike, trust: Sequence[str] = ()) -> tuple[CostSearch, Features]:
    """Read a model that `save_model` wrote; ``trust`` names further types that it may hold."""
    untrusted = [name for name in required_trust(path) if name not in trust]
    if untrusted:
        raise CliError(
            f"{path} holds types that a crafted file could misuse: {', '.join(untrusted)}. If you know where the "
            f"file comes from, add {' '.join(f'--trust {name}' for name in untrusted)}"
        )
    try:
        content = require("skops.io", "reading a model").load(path, trusted=sorted(_trusted_types() | set(trust)))
    except Exception as error:  # a damaged file, or one of other versions, can fail anywhere
        raise CliError(f"cannot read {path}: {error}") from error
    if not isinstance(content, dict) or content.get("format") != FORMAT or not content.keys() >= _PARTS:
        raise CliError(f"{path} is not a model saved by csf search --save")
    if content["version"] != VERSION:
        raise CliError(f"{path} has version {content['version']} of the model format; this csf reads {VERSION}")
    if content["sklearn"] != sklearn.__version__:
        warn(
            f"{path} was saved with scikit-learn {content['sklearn']}, this is {sklearn.__version__}; if predictions "
            "matter, train it again",
        )
    return content["search"], Features.from_dict(content["features"])
