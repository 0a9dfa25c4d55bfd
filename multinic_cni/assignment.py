"""Which NIC each address that a pod asks for goes to, by the NICs' pools. Pure."""

from __future__ import annotations

from multinic_cni.errors import BAD_CONF, NO_ADDRESS, CniError
from multinic_ipam.networks import BITS, Network, format_address

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from multinic_cni.addressing import Alternatives
    from multinic_cni.requests import Asked, Requests

    Slot = tuple[int, int]  # an address that a NIC can have: the NIC's place, the family


def assign(requests: Requests, nics: Sequence[tuple[str, Alternatives]]) -> list[dict[int, int]]:
    """Give each address to the NIC whose pool has it; return each NIC's, from family to address.

    `nics` are (name, pools by family). Where a NIC has nothing for a family, any address will do;
    whether an address is taken, the store knows. CniError 101 for one that no pool can give, 7 for
    a wrong length and for one too many.
    """
    homes = [_homes(asked, nics) for asked in requests.addresses]
    settled: dict[Slot, int] = {}
    for place, asked in enumerate(requests.addresses):
        if not _settle(place, homes, settled, set()):
            names = ", ".join(nics[nic][0] for nic, _ in homes[place])
            message = (
                f"{asked.source} {asked}: NIC {names} has another requested address already, and"
                " an interface gets one per family"
            )
            raise CniError(BAD_CONF, message)
    assigned: list[dict[int, int]] = [{} for _ in nics]
    for (nic, version), place in settled.items():
        assigned[nic][version] = requests.addresses[place].number
    return assigned


def _settle(
    place: int, homes: Sequence[Sequence[Slot]], settled: dict[Slot, int], tried: set[Slot]
) -> bool:
    """Settle an address in the first of its homes that is free, or that another can leave."""
    for slot in sorted(homes[place], key=settled.__contains__):
        if slot in tried:
            continue
        tried.add(slot)
        if slot not in settled or _settle(settled[slot], homes, settled, tried):
            settled[slot] = place
            return True
    return False


def _homes(asked: Asked, nics: Sequence[tuple[str, Alternatives]]) -> list[Slot]:
    """Return where an address could be: NICs in one network have the same pools."""
    homes = []
    for place, (name, alternatives) in enumerate(nics):
        for pool in (pool for pools in alternatives for pool in pools):
            if not pool.holds(asked.version, asked.number) or pool.excludes(asked.number):
                continue
            if asked.length not in {None, pool.prefix_length, BITS[asked.version]}:
                message = (
                    f"{asked.source} {asked}: addresses of NIC {name} have prefix length"
                    f" {pool.prefix_length}"
                )
                raise CniError(BAD_CONF, message)
            homes.append((place, asked.version))
    if not homes:
        message = f"{asked.source} {asked} cannot be given: {_why_not(asked, nics)}"
        listed = "; ".join(
            f"{name} {', '.join(str(pool) for pools in alternatives for pool in pools)}"
            for name, alternatives in nics
        )
        raise CniError(NO_ADDRESS, message, f"pools of the chosen NICs: {listed}")
    return homes


def _why_not(asked: Asked, nics: Sequence[tuple[str, Alternatives]]) -> str:
    pools = [
        (name, pool)
        for name, alternatives in nics
        for family in alternatives
        for pool in family
        if pool.block.version == asked.version
    ]
    for name, pool in pools:
        if asked.number == pool.gateway:
            return f"it is the gateway of NIC {name}'s pool {pool}"
        if pool.holds(asked.version, asked.number):
            return (
                f"it is reserved in NIC {name}'s pool {pool}: a gateway, an address of the node"
                " itself, or excluded by the net conf"
            )
    for name, pool in pools:
        link = Network.around(asked.version, pool.block.first, pool.prefix_length)
        if link.holds(asked.version, asked.number):
            return (
                f"it is in NIC {name}'s network {link}, but not among what this node gives:"
                f" {format_address(asked.version, pool.start)} to"
                f" {format_address(asked.version, pool.end)}"
            )
    return "it is in no chosen NIC's network"
