"""Conflicts for tests: delegates' templates, a node without a kernel, and what is in the way."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from multinic_cni.conflicts import conflict_on
from multinic_selectors.nics import Nic

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    Conf = Mapping[str, Any]

MACVLAN, IPVLAN = {"type": "macvlan", "mode": "bridge"}, {"type": "ipvlan"}
IPVLAN_L3 = {"type": "ipvlan", "mode": "l3"}
AWS_IPVLAN = {"type": "aws-ipvlan", "mode": "l3"}
PASSTHRU = {"type": "macvlan", "mode": "passthru"}
VLAN, HOST_DEVICE = {"type": "vlan", "vlanId": 5}, {"type": "host-device"}
OTHERS: Sequence[Conf] = [{"type": "bridge"}, {"type": "ptp"}, {"type": "my-own"}]
RDMA, TUNING = {"type": "rdma"}, {"type": "tuning"}
KINDS = {"br0": "bridge", "bond0": "bond", "team0": "team", "blue": "vrf", "bat0": "batadv"}


class Surroundings:
    """A node without a kernel: br0 is a bridge and so on; RDMA devices are mlx5_0."""

    def __init__(self, *, exclusive: bool | None = None) -> None:
        self._exclusive = exclusive
        self.asked = 0

    def kind_of(self, link: str) -> str:
        return KINDS.get(link, "")

    def rdma_is_exclusive(self) -> bool | None:
        self.asked += 1
        return self._exclusive

    def rdma_devices(self, _nic: Nic) -> Sequence[str]:
        return ["mlx5_0"]

    def scalable_function(self, nic: Nic) -> str:
        return "mlx5_core.sf.2" if nic.name == "en3b00f1s88" else ""


def nic(**words: Any) -> Nic:  # noqa: ANN401 - a NIC's words
    return Nic(index=3, name="rail0", **{"mtu": 1500, **words})


def conflict(nic: Nic, *chain: Conf, rdma: bool = False, exclusive: bool | None = None) -> str:
    return conflict_on(nic, chain, Surroundings(exclusive=exclusive), rdma=rdma)
