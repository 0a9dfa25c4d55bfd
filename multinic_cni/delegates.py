"""Delegates: the conf that each gets for one NIC. Pure."""

from __future__ import annotations

from multinic_cni.delegate_types import (
    DEVICE_KEYS,
    FIND_THE_FUNCTION,
    NEVER_A_MAC,
    NIC_KEYS,
    NO_MAC_THEMSELVES,
    ONE_AFTER_ANOTHER,
    PER_INTERFACE_ARGS,
    PER_INTERFACE_CAPABILITIES,
    TAKE_AN_MTU,
)
from multinic_cni.values import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from multinic_cni.conf.netconf import NetConf

    Conf = Mapping[str, Any]


class Wanted(Value):
    """What the pod asks the delegates of one NIC for: addresses of its IPAM plugin, and a MAC."""

    ips: tuple[str, ...] = ()
    mac: str = ""


NOTHING = Wanted()
LONGEST_LINK_NAME, HIGHEST_VLAN = 15, 4094


def link_for_delegate(nic: str, vlan_id: int) -> str:
    """Return the link that the delegate gets for a NIC: the NIC, or with an id a VLAN on it.

    Where `<nic>.<id>` is too long for a link, a digest stands for the NIC: always the same one.
    """
    if not vlan_id:
        return nic
    name = f"{nic}.{vlan_id}"
    if len(name.encode()) <= LONGEST_LINK_NAME:
        return name
    digest = 0x811C9DC5  # FNV-1a: importing hashlib costs milliseconds
    for byte in nic.encode():
        digest = (digest ^ byte) * 0x01000193 & 0xFFFFFFFF
    return f"vl{digest:08x}.{vlan_id}"


def vlan_id_of(link: str) -> int:
    """Return the id in a name that `link_for_delegate` has made; 0 where it is none."""
    nic, _, text = link.rpartition(".")
    is_number = text.isascii() and text.isdecimal() and len(text) <= len(str(HIGHEST_VLAN))
    if not nic or "/" in link or "\0" in link or not is_number:
        return 0
    return int(text) if int(text) <= HIGHEST_VLAN else 0


def chain_confs(
    conf: NetConf,
    nic: str | None,
    ipam: Conf | None,
    wanted: Wanted = NOTHING,
    function: str = "",
) -> tuple[dict[str, Any], ...]:
    """Return the complete conf of each delegate of a NIC's chain; without a NIC for GC.

    `ipam` replaces the first template's own block; None leaves it as it is. `function` is the NIC's
    PCI address, for types that want it.
    """
    confs = []
    mac_for = mac_setter(conf.chain) if wanted.mac else None
    for position, template in enumerate(conf.chain):
        own = dict(template)
        if position == 0 and nic is not None:
            _name_nic(own, nic, function)
        if position == 0 and conf.mtu and own["type"] in TAKE_AN_MTU:
            own["mtu"] = conf.mtu
        if position == 0 and ipam is not None:
            own["ipam"] = dict(ipam)
        if own["type"] in FIND_THE_FUNCTION and function:
            own.setdefault("deviceID", function)
        own["name"] = conf.name  # the network's: host-local keeps its store by it
        own["cniVersion"] = conf.cni_version
        if position == 0 and wanted.ips:
            own["args"] = _with_ips(own.get("args"), wanted.ips)
        runtime_config = _runtime_config(own, conf.runtime_config)
        if position == mac_for:
            runtime_config.setdefault("mac", wanted.mac)
        if runtime_config:
            own["runtimeConfig"] = runtime_config
        if conf.dns and "dns" not in own:
            own["dns"] = conf.dns
        confs.append(own)
    return tuple(confs)


def _name_nic(own: dict[str, Any], nic: str, function: str) -> None:
    key = NIC_KEYS.get(own["type"], "master")
    if key is None or (key == "device" and not DEVICE_KEYS.isdisjoint(own)):
        return
    if key == "deviceID":
        nic = own.get(key) or function
    if nic:
        own[key] = nic


