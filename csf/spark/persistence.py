"""Searches and models on Spark in files: metadata as Spark's own have, with estimators and models beside them."""

from __future__ import annotations

from typing import Any

from pyspark.ml.util import DefaultParamsReader, DefaultParamsWriter

from csf.spark.native import stages
from csf.trials import Trial

__all__ = ["ModelReader", "ModelWriter", "SearchReader", "SearchWriter"]

# Parameters that are no plain values.
_APART = ("estimator", "estimatorParamMaps")


class SearchWriter(DefaultParamsWriter):
    """Writes a search that is not fitted."""

    def saveImpl(self, path: str) -> None:
        """See `pyspark.ml.util.MLWriter`."""
        search: Any = self.instance
        given = {param.name: search.getOrDefault(param) for param in search.params if search.isSet(param)}
        plain = {name: value for name, value in given.items() if name not in _APART}
        for name, value in plain.items():
            if not isinstance(value, str | int | float | None):
                raise ValueError(f"{name}={value!r} cannot be saved: give it by its name, e.g. metric='f1'")
        maps = [
            [{"parent": param.parent, "name": param.name, "value": value} for param, value in each.items()]
            for each in given.get("estimatorParamMaps") or []
        ]
        extra = {"estimatorParamMaps": maps, "hasEstimator": "estimator" in given}
        DefaultParamsWriter.saveMetadata(search, path, self.sparkSession, extra, plain)
        if "estimator" in given:
            given["estimator"].write().session(self.sparkSession).save(f"{path}/estimator")


class SearchReader(DefaultParamsReader[Any]):
    """Reads what `SearchWriter` wrote."""

    def load(self, path: str) -> Any:
        """See `pyspark.ml.util.MLReader`."""
        metadata = DefaultParamsReader.loadMetadata(path, self.sparkSession)
        kind: Any = self.cls
        search = kind()
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


class ModelWriter(DefaultParamsWriter):
    """Writes what a search found."""

    def saveImpl(self, path: str) -> None:
        """See `pyspark.ml.util.MLWriter`."""
        model: Any = self.instance
        extra = {"told": model.told, "trials": [trial.to_dict() for trial in model.trials]}
        DefaultParamsWriter.saveMetadata(model, path, self.sparkSession, extra)
        model.bestModel.write().session(self.sparkSession).save(f"{path}/bestModel")


class ModelReader(DefaultParamsReader[Any]):
    """Reads what `ModelWriter` wrote."""

    def load(self, path: str) -> Any:
        """See `pyspark.ml.util.MLReader`."""
        metadata = DefaultParamsReader.loadMetadata(path, self.sparkSession)
        best: Any = DefaultParamsReader.loadParamsInstance(f"{path}/bestModel", self.sparkSession)
        trials = [Trial.from_dict(record) for record in metadata["trials"]]
        kind: Any = self.cls
        model = kind(best, metadata["told"], trials)
        model._resetUid(metadata["uid"])
        return model
