"""Which NICs a pod gets: the admin's candidates, narrowed by the pod, less the unhealthy ones."""

from __future__ import annotations

from multinic_selectors.globs import is_glob, matches
from multinic_selectors.nics import natural_order

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Literal, Protocol

    from multinic_selectors.nics import Nic

    Unhealthy = Literal["skip", "fail", "use"]

    class MasterNet(Protocol):
        """A network that can tell whether an address lies in it."""

        def holds(self, version: int, number: int) -> bool: ...


# Link kinds that are NICs although software makes them; all others (veth, bridge, macvlan, tun …)
# must be named.
NIC_KINDS = frozenset({"", "bond", "team", "vlan"})


class SelectionError(Exception):
    """No permitted choice of NICs exists."""


class Admin:
    """What the net conf allows. Empty `master_nets` and `masters` allow every NIC.

    `takes_nics` says that the delegate moves the NIC itself into the pod and sets it up there: a
    NIC that is down is as good as any.
    """

    __slots__ = ("master_nets", "masters", "min_nics", "nics", "takes_nics", "unhealthy")

    def __init__(
        self,
        *,
        master_nets: Sequence[MasterNet] = (),
        masters: Sequence[str] = (),
        nics: int | None = None,
        min_nics: int = 1,
        unhealthy: Unhealthy = "skip",
        takes_nics: bool = False,
    ) -> None:
        self.master_nets = master_nets
        self.masters = masters
        self.nics = nics
        self.min_nics = min_nics
        self.unhealthy = unhealthy
        self.takes_nics = takes_nics


class Wish:
    """What the pod asks for; it can only narrow what the admin allows."""

    __slots__ = ("masters", "nics")

    def __init__(self, *, masters: Sequence[str] = (), nics: int | None = None) -> None:
        self.masters = masters
        self.nics = nics


class Choice:
    """A chosen NIC and its place: where it stands in masterNets, after those in masters.

    The place is the index of the NIC's pool and of its rail, so it depends on the net conf alone,
    never on which other NICs are there. None when the conf names neither.
    """

    __slots__ = ("nic", "place")

    def __init__(self, nic: Nic, place: int | None) -> None:
        self.nic = nic
        self.place = place


class Selection:
    """The chosen NICs in order, and for each other NIC (name, why it was not taken).

    `unhealthy` are those that would have been taken if they were in order.
    """

    __slots__ = ("chosen", "refused", "unhealthy")

    def __init__(
        self,
        chosen: Sequence[Choice],
        refused: Sequence[tuple[str, str]],
        unhealthy: Sequence[tuple[str, str]],
    ) -> None:
        self.chosen = chosen
        self.refused = refused
        self.unhealthy = unhealthy


def select(nics: Sequence[Nic], admin: Admin, wish: Wish) -> Selection:
    """Choose by policy `none`; raises SelectionError that lists every NIC and why not."""
    refused: list[tuple[str, str]] = []
    candidates: list[Choice] = []
    for nic in sorted(nics, key=lambda nic: natural_order(nic.name)):
        reason = _why_no_candidate(nic, admin)
        if reason:
            refused.append((nic.name, reason))
        else:
            candidates.append(Choice(nic, _place(nic, admin)))
    candidates.sort(key=lambda choice: _net_place(choice.nic, admin))  # stable: then by name
    _check_wish(candidates, wish)
    asked = [choice for choice in candidates if _is_asked_for(choice.nic, wish)]
    refused += [
        (choice.nic.name, "the pod asks for other masters")
        for choice in candidates
        if choice not in asked
    ]
    limits = [limit for limit in (admin.nics, wish.nics) if limit is not None]
    chosen: list[Choice] = []
    unhealthy: list[tuple[str, str]] = []
    for choice in asked:
        if len(chosen) in limits:
            refused.append((choice.nic.name, f"{len(chosen)} are enough"))
        elif _is_unhealthy(choice.nic, admin):
            unhealthy.append((choice.nic.name, choice.nic.trouble))
        else:
            chosen.append(choice)
    # A pod that asks for less than the admin's least gets what it asks for.
    needed = max(1, min([admin.min_nics, *limits, *([len(asked)] if wish.masters else [])]))
    if len(chosen) < needed:
        raise SelectionError(
            _too_few(chosen, needed, [*_unmatched(nics, admin), *unhealthy, *refused])
        )
    return Selection(chosen, refused, unhealthy)


def _is_asked_for(nic: Nic, wish: Wish) -> bool:
    return not wish.masters or any(_is_named(nic, master) for master in wish.masters)


def _why_no_candidate(nic: Nic, admin: Admin) -> str:
    if nic.loopback:
        return "it is the loopback"
    if any("\udc80" <= character <= "\udcff" for character in nic.name):
        return "its name is not UTF-8"  # so that no document could hold it
    named_exactly = any(_is_named(nic, master) for master in admin.masters if not is_glob(master))
    if named_exactly or _net_place(nic, admin) < len(admin.master_nets):
        return ""
    if admin.masters or admin.master_nets:
        if not any(_is_named(nic, master) for master in admin.masters):
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


def _is_unhealthy(nic: Nic, admin: Admin) -> bool:
    if admin.takes_nics and not nic.up:
        return False  # nor can anybody know whether it will have a carrier
    if nic.trouble and admin.unhealthy == "fail":
        message = f"NIC {nic.name} is wanted, but {nic.trouble} (attachPolicy.unhealthy is fail)"
        raise SelectionError(message)
    return bool(nic.trouble) and admin.unhealthy == "skip"


def _check_wish(candidates: Sequence[Choice], wish: Wish) -> None:
    for master in wish.masters:
        if not any(_is_named(choice.nic, master) for choice in candidates):
            allowed = ", ".join(choice.nic.name for choice in candidates) or "none"
            message = (
                f"the pod asks for master {master!r}, which this network does not allow or this"
                f" node does not have; allowed here: {allowed}"
            )
            raise SelectionError(message)


def _is_named(nic: Nic, pattern: str) -> bool:
    return any(matches(name, pattern) for name in (nic.name, *nic.altnames))


def _net_place(nic: Nic, admin: Admin) -> int:
    for place, net in enumerate(admin.master_nets):
        if any(net.holds(version, number) for version, number, _ in nic.addresses):
            return place
    return len(admin.master_nets)


def _place(nic: Nic, admin: Admin) -> int | None:
    place = _net_place(nic, admin)
    if place < len(admin.master_nets):
        return place
    for offset, master in enumerate(admin.masters):
        if _is_named(nic, master):
            return place + offset
    return None


def _unmatched(nics: Sequence[Nic], admin: Admin) -> list[tuple[str, str]]:
    """Return the entries of the conf that no NIC of the node fits."""
    nets = [
        (str(net), "no NIC has an address in this masterNet")
        for net in admin.master_nets
        if not any(net.holds(each[0], each[1]) for nic in nics for each in nic.addresses)
    ]
    names = [
        (master, "no NIC has this name")
        for master in admin.masters
        if not any(_is_named(nic, master) for nic in nics)
    ]
    return nets + names


def _too_few(chosen: Sequence[Choice], needed: int, refused: Sequence[tuple[str, str]]) -> str:
    reasons = [f"{choice.nic.name}: usable" for choice in chosen]
    reasons += [f"{name}: {reason}" for name, reason in refused]
    listed = "; ".join(reasons) or "the node has no NIC"
    nics = "1 NIC" if needed == 1 else f"{needed} NICs"
    return f"{nics} needed, {len(chosen)} usable on this node ({listed})"
