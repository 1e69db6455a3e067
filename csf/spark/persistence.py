"""Searches and models on Spark in files: metadata as Spark's own have, with estimators and models beside them."""

from __future__ import annotations

from typing import Any

from pyspark.ml.util import DefaultParamsReader, DefaultParamsWriter, MLReader, MLWriter

from csf.spark.native import stages
from csf.trials import Trial

__all__ = ["ModelReader", "ModelWriter", "SearchReader", "SearchWriter"]

# Parameters that are no plain values.
_APART = ("estimator", "estimatorParamMaps")


class SearchWriter(MLWriter):
    """Writes a search that is not fitted.

    Parameters
    ----------
    search : SparkCostSearch
        The search.
    """

    def __init__(self, search: Any) -> None:
        super().__init__()
        self.search = search

    def saveImpl(self, path: str) -> None:
        """See `pyspark.ml.util.MLWriter`."""
        search = self.search
        given = {param.name: search.getOrDefault(param) for param in search.params if search.isSet(param)}
        plain = {name: value for name, value in given.items() if name not in _APART}
        for name, value in plain.items():
            if not isinstance(value, str | int | float | None):
                raise ValueError(f"{name}={value!r} cannot be saved: give it by its name, e.g. metric='f1'")
        maps = [
            [{"parent": param.parent, "name": param.name, "value": value} for param, value in each.items()]
            for each in given.get("estimatorParamMaps", [])
        ]
        extra = {"estimatorParamMaps": maps, "hasEstimator": "estimator" in given}
        DefaultParamsWriter.saveMetadata(search, path, self.sparkSession, extra, plain)
        if "estimator" in given:
            given["estimator"].write().session(self.sparkSession).save(f"{path}/estimator")


class SearchReader(MLReader):
    """Reads what `SearchWriter` wrote.

    Parameters
    ----------
    kind : type
        The class of the search.
    """

    def __init__(self, kind: type[Any]) -> None:
        super().__init__()
        self.kind = kind

    def load(self, path: str) -> Any:
        """See `pyspark.ml.util.MLReader`."""
        metadata = DefaultParamsReader.loadMetadata(path, self.sparkSession)
        search = self.kind()
        search._resetUid(metadata["uid"])
        for name, value in metadata["paramMap"].items():
            search.set(search.getParam(name), value)
        if metadata["hasEstimator"]:
            estimator: Any = DefaultParamsReader.loadParamsInstance(f"{path}/estimator", self.sparkSession)
            search.setParams(estimator=estimator)
            known = {stage.uid: stage for stage in (estimator, *stages(estimator))}
            maps = [
                {known[each["parent"]].getParam(each["name"]): each["value"] for each in entries}
                for entries in metadata["estimatorParamMaps"]
            ]
            if maps:
                search.setParams(estimatorParamMaps=maps)
        return search


class ModelWriter(MLWriter):
    """Writes what a search found.

    Parameters
    ----------
    model : SparkCostSearchModel
        The model.
    """

    def __init__(self, model: Any) -> None:
        super().__init__()
        self.model = model

    def saveImpl(self, path: str) -> None:
        """See `pyspark.ml.util.MLWriter`."""
        extra = {"told": self.model.told, "trials": [trial.to_dict() for trial in self.model.trials]}
        DefaultParamsWriter.saveMetadata(self.model, path, self.sparkSession, extra)
        self.model.bestModel.write().session(self.sparkSession).save(f"{path}/bestModel")


class ModelReader(MLReader):
    """Reads what `ModelWriter` wrote.

    Parameters
    ----------
    kind : type
        The class of the model.
    """

    def __init__(self, kind: type[Any]) -> None:
        super().__init__()
        self.kind = kind

    def load(self, path: str) -> Any:
        """See `pyspark.ml.util.MLReader`."""
        metadata = DefaultParamsReader.loadMetadata(path, self.sparkSession)
        best: Any = DefaultParamsReader.loadParamsInstance(f"{path}/bestModel", self.sparkSession)
        trials = [Trial.from_dict(record) for record in metadata["trials"]]
        model = self.kind(best, metadata["told"], trials)
        model._resetUid(metadata["uid"])
        return model
