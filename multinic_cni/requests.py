"""Addresses and a MAC that a pod asks for, and who is to give them. Pure.

Nobody has checked what a pod's author wrote: what cannot be served is an error that names the
source and the value, never left out in silence.
"""

from __future__ import annotations

from multinic_cni.addressing import ipam_without_nic, uses_store
from multinic_cni.conf import formats
from multinic_cni.conf.problems import shortened
from multinic_cni.delegate_types import NEVER_A_MAC, NO_MAC_THEMSELVES
from multinic_cni.delegates import NOTHING, Wanted, chain_confs, ipam_type, mac_setter
from multinic_cni.errors import BAD_CONF, DELEGATE_FAILED, CniError
from multinic_cni.values import Value
from multinic_ipam.networks import NetworkError, format_address, parse_address, split_cidr

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from multinic_cni.attachments.record import NicRecord
    from multinic_cni.conf.netconf import NetConf
    from multinic_cni.invocation import Invocation
    from multinic_cni.merge import PodLink
    from multinic_cni.result import Result

GROUP_BIT = 1  # of a MAC's first byte


class Asked(Value):
    """One address; `length` is None where none was given. `source` is where it stands."""

    version: int
    number: int
    length: int | None
    source: str

    def __str__(self) -> str:
        text = format_address(self.version, self.number)
        return text if self.length is None else f"{text}/{self.length}"


class Requests(Value):
    """All that a pod asks for: each address once, in the order of the sources, and one MAC."""

    addresses: tuple[Asked, ...] = ()
    mac: str = ""


def read_requests(call: Invocation, conf: NetConf) -> Requests:
    """Read what the pod asks for; Multus sends the same in two places. CniError 7."""
    return Requests(addresses=_addresses(call, conf), mac=_mac(call, conf))


def without_served(requests: Requests, previous: Result) -> Requests:
    """Leave out what a plugin before us in the chain has served: its requests reach us, too."""
    macs = {each.mac.lower() for each in previous.interfaces if each.sandbox}
    addresses = {_number(ip.address) for ip in previous.ips}
    return Requests(
        addresses=tuple(
            asked for asked in requests.addresses if (asked.version, asked.number) not in addresses
        ),
        mac="" if requests.mac in macs else requests.mac,
    )


def _addresses(call: Invocation, conf: NetConf) -> tuple[Asked, ...]:
    sources = [
        ("runtimeConfig.ips", conf.runtime_config.get("ips")),
        *(("CNI_ARGS IP", value) for key, value in call.cni_args if key.upper() == "IP"),
        ("args.cni.ips", conf.cni_args.get("ips")),
    ]
    by_address: dict[tuple[int, int], Asked] = {}
    for asked in (
        _asked(source, text) for source, value in sources for text in _texts(source, value)
    ):
        other = by_address.setdefault((asked.version, asked.number), asked)
        if other.length is None:
            by_address[asked.version, asked.number] = asked
        elif asked.length not in {None, other.length}:
            message = f"{other.source} {other} and {asked.source} {asked} have different lengths"
            raise CniError(BAD_CONF, message)
    return tuple(by_address.values())


def _texts(source: str, value: object) -> list[str]:
    """Return the texts of a list, or of one string with commas."""
    if value is None or value == "":
        return []
    listed = value.split(",") if isinstance(value, str) else value
    if not isinstance(listed, list) or not all(isinstance(text, str) for text in listed):
        message = f"{source}: must be a list of addresses, not {shortened(value)}"
        raise CniError(BAD_CONF, message)
    return listed


def _asked(source: str, text: str) -> Asked:
    text = text.strip()
    try:
        version, number, length = split_cidr(text) if "/" in text else (*parse_address(text), None)
    except NetworkError:
        message = f"{source}: {shortened(text)} is no address such as 10.1.0.7 or 10.1.0.7/24"
        raise CniError(BAD_CONF, message) from None
    return Asked(version=version, number=number, length=length, source=source)


def _mac(call: Invocation, conf: NetConf) -> str:
    sources = [
        ("runtimeConfig.mac", conf.runtime_config.get("mac")),
        *(("CNI_ARGS MAC", value) for key, value in call.cni_args if key.upper() == "MAC"),
        ("args.cni.mac", conf.cni_args.get("mac")),
    ]
    asked = [
        (source, _unicast(source, value))
        for source, value in sources
        if value is not None and value != ""
    ]
    for source, mac in asked:
        if mac != asked[0][1]:
            message = f"{asked[0][0]} {asked[0][1]} and {source} {mac}: one interface has one MAC"
            raise CniError(BAD_CONF, message)
    return asked[0][1] if asked else ""


