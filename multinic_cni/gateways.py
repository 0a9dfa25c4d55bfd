"""Do the gateways of the chosen NICs answer? Asked while the NICs still are on the node.

The questions are those of the conflict probe, and have no sender: an address that is not proven to
be the pod's must not stand in a neighbour's cache. All NICs are asked in one loop.

Only silence is a verdict here. Who answers may be a proxy for everything: pods will hear it, too.
"""

from __future__ import annotations

import time

from multinic_cni.addressing import uses_store
from multinic_cni.cancellation import cancelled
from multinic_cni.errors import NO_NICS, TRY_AGAIN, CniError, io_failure
from multinic_cni.log import log
from multinic_cni.netlink import Netlink
from multinic_cni.route_netlink import routes_of
from multinic_cni.values import Value
from multinic_cni.wires import Wire, close_all, listen, warn_of_no_verdict
from multinic_ipam.networks import format_address
from multinic_selectors.nics import ETHERNET

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from multinic_cni.addressing import Alternatives
    from multinic_cni.conf.netconf import NetConf
    from multinic_cni.frames import Claim
    from multinic_selectors.candidates import Choice
    from multinic_selectors.nics import Nic
    from multinic_selectors.selection import Selection

FRAMES = 3  # to each gateway: one may get lost, or two
INTERVAL_SECONDS = 0.2  # after each of them: routers answer such questions beside their work


class Gateway(Value):
    """A NIC's gateway."""

    nic: str
    version: int
    number: int

    @property
    def address(self) -> str:
        return format_address(self.version, self.number)


class GatewayCheck:
    """What one call asks of its NICs' gateways, by routing.gatewayCheck: warn, skip or fail.

    `pools_of` returns each chosen NIC's name and pools.
    """

    def __init__(
        self,
        conf: NetConf,
        deadline: float,
        pools_of: Callable[[Sequence[Choice]], Sequence[tuple[str, Alternatives]]],
    ) -> None:
        self._policy = conf.routing.gateway_check if conf.routing else "off"
        self._has_pools = uses_store(conf)
        self._deadline = deadline
        self._pools_of = pools_of

    def select(self, select: Callable[[Mapping[str, str]], Selection]) -> Selection:
        """Choose NICs; CniError 100 where gateways do not answer and the policy says `fail`.

        `select` chooses once more, without the NICs of which something was found out (`skip`).
        """
        silent: dict[str, str] = {}
        asked: set[str] = set()
        while True:
            selection = select(silent)
            fresh = [each for each in selection.chosen if each.nic.name not in asked]
            asked.update(each.nic.name for each in fresh)
            found = self._silence_of(fresh)
            if not found:
                return selection
            if self._policy == "fail":
                raise _no_answer(found)
            for nic, reason in found.items():
                log.warning(f"NIC {nic}: {reason}")
            if self._policy == "warn":
                return selection
            silent |= found

    def _silence_of(self, choices: Sequence[Choice]) -> dict[str, str]:
        """Return each NIC with a gateway that does not answer, and the reason to say."""
        nics = [choice for choice in choices if _can_be_asked(choice.nic)]
        if not nics:
            return {}
        if time.monotonic() > self._deadline:
            raise CniError(TRY_AGAIN, "the deadline (timeout) passed while gateways were asked")
        gateways = gateways_in(self._pools_of(nics)) if self._has_pools else gateways_on_node(nics)
        for name in {choice.nic.name for choice in nics}.difference(each.nic for each in gateways):
            log.info(f"NIC {name} has no gateway that could be asked")
        silent: dict[str, list[str]] = {}
        for each in silent_among(gateways):
            silent.setdefault(each.nic, []).append(each.address)
        if cancelled():
            raise CniError(TRY_AGAIN, "the runtime called the plugin off")
        return {nic: _in_words(addresses) for nic, addresses in silent.items()}


