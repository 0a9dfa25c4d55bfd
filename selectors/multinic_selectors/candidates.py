"""Which NICs a pod may get at all: by name, address or rail; and what the pod asks for."""

from __future__ import annotations

from multinic_selectors.globs import is_glob, matches
from multinic_selectors.nics import natural_order

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Literal, Protocol

    from multinic_selectors.nics import Nic
    from multinic_selectors.rails import Rails

    Unhealthy = Literal["skip", "fail", "use"]

    class MasterNet(Protocol):
        """A network that can tell whether an address lies in it."""

        def holds(self, version: int, number: int) -> bool: ...


# Link kinds that are NICs although software makes them; all others (veth, bridge, macvlan, tun …)
# must be named.
NIC_KINDS = frozenset({"", "bond", "team", "vlan"})


class SelectionError(Exception):
    """No permitted choice of NICs exists; `reasons` are (NIC or entry of the conf, why not).

    `summary` is the message without these.
    """

    def __init__(
        self, message: str, reasons: Sequence[tuple[str, str]] = (), summary: str = ""
    ) -> None:
        super().__init__(message)
        self.reasons = reasons
        self.summary = summary or message


class Admin:
    """What the net conf allows. Empty `master_nets`, `masters` and no `rails` allow every NIC.

    `takes_nics` says that the delegate moves the NIC itself into the pod and sets it up there: a
    NIC that is down is as good as any.
    """

    __slots__ = (
        "master_nets",
        "masters",
        "min_nics",
        "nics",
        "rails",
        "takes_nics",
        "unhealthy",
    )

    def __init__(
        self,
        *,
        master_nets: Sequence[MasterNet] = (),
        masters: Sequence[str] = (),
        rails: Rails | None = None,
        nics: int | None = None,
        min_nics: int = 1,
        unhealthy: Unhealthy = "skip",
        takes_nics: bool = False,
    ) -> None:
        self.master_nets = master_nets
        self.masters = masters
        self.rails = rails
        self.nics = nics
        self.min_nics = min_nics
        self.unhealthy = unhealthy
        self.takes_nics = takes_nics


class Wish:
    """What the pod asks for; it can only narrow what the admin allows.

    `devices` are the NICs that a device plugin has given to the pod: these, all of them, no others.
    """

    __slots__ = ("devices", "masters", "nics")

    def __init__(
        self,
        *,
        masters: Sequence[str] = (),
        nics: int | None = None,
        devices: Sequence[str] = (),
    ) -> None:
        self.masters = masters
        self.nics = nics
        self.devices = devices


class Choice:
    """A NIC and its place: that of its rail, or where it stands in masterNets, then in masters.

    The place is the index of the NIC's pool and of its rail, so it depends on the net conf alone,
    never on which other NICs are there. None when the conf names none of them. `megabits` are what
    the pod's target takes of the NIC's bandwidth.
    """

    __slots__ = ("megabits", "nic", "place")

    def __init__(self, nic: Nic, place: int | None, megabits: int = 0) -> None:
        self.nic = nic
        self.place = place
        self.megabits = megabits


def candidates_among(
    nics: Sequence[Nic], admin: Admin
) -> tuple[list[Choice], list[tuple[str, str]]]:
    """Return the candidates by place, then by name, and (name, why not) of the others."""
    refused: list[tuple[str, str]] = []
    candidates: list[Choice] = []
    for nic in sorted(nics, key=lambda nic: natural_order(nic.name)):
        reason = _why_no_candidate(nic, admin)
        if reason:
            refused.append((nic.name, reason))
        else:
            candidates.append(Choice(nic, _place(nic, admin)))
    candidates.sort(key=lambda choice: _rank(choice, admin))  # stable: then by name
    return candidates, refused


def _why_no_candidate(nic: Nic, admin: Admin) -> str:
    reason = _why_never(nic)
    if reason:
        return reason
    if admin.rails is not None:
        return "" if nic.name in admin.rails.places else "it is none of the rails"
    named_exactly = any(is_named(nic, master) for master in admin.masters if not is_glob(master))
    if named_exactly or _net_place(nic, admin) < len(admin.master_nets):
        return ""
    if admin.masters or admin.master_nets:
        if not any(is_named(nic, master) for master in admin.masters):
            return "neither its name nor its addresses are in " + " or ".join(
                key
                for key, given in (("masters", admin.masters), ("masterNets", admin.master_nets))
                if given
            )
    elif nic.kind not in NIC_KINDS:
        return f"it is a {nic.kind}: name it in masters to use it"
    if nic.enslaved_to:
        return f"it is a port of {nic.enslaved_to}: name it exactly in masters to use it"
    if nic.uplink:
        return f"{nic.uplink}: name it exactly in masters to use it"
    return ""


def _why_never(nic: Nic) -> str:
    if nic.loopback:
        return "it is the loopback"
    if any("\udc80" <= character <= "\udcff" for character in nic.name):
        return "its name is not UTF-8"  # so that no document could hold it
    if nic.is_vlan_of_pods:
        return f"it is the VLAN of pods on {nic.stands_on}, and goes with the last of them"
    return ""


def check_wish(candidates: Sequence[Choice], wish: Wish) -> None:
    """Raise SelectionError for what a pod asks for, or was given, outside the candidates."""
    allowed = ", ".join(choice.nic.name for choice in candidates) or "none"
    for master in wish.masters:
        if not any(is_named(choice.nic, master) for choice in candidates):
            message = (
                f"the pod asks for master {master!r}, which this network does not allow or this"
                f" node does not have; allowed here: {allowed}"
            )
            raise SelectionError(message)
    for name in wish.devices:
        if not any(choice.nic.name == name for choice in candidates):
            message = (
                f"the runtime has given the pod NIC {name}, which this network does not allow;"
                f" allowed here: {allowed}"
            )
            raise SelectionError(message)


def is_named(nic: Nic, pattern: str) -> bool:
    return any(matches(name, pattern) for name in (nic.name, *nic.altnames))


def _net_place(nic: Nic, admin: Admin) -> int:
    for place, net in enumerate(admin.master_nets):
        if any(net.holds(version, number) for version, number, _ in nic.addresses):
            return place
    return len(admin.master_nets)


def _rank(choice: Choice, admin: Admin) -> int:
    """Return what sorts the candidates: rails and masterNets have an order, masters have none."""
    return admin.rails.places[choice.nic.name] if admin.rails else _net_place(choice.nic, admin)


def _place(nic: Nic, admin: Admin) -> int | None:
    if admin.rails is not None:
        return admin.rails.places[nic.name]
    place = _net_place(nic, admin)
    if place < len(admin.master_nets):
        return place
    for offset, master in enumerate(admin.masters):
        if is_named(nic, master):
            return place + offset
    return None


def unmatched(nics: Sequence[Nic], admin: Admin) -> list[tuple[str, str]]:
    """Return the entries of the conf that no NIC of the node fits."""
    if admin.rails is not None:
        return list(admin.rails.missing)
    nets = [
        (str(net), "no NIC has an address in this masterNet")
        for net in admin.master_nets
        if not any(net.holds(each[0], each[1]) for nic in nics for each in nic.addresses)
    ]
    names = [
        (master, "no NIC has this name")
        for master in admin.masters
        if not any(is_named(nic, master) for nic in nics)
    ]
    return nets + names
