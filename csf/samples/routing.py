"""Where metadata of a search goes: to the fit of its base, and to its splitter."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sklearn.model_selection import StratifiedKFold
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping, process_routing

from csf._common.typing import Estimator
from csf._sklearn import DocLinkMixin, routing_enabled

__all__ = ["BaseRoutingMixin"]


class BaseRoutingMixin(DocLinkMixin):
    """Routes arguments of ``fit``; the class that uses it has the parameters ``base`` and ``cv``."""

    base: Estimator
    cv: Any

    def _route(self, fit_params: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
        """Arguments of the base's fit and of the splitter."""
        if routing_enabled():
            routed = process_routing(self, "fit", **fit_params)
            return dict(routed.base.fit), dict(routed.splitter.split)
        groups = {"groups": fit_params["groups"]} if "groups" in fit_params else {}
        return {name: value for name, value in fit_params.items() if name != "groups"}, groups

    def get_metadata_routing(self) -> MetadataRouter:
        """Routing of ``sample_weight`` to this object, of other arguments to the base and the splitter.

        Returns
        -------
        MetadataRouter
            The router.
        """
        router = MetadataRouter(owner=self).add_self_request(self)
        router.add(base=self.base, method_mapping=MethodMapping().add(caller="fit", callee="fit"))
        splitter = self.cv if hasattr(self.cv, "split") else StratifiedKFold()
        return router.add(splitter=splitter, method_mapping=MethodMapping().add(caller="fit", callee="split"))
