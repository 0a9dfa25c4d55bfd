"""The net conf, read and checked: what the verbs work with."""

from __future__ import annotations

from multinic_cni.conf import table
from multinic_cni.conf.address_rules import masters_of
from multinic_cni.conf.checker import check
from multinic_cni.conf.problems import shown, to_error
from multinic_cni.conf.rules import rule_problems
from multinic_cni.conf.share_words import subnets_of
from multinic_cni.errors import BAD_CONF, DECODE_FAILURE, INCOMPATIBLE_VERSION, CniError
from multinic_cni.log import log
from multinic_cni.values import Value
from multinic_cni.versions import IMPLIED, OLD, SUPPORTED
from multinic_ipam.networks import Network

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from multinic_cni.conf.problems import Problem
    from multinic_cni.conf.routing import Routing

OPERATOR_NAME = "multi-nic"  # the name under which the Multi-NIC operator's confs call


class AttachPolicy(Value):
    """Which and how many NICs, and what to do with unhealthy ones.

    `target` is in Mbit/s; `classes` are documents, from a class's name to its kinds of devices.
    """

    strategy: str
    nics: int | None
    min_nics: int
    target: int | None
    class_name: str
    classes: dict[str, Any]
    rdma: bool
    rdma_required: bool
    unhealthy: str


class NetConf(Value):
    """A net conf that has passed every check.

    `chain` are the delegates' templates; `devices` what the runtime named. `masters_in_order` are
    the entries that number the NICs: rail0, rail1 … or those of masterNets, then of masters.
    `rails` is None where the conf has none, and empty where each node's file names its own. `mtu`
    and `vlan` are 0 where the conf has none.
    """

    cni_version: str
    name: str
    chain: tuple[dict[str, object], ...]
    master_nets: tuple[Network, ...]
    masters: tuple[str, ...]
    masters_in_order: tuple[str, ...]
    rails: tuple[Sequence[str], ...] | None
    attach_policy: AttachPolicy
    subnets: tuple[Network, ...]
    hosts: dict[str, int]
    ipam: dict[str, Any]
    routing: Routing | None
    mtu: int
    vlan: int
    restore: bool
    interface_names: str
    timeout: int
    max_parallel: int | None
    data_dir: str
    log_file: str
    log_level: str
    dns: dict[str, object]
    cni_args: dict[str, object]
    runtime_config: dict[str, Any]
    prev_result: object
    devices: tuple[str, ...]
    valid_attachments: tuple[tuple[str, str], ...] | None


def read_net_conf(document: object, called_as: str) -> NetConf:
    """Check a document whole and return the conf; the log goes where it says from then on.

    Raises CniError with every mistake in it: code 1 for a version that is not ours, else 2 or 7.
    """
    if not isinstance(document, dict):
        raise CniError(DECODE_FAILURE, "the net conf is not a JSON object")
    if "plugins" in document:
        message = "this is a network configuration list: the runtime sends its plugins one by one"
        raise CniError(BAD_CONF, message)
    check_version(document)
    problems = problems_in(document)
    if problems:
        raise to_error(problems)
    conf = _typed(document, called_as)
    log.configure(file=conf.log_file, level=conf.log_level)
    unknown = unknown_keys(document)
    if unknown:
        log.warning("unknown keys in the net conf", keys=",".join(unknown))
    return conf


def problems_in(document: dict[str, object]) -> list[Problem]:
    """Return what the schema refuses, and what the rules do where it refuses nothing."""
    refused = check(document, table.NET_CONF)
    return refused + rule_problems(document, {problem.key for problem in refused})


def check_version(document: Mapping[str, object]) -> str:
    """Return the document's cniVersion; CniError 1 if it is none of ours."""
    version = document.get("cniVersion") or IMPLIED
    if version in SUPPORTED:
        return str(version)
    absent = "" if document.get("cniVersion") else " (which an absent cniVersion means)"
    old = " cannot describe several interfaces" if version in OLD else " is not supported"
    message = f"cniVersion {shown(version)}{absent}{old}: use one of {', '.join(SUPPORTED)}"
    raise CniError(INCOMPATIBLE_VERSION, message)


