"""Where each axis of a plan's mesh lies in a cluster, and every group that sends together."""

from __future__ import annotations

from functools import cached_property

from costlib.parallel.cluster import Cluster, Tiers, placed
from costlib.parallel.degrees import Degrees
from costlib.units.numbers import ceil_div, maximum, minimum, where


class Mesh:
    """The tiers of a plan's groups; of arrays of plans, arrays.

    >>> from costlib.parallel import Plan
    >>> mesh = Mesh(Plan(tensor=4, data=16, expert=8), Cluster("DGX-H100", nodes=8))
    >>> mesh.expert, mesh.replicas.devices, mesh.expert_replicas.devices
    (Tiers(inside=2, across=4, fits=True), 16, 2)
    """

    def __init__(self, plan: Degrees, cluster: Cluster) -> None:
        self.plan, self.cluster = plan, cluster
        self.inner = plan.context * (plan.tensor if plan.whole_experts else 1)
        self.of_data = maximum(1, plan.expert // self.inner)  # experts' devices beyond these
        sizes = {"tensor": plan.tensor, "context": plan.context, "expert": self.of_data}
        sizes |= {"pipeline": plan.pipeline, "data": maximum(1, plan.data // self.of_data)}
        self.axes = placed(cluster, sizes, plan.order)

    @cached_property
    def expert(self) -> Tiers:
        """Devices that share a layer's experts."""
        stride = 1 if self.plan.whole_experts else self.plan.tensor
        near = minimum(self.plan.expert, self.inner)
        return self.cluster.tiers(near, stride) * self.axes["expert"]

    @cached_property
    def replicas(self) -> Tiers:
        """Devices that have the same weights."""
        return self.axes["context"] * self.axes["expert"] * self.axes["data"]

    @cached_property
    def expert_replicas(self) -> Tiers:
        """Devices that have the same experts."""
        near = minimum(self.plan.expert, self.inner)
        stride = near * (1 if self.plan.whole_experts else self.plan.tensor)
        return self.cluster.tiers(self.inner // near, stride) * self.axes["data"]

    @cached_property
    def neighbour(self) -> Tiers:
        """Two stages that follow one another: across, if any two of them are."""
        away = self.axes["pipeline"].across
        return Tiers(where(away > 1, 1, 2), where(away > 1, 2, 1))

    def sharded(self, tiers: Tiers) -> tuple[Tiers, Tiers]:
        """Replicas as groups that divide a state, and the groups that repeat it."""
        if self.plan.shard is None:
            return tiers, Tiers()
        among = minimum(self.plan.shard, tiers.devices)
        inside = minimum(among, tiers.inside)
        across = ceil_div(among, inside)
        return Tiers(inside, across), Tiers(tiers.inside // inside, tiers.across // across)