def _unicast(source: str, value: object) -> str:
    """Return a MAC as the kernel and the plugins write it: CHECK of some compares texts."""
    if not isinstance(value, str) or formats.mac(value):
        problem = "is no MAC such as 02:00:5e:10:00:01"
    elif int(value[:2], 16) & GROUP_BIT:
        problem = "is a group's, which no interface can have"
    elif not value.strip("0:"):
        problem = "is no interface's"
    else:
        return value.lower()
    raise CniError(BAD_CONF, f"{source}: {shortened(value)} {problem}")


def for_delegates(
    requests: Requests, conf: NetConf, ifname: str, nics: Sequence[tuple[str, str]]
) -> list[Wanted]:
    """Return what the delegates of each NIC are asked for; `nics` are (name, inner name).

    CniError 7 for a request that none of them can serve. Addresses of our own store go through
    `assign` instead.
    """
    wanted = [NOTHING] * len(nics)
    if requests.addresses and not uses_store(conf):
        wanted = _of_other_ipam(requests.addresses, conf, [name for name, _ in nics])
    if requests.mac:
        place = _place_of_mac(requests.mac, conf, ifname, nics)
        wanted[place] = wanted[place].but(mac=requests.mac)
    return wanted


def _of_other_ipam(addresses: Sequence[Asked], conf: NetConf, nics: Sequence[str]) -> list[Wanted]:
    """Share addresses out by order, the operator's way: nobody here knows whose pool has which."""
    kind = ipam_type(chain_confs(conf, None, ipam_without_nic(conf)))
    texts = [str(asked) for asked in addresses]
    if conf.ipam.get("type") == "host-device-ipam":
        problem = "the addresses are the NIC's own (ipam host-device-ipam)"
    elif not kind:
        problem = "the network has no addresses (no ipam)"
    elif kind == "dhcp":
        problem = "the DHCP server chooses the addresses (ipam dhcp)"
    elif kind == "static" and any(asked.length is None for asked in addresses):
        problem = "the static plugin needs a prefix length, such as 10.1.0.7/24"
    elif len(nics) == 1:
        return [Wanted(ips=tuple(texts))]
    elif len(nics) == len(texts):
        return [Wanted(ips=(text,)) for text in texts]
    else:
        problem = f"must be one address for each NIC, in this order: {', '.join(nics)}"
    listed = ", ".join(f"{asked.source} {asked}" for asked in addresses)
    raise CniError(BAD_CONF, f"{listed}: {problem}")


def _place_of_mac(mac: str, conf: NetConf, ifname: str, nics: Sequence[tuple[str, str]]) -> int:
    kind = str(conf.chain[0]["type"])
    if mac_setter(conf.chain) is None:
        reason = NEVER_A_MAC.get(kind) or NO_MAC_THEMSELVES[kind]
        message = f"the MAC {mac} cannot be given by {kind}: {reason}"
        behind = "a delegate behind it that declares the capability mac, such as tuning, could"
        raise CniError(BAD_CONF, message, "" if kind in NEVER_A_MAC else behind)
    names = [inner for _, inner in nics]
    if len(names) > 1 and ifname not in names:
        message = (
            f"the MAC {mac} is for the interface {ifname} (CNI_IFNAME), but the pod's interfaces"
            f" of this network are {', '.join(names)}"
        )
        raise CniError(BAD_CONF, message, "see interfaceNames in the net conf, or take one NIC")
    return names.index(ifname) if len(names) > 1 else 0


def refuse_ignored(
    wanted: Sequence[Wanted], nics: Sequence[NicRecord], links: Mapping[str, PodLink]
) -> None:
    """Raise CniError 104 where delegates have ended well but not given what the pod asks for.

    `nics` have their results; `links` are the pod's by name.
    """
    for asked, nic in zip(wanted, nics, strict=True):
        where = f"on NIC {nic.nic} ({nic.ifname})"
        given = {_number(ip.address) for ip in (nic.result.ips if nic.result else ())}
        missing = [text for text in asked.ips if _number(text) not in given]
        if missing:
            message = (
                f"delegate {nic.confs[0]['type']} {where}: {ipam_type(nic.confs)} has not given"
                f" {', '.join(missing)}, which the pod asks for"
            )
            raise CniError(DELEGATE_FAILED, message)
        mac = links[nic.ifname].mac if nic.ifname in links else "none"
        if asked.mac and mac != asked.mac:
            setter = nic.confs[mac_setter(nic.confs) or 0]["type"]
            message = f"delegate {setter} {where}: the MAC is {mac}, the pod asks for {asked.mac}"
            details = "it may know no runtimeConfig.mac, or the net conf may set another MAC"
            raise CniError(DELEGATE_FAILED, message, details)


def _number(text: str) -> tuple[int, int]:
    return parse_address(text.partition("/")[0])
