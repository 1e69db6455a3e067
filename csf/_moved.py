"""Modules under the names that they had before: imports and pickles of earlier versions go on working."""

import sys
from importlib import import_module
from types import ModuleType

__all__ = ["MOVED", "register"]

MOVED = {
    "csf._files": "csf._common.files",
    "csf.arguments": "csf.search.arguments",
    "csf.checkpoint": "csf.search.checkpoint",
    "csf.evaluation": "csf.search.outcomes",
    "csf.experiments.bench": "csf.experiments.training_cache",
    "csf.folds": "csf.samples.folds",
    "csf.hull": "csf.errors.hull",
    "csf.labels": "csf.samples.labels",
    "csf.macro": "csf.search.macro",
    "csf.one_vs_rest": "csf.costs.one_vs_rest",
    "csf.prediction": "csf.thresholding.cut_predictor",
    "csf.prefit": "csf.search.prefit",
    "csf.profiles": "csf.errors.profile",
    "csf.responses": "csf.scores.responses",
    "csf.results": "csf.search.results",
    "csf.routing": "csf.samples.routing",
    "csf.runner": "csf.search.loop",
    "csf.selection": "csf.search.gain_rule",
    "csf.splits": "csf.samples.splits",
    "csf.thresholding.several": "csf.thresholding.multiclass_sweep",
    "csf.trainers.starts": "csf.trainers.warm_starts",
    "csf.workers": "csf.search.workers",
}


# What is called otherwise now, where its old name is not kept in the new place. Other modules that were split or moved
# into packages of their old names (csf.costs, csf.search, csf.study) have their old names in these packages.
RENAMED = {("csf.runner", "Runner"): "SearchLoop"}


class _Moved(ModuleType):
    """Stands where a module was, and loads the one in its new place when something of it is asked for."""

    def __getattr__(self, name: str) -> object:
        home = import_module(MOVED[self.__name__])
        return getattr(home, RENAMED.get((self.__name__, name), name))


def register() -> None:
    """Make the old names importable."""
    for name, home in MOVED.items():
        sys.modules.setdefault(name, _Moved(name, f"Moved to `{home}`."))
