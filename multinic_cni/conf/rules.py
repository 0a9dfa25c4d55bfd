"""Rules across fields of the net conf: pure, used when a runtime calls and by `validate`.

Each rule takes a document that has passed the schema and yields its problems.
"""

from __future__ import annotations

from multinic_cni.conf.address_rules import addresses, masters_of
from multinic_cni.conf.problems import Problem
from multinic_cni.errors import UNSUPPORTED_FIELD
from multinic_ipam.networks import Network

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Container, Iterator, Mapping
    from typing import Any

    Document = Mapping[str, Any]

OWN_TYPES = ("multinic-cni", "multi-nic")


def rule_problems(document: Document, refused: Container[str] = ()) -> list[Problem]:
    """Return every problem of the rules whose keys the schema has not `refused` already."""
    return [
        problem
        for rule, keys in RULES.items()
        if not any(key in refused for key in keys)
        for problem in rule(document)
    ]


def _strategy(document: Document) -> Iterator[Problem]:
    if document.get("attachPolicy"):
        from multinic_cni.conf.nic_rules import strategies  # noqa: PLC0415 - for confs that have it

        yield from strategies(document)


def _rails(document: Document) -> Iterator[Problem]:
    if document.get("rails") is not None or document.get("railPciAddresses") is not None:
        from multinic_cni.conf.nic_rules import rails  # noqa: PLC0415 - for confs that have some

        yield from rails(document)


def _routing(document: Document) -> Iterator[Problem]:
    if any(document.get(key) for key in ("routing", "mtu", "vlan", "restore")):
        from multinic_cni.conf.routing_rules import routing  # noqa: PLC0415 - for confs with some

        yield from routing(document)


def _mtus(document: Document) -> Iterator[Problem]:
    plugin = document["plugin"]
    chain = plugin if isinstance(plugin, list) else [plugin]
    if document.get("mtu") or any(template.get("mtu") for template in chain):
        from multinic_cni.conf.routing_rules import mtus  # noqa: PLC0415 - for confs with some

        yield from mtus(document)


def _not_in_this_release(document: Document) -> Iterator[Problem]:
    if document.get("attach") == "builtin":
        message = "builtin is not in this release yet: use 'exec', or 'auto' to get it when it is"
        yield Problem(path="attach", message=message, code=UNSUPPORTED_FIELD)


def _delegates(document: Document) -> Iterator[Problem]:
    plugin = document["plugin"]
    chain = plugin if isinstance(plugin, list) else [plugin]
    for index, template in enumerate(chain):
        path = f"plugin[{index}]" if isinstance(plugin, list) else "plugin"
        if template["type"] in OWN_TYPES:
            yield Problem(path=f"{path}.type", message="must be another plugin, not this one")
        for key in ("device", "hwaddr", "kernelpath"):
            if index == 0 and template["type"] == "host-device" and template.get(key):
                message = "must not be given: the NIC is chosen; name it in masters"
                yield Problem(path=f"{path}.{key}", message=message)
        if template.get("ipam") and (document.get("ipam") or {}).get("type"):
            message = "stands here and at the top: keep one of them"
            yield Problem(path=f"{path}.ipam", message=message)


def _counts(document: Document) -> Iterator[Problem]:
    policy = document.get("attachPolicy") or {}
    most, least = policy.get("nics"), policy.get("minNics", 1)
    if most is not None and least > most:
        message = f"{least} is more than attachPolicy.nics, {most}"
        yield Problem(path="attachPolicy.minNics", message=message)


def _rail_names(document: Document) -> Iterator[Problem]:
    if document.get("interfaceNames") == "rail" and not masters_of(document):
        message = "rail numbers by the place in rails, masterNets or masters: give one of them"
        yield Problem(path="interfaceNames", message=message)


def _master_nets(document: Document) -> Iterator[Problem]:
    nets = [Network.parse(text) for text in document.get("masterNets") or []]
    for index, net in enumerate(nets):
        for other in nets[:index]:
            if net.overlaps(other):
                message = f"{net} overlaps {other}: a NIC's place would not be certain"
                yield Problem(path=f"masterNets[{index}]", message=message)


# Each rule with the top-level keys that it reads.
RULES: dict[Callable[[Document], Iterator[Problem]], tuple[str, ...]] = {
    _strategy: ("attachPolicy",),
    _not_in_this_release: ("attach",),
    _routing: (
        "routing",
        "mtu",
        "vlan",
        "restore",
        "plugin",
        "ipam",
        "subnet",
        "rails",
        "railPciAddresses",
        "masterNets",
        "masters",
    ),
    _mtus: ("mtu", "plugin", "ipam", "subnet", "masterNets"),
    _delegates: ("plugin", "ipam"),
    _counts: ("attachPolicy",),
    _rails: ("rails", "railPciAddresses", "masterNets", "masters"),
    _rail_names: ("interfaceNames", "rails", "railPciAddresses", "masterNets", "masters"),
    _master_nets: ("masterNets",),
    addresses: (
        "ipam",
        "subnet",
        "rails",
        "railPciAddresses",
        "masterNets",
        "masters",
        "hosts",
    ),
}