def unknown_keys(document: Mapping[str, object]) -> list[str]:
    """Return the top-level keys that are none of ours: runtimes put some there."""
    keys: Mapping[str, object] = table.NET_CONF[1]
    return [key for key in document if key not in keys and not key.startswith("cni.dev/")]


def _typed(document: Mapping[str, Any], called_as: str) -> NetConf:
    policy = {**table.ATTACH_POLICY_DEFAULTS, **(document.get("attachPolicy") or {})}
    conf = {**table.NET_CONF_DEFAULTS, **document}
    plugin = conf["plugin"]
    return NetConf(
        cni_version=conf["cniVersion"],
        name=conf["name"],
        chain=tuple(plugin) if isinstance(plugin, list) else (plugin,),
        master_nets=tuple(Network.parse(text) for text in conf.get("masterNets") or ()),
        masters=tuple(conf.get("masters") or ()),
        masters_in_order=tuple(masters_of(conf)),
        rails=_rails(conf),
        attach_policy=AttachPolicy(
            strategy=policy["strategy"],
            nics=policy.get("nics"),
            min_nics=policy["minNics"],
            target=_target(policy.get("target")),
            class_name=policy.get("class") or "",
            classes=policy.get("classes") or {},
            rdma=bool(policy["rdma"]),
            rdma_required=policy["rdma"] == "required",
            unhealthy=policy["unhealthy"],
        ),
        subnets=tuple(subnets_of(conf.get("subnet"))),
        hosts=conf.get("hosts") or {},
        ipam=conf.get("ipam") or {},
        routing=_routing(conf),
        mtu=conf.get("mtu") or 0,
        vlan=(conf.get("vlan") or {}).get("id", 0),
        restore=conf["restore"],
        interface_names=conf.get("interfaceNames")
        or ("indexed" if called_as == OPERATOR_NAME else "spec"),
        timeout=conf["timeout"],
        max_parallel=conf.get("maxParallel"),
        data_dir=conf["dataDir"],
        log_file=conf.get("logFile") or "",
        log_level=conf["logLevel"],
        dns=conf.get("dns") or {},
        cni_args=(conf.get("args") or {}).get("cni") or {},
        runtime_config=conf.get("runtimeConfig") or {},
        prev_result=conf.get("prevResult"),
        devices=_devices(conf),
        valid_attachments=_valid_attachments(conf),
    )


def _rails(conf: Mapping[str, Any]) -> tuple[Sequence[str], ...] | None:
    if conf.get("rails") is None and conf.get("railPciAddresses") is None:
        return None
    from multinic_cni.conf.nic_rules import rails_in  # noqa: PLC0415 - for confs that have some

    return tuple(rails_in(conf))


def _routing(conf: Mapping[str, Any]) -> Routing | None:
    several_routes = len((conf.get("ipam") or {}).get("routes") or ()) > 1
    if conf.get("routing") is None and not several_routes:
        return None
    from multinic_cni.conf.routing import routing_in  # noqa: PLC0415 - for confs that have some

    return routing_in(conf)


def _target(text: str | None) -> int | None:
    if text is None:
        return None
    from multinic_selectors.bandwidth import parse_bandwidth  # noqa: PLC0415 - rare

    return parse_bandwidth(text)


def _devices(conf: Mapping[str, Any]) -> tuple[str, ...]:
    """Return what device plugins or DRA have given the pod, each once.

    Multus writes its one device under three names; of different ones the most particular counts.
    """
    runtime_config = conf.get("runtimeConfig") or {}
    single = [runtime_config.get("deviceID"), conf.get("deviceID"), conf.get("pciBusID")]
    named = [each for each in single if isinstance(each, str) and each][:1]
    for listed in (conf.get("deviceIDs"), runtime_config.get("deviceIDs")):
        several = listed if isinstance(listed, list) else []
        named += [each for each in several if isinstance(each, str) and each]
    return tuple(dict.fromkeys(named))


def _valid_attachments(conf: Mapping[str, Any]) -> tuple[tuple[str, str], ...] | None:
    """Return GC's list; None where the runtime sent none, which is not an empty one.

    libcni sends both keys, older texts of the specification name the second.
    """
    for key in ("cni.dev/valid-attachments", "cni.dev/attachments"):
        if conf.get(key) is not None:
            return tuple((each["containerID"], each["ifname"]) for each in conf[key])
    return None
