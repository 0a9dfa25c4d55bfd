"""This node's host index: its number among all nodes, from which its shares follow. Pure.

Never a hash, never modulo: two nodes with one index give out the same addresses.
"""

from __future__ import annotations

from multinic_cni.conf.node import PATH
from multinic_cni.errors import BAD_CONF, CniError
from multinic_cni.values import Value
from multinic_ipam.networks import format_address
from multinic_selectors.nics import least_movable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from multinic_cni.conf.node import NodeFile
    from multinic_ipam.networks import Network
    from multinic_ipam.shares import Cut
    from multinic_selectors.nics import Nic


class HostIndex(Value):
    """The index, where it comes from, and what to know of other nodes."""

    number: int
    source: str
    hint: str = ""


class Derivation(Value):
    """What a NIC's own address says of the index: a number, or None and the reason."""

    number: int | None
    text: str


class ThisNode:
    """What the node's file and the net conf's `hosts` say of this node.

    The file is read when it is first needed, and once: a mistake in it is no concern of a conf
    whose addresses do not depend on the node.
    """

    def __init__(
        self,
        hosts: Mapping[str, int],
        read_node: Callable[[], NodeFile],
        host_name: Callable[[], str],
    ) -> None:
        self._hosts = hosts
        self._read_node = read_node
        self._host_name = host_name
        self._file: NodeFile | None = None

    @property
    def name(self) -> str:
        """The node's name in the net conf's words, exact; raises CniError as reading the file."""
        return self._node.name or self._host_name()

    def index_of(self, nic: str, derivation: Derivation) -> HostIndex:
        """Return the index that decides a NIC's share; CniError 7 that says how to give one."""
        index = self._index(derivation)
        if index is None:
            message = (
                f"no addresses for NIC {nic}: this node ({self.name}) has no host index:"
                f" {PATH} gives none; hosts does not name the node; {derivation.text}"
            )
            raise CniError(BAD_CONF, message, self._how_to_set_one())
        for name, number in self._hosts.items():
            if number == index.number and name != self.name:
                message = (
                    f"no addresses for NIC {nic}: host index {number} of this node ({self.name}),"
                    f" from {index.source}, is {name}'s in hosts: both would give out the same"
                    " addresses"
                )
                raise CniError(BAD_CONF, message, f"correct hosts, or hostIndex in {PATH}")
        return index

    def _index(self, derivation: Derivation) -> HostIndex | None:
        derived = derivation.number
        given, source = self._node.host_index, PATH
        if given is None and self.name in self._hosts:
            given, source = self._hosts[self.name], "hosts"
        if given is not None:
            differs = derived is not None and derived != given
            hint = f"nodes without an entry derive theirs; this one would have {derived}"
            return HostIndex(number=given, source=source, hint=hint if differs else "")
        return None if derived is None else HostIndex(number=derived, source=derivation.text)

    def _how_to_set_one(self) -> str:
        return (
            f'add "{self.name}" to the net conf\'s hosts, or put {{"hostIndex": N}} into'
            f" {PATH} on this node, with another N on each node"
        )

    @property
    def _node(self) -> NodeFile:
        if self._file is None:
            self._file = self._read_node()
        return self._file


def derive(nic: Nic, master_net: Network | None, cut: Cut, *, alone: bool) -> Derivation:
    """Take the host part of a NIC's own address in its masterNet: no other node has it there.

    Only where each host number of the masterNet has a share of its own, and where no other NIC's
    shares are cut from the same network (`alone`): that one has other neighbours, with their own
    numbers.
    """
    held = [
        each
        for each in nic.own_addresses
        if master_net is not None and master_net.holds(each[0], each[1])
    ]
    own = {number for _, number, _ in least_movable(held)}
    if master_net is None or not own:
        text = (
            "none follows from the NIC, which has no address of its own in an entry of masterNets"
        )
        return Derivation(number=None, text=text)
    if len(own) > 1:
        listed = ", ".join(format_address(master_net.version, number) for number in sorted(own))
        text = f"none follows from the NIC, which has several addresses in {master_net}: {listed}"
        return Derivation(number=None, text=text)
    (number,) = own
    where = f"{format_address(master_net.version, number)} in {master_net}"
    if not alone:
        text = f"none follows from {where}, since several masters share {cut.network}"
        return Derivation(number=None, text=text)
    if cut.network.overlaps(master_net):
        text = f"none follows from {where}, since the shares are cut from that network itself"
        return Derivation(number=None, text=text)
    hosts = master_net.size
    if cut.count < hosts:
        text = (
            f"none follows from {where}, which has {hosts} host numbers, while {cut} has"
            f" {cut.count} shares"
        )
        return Derivation(number=None, text=text)
    return Derivation(number=number - master_net.first, text=where)
