"""What a NIC was and had on the node before it went into a pod. Pure.

Links stand in it by name: when it is read, an index may be another link's.
"""

from __future__ import annotations

from multinic_cni.values import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from multinic_cni.route_messages import KernelRoute, Rule


class FormerAddress(Value):
    """An address of the NIC; `flags` are those that somebody has set, `label` is IPv4's."""

    version: int
    number: int
    length: int
    peer: int = 0
    broadcast: int = 0
    scope: int = 0
    flags: int = 0
    metric: int = 0
    label: str = ""


class FormerHop(Value):
    """A next hop by the name of its link, of the NIC or of another one."""

    dev: str
    gateway: int = 0
    weight: int = 1
    onlink: bool = False


class FormerRoute(Value):
    """A route over the NIC: `hops` are its next hops, which `route` itself has none of."""

    route: KernelRoute
    hops: tuple[FormerHop, ...]


class Former(Value):
    """What a NIC was on the node. `device` is as a Link's; with the permanent MAC it tells the NIC.

    What it had is noted only where somebody wants it; `restore`: it gets all of it back. `modes`
    are a Link's.
    """

    mtu: int = 0
    up: bool = False
    permanent_mac: str = ""
    device: str = ""
    altnames: tuple[str, ...] = ()
    restore: bool = False
    alias: str = ""
    modes: int = 0
    addresses: tuple[FormerAddress, ...] = ()
    routes: tuple[FormerRoute, ...] = ()
    rules: tuple[Rule, ...] = ()

    @property
    def is_known(self) -> bool:
        """Tell whether it says anything: records of earlier releases do not."""
        return self.mtu > 0


NOTHING = Former()