def device_of_template(conf: NetConf) -> str:
    """Return the device that the admin has named in the template; empty if none."""
    head = conf.chain[0]
    key = "deviceID" if NIC_KEYS.get(str(head["type"])) == "deviceID" else "pciBusID"
    device = head.get(key)
    return device if isinstance(device, str) else ""


def wants_function(conf: NetConf) -> bool:
    """Tell whether a delegate cannot work without its NIC's PCI address."""
    head = conf.chain[0]
    return NIC_KEYS.get(str(head["type"])) == "deviceID" and not head.get("deviceID")


def uses_nic(conf: NetConf) -> bool:
    """Tell whether the pod's interfaces are NICs, or stand on them."""
    return NIC_KEYS.get(str(conf.chain[0]["type"]), "master") is not None


def can_use_function(conf: NetConf) -> bool:
    """Tell whether a delegate takes its NIC's PCI address, at least if there is one."""
    return wants_function(conf) or any(each["type"] in FIND_THE_FUNCTION for each in conf.chain)


def _runtime_config(own: Conf, runtime_config: Conf) -> dict[str, Any]:
    """Pass on what the delegate's template declares as its capabilities, as libcni would.

    What the template has in its own runtimeConfig stays: it is the admin's.
    """
    declared = {
        name
        for name, wanted in (own.get("capabilities") or {}).items()
        if wanted and name not in PER_INTERFACE_CAPABILITIES
    }
    passed = {name: value for name, value in runtime_config.items() if name in declared}
    return {**passed, **(own.get("runtimeConfig") or {})}


def _with_ips(args: object, ips: Sequence[str]) -> dict[str, Any]:
    """Ask for addresses where a delegate's IPAM plugin looks for them; all else is the admin's."""
    own = args if isinstance(args, dict) else {}
    cni = own.get("cni")
    return {**own, "cni": {**(cni if isinstance(cni, dict) else {}), "ips": list(ips)}}


def mac_setter(chain: Sequence[Conf]) -> int | None:
    """Return which delegate of a chain gives the interface the MAC that a pod asks for.

    The first, which makes it, or else one that declares the capability; None if there is none.
    """
    kind = chain[0]["type"]
    if kind in NEVER_A_MAC:
        return None
    if kind not in NO_MAC_THEMSELVES:
        return 0
    declared = (
        position
        for position, conf in enumerate(chain)
        if position > 0 and (conf.get("capabilities") or {}).get("mac")
    )
    return next(declared, None)


def delegate_cni_args(pairs: Sequence[tuple[str, str]]) -> str:
    """Return CNI_ARGS for a delegate: without requests that only one interface can have."""
    return ";".join(
        f"{key}={value}" for key, value in pairs if key.upper() not in PER_INTERFACE_ARGS
    )


def can_be_probed(template: Conf) -> bool:
    """Tell whether whoever has an address on the NIC's network would be heard there.

    ipvlan in its layer 3 modes routes: the pod's addresses need not be of that network.
    """
    kind = template["type"]
    routed = kind == "ipvlan" and template.get("mode") in {"l3", "l3s"}
    return NIC_KEYS.get(kind, "master") is not None and not routed


def ipam_type(confs: Sequence[Conf]) -> str:
    """Return the IPAM plugin that a chain's first delegate executes; empty if none."""
    block = confs[0].get("ipam") if confs else None
    kind = block.get("type") if isinstance(block, dict) else None
    return kind if isinstance(kind, str) else ""


def executables(confs: Sequence[Conf]) -> list[str]:
    """Return the types of every program that a chain executes, the IPAM plugin's too."""
    kinds = [conf["type"] for conf in confs]
    return [*kinds, ipam_type(confs)] if ipam_type(confs) else kinds


def limit_at_once(confs: Sequence[Conf], at_once: int | None) -> int | None:
    """Return how many chains may be executed at once: 1 for types that cannot run side by side."""
    if any(conf["type"] in ONE_AFTER_ANOTHER for conf in confs):
        return 1
    return at_once