def _can_be_asked(nic: Nic) -> bool:
    why_not = "" if nic.up else "it is down"
    if nic.medium != ETHERNET:
        why_not = "it is no Ethernet"
    if why_not:
        log.info(f"NIC {nic.name}: its gateway is not asked: {why_not}")
    return not why_not


def _in_words(addresses: Sequence[str]) -> str:
    if len(addresses) == 1:
        return f"its gateway {addresses[0]} does not answer"
    return f"its gateways {', '.join(addresses)} do not answer"


def _no_answer(found: Mapping[str, str]) -> CniError:
    message = "; ".join(f"NIC {nic}: {reason}" for nic, reason in found.items())
    details = (
        f"each was asked {FRAMES} times, by ARP or neighbour discovery (routing.gatewayCheck is"
        " fail): see the cable, the switch port's VLAN, the router, and the gateway in the net conf"
    )
    return CniError(NO_NICS, message, details)


def gateways_in(pools: Sequence[tuple[str, Alternatives]]) -> list[Gateway]:
    """Return the gateways of all pools that a NIC's address may come from, each once."""
    found = {
        (nic, pool.block.version, pool.gateway): None
        for nic, families in pools
        for family in families
        for pool in family
        if pool.gateway is not None
    }
    return [Gateway(nic=nic, version=version, number=number) for nic, version, number in found]


def gateways_on_node(choices: Sequence[Choice]) -> list[Gateway]:
    """Return the gateways of the default routes that leave by the NICs; CniError 5.

    Those of all tables: on a host of many rails, each has one of its own.
    """
    names = {choice.nic.index: choice.nic.name for choice in choices}
    try:
        found = dict.fromkeys(_default_gateways())
    except OSError as error:
        raise io_failure("list the node's routes", error) from error
    return [
        Gateway(nic=names[link], version=version, number=number)
        for link, version, number in found
        if link in names
    ]


def _default_gateways() -> Iterator[tuple[int, int, int]]:
    netlink = Netlink()
    try:
        for version in (4, 6):
            for route in routes_of(netlink, version):
                for hop in route.hops if route.prefix_length == 0 else ():
                    if hop.gateway:
                        yield hop.link, version, hop.gateway
    finally:
        netlink.close()


def silent_among(gateways: Sequence[Gateway]) -> list[Gateway]:
    """Ask for all gateways at once; return those that did not answer any of some questions.

    A NIC that cannot be asked is logged, and its gateways are none of them.
    """
    by_nic: dict[str, list[Gateway]] = {}
    for gateway in gateways:
        by_nic.setdefault(gateway.nic, []).append(gateway)
    wires: list[_GatewayWire] = []
    try:
        for nic, own in by_nic.items():
            try:
                wires.append(_GatewayWire(nic, own))
            except OSError as error:
                warn_of_no_verdict(nic, error)
        _ask_and_listen(wires)
        return [gateway for wire in wires if not wire.is_broken for gateway in wire.silent()]
    finally:
        close_all([wire.socket for wire in wires])


def _ask_and_listen(wires: Sequence[_GatewayWire]) -> None:
    def is_enough() -> bool:
        return cancelled() or all(wire.is_done() for wire in wires)

    for _ in range(FRAMES):
        if is_enough():
            return
        for wire in wires:
            wire.ask()
        listen(wires, INTERVAL_SECONDS, is_enough=is_enough)


class _GatewayWire(Wire):
    """A NIC's network, and the gateways there that have not answered yet."""

    def __init__(self, nic: str, gateways: Sequence[Gateway]) -> None:
        self._silent = {(gateway.version, gateway.number): gateway for gateway in gateways}
        super().__init__(nic, list(self._silent))

    def ask(self) -> None:
        for version, number in self._silent:
            self.ask_for(version, number)

    def take(self, claim: Claim) -> None:
        if not claim.probing:  # who asks whether he can have the address does not have it yet
            self._silent.pop((claim.version, claim.number), None)

    def is_done(self) -> bool:
        return self.is_broken or not self._silent

    def silent(self) -> list[Gateway]:
        return list(self._silent.values())
