"""Strategies of net confs: valid ones with every key, and mistakes made in them."""

from __future__ import annotations

import copy
from typing import Any

from hypothesis import strategies as st

from tests.unit.document_words import (
    ADDRESSES,
    CIDRS,
    PLAIN,
    UNALIGNED,
    WORDS,
    Document,
    keyed,
    or_null,
)
from tests.unit.routing_documents import MTUS, ROUTING

ROUTES = or_null(
    st.lists(
        keyed(
            {"dst": CIDRS},
            {
                "gw": or_null(ADDRESSES),
                "mtu": or_null(st.integers(0, 9000)),
                "advmss": or_null(st.integers(0, 9000)),
                "priority": or_null(st.integers(0, 2**31)),
                "table": or_null(st.integers(0, 2**31)),
                "scope": or_null(st.integers(0, 255)),
            },
        ),
        max_size=2,
    )
)
DNS = or_null(
    keyed(
        {},
        {
            "nameservers": or_null(st.lists(ADDRESSES, max_size=2)),
            "domain": or_null(WORDS),
            "search": or_null(st.lists(WORDS, max_size=2)),
            "options": or_null(st.lists(WORDS, max_size=2)),
        },
    )
)
RUNS = keyed({"startIP": ADDRESSES, "endIP": ADDRESSES}, {})
PLACES = keyed({"startIndex": st.integers(0, 9), "endIndex": st.integers(0, 9)}, {})
ALLOCATIONS = keyed({"prefix": CIDRS}, {"nodeName": or_null(WORDS), "gateway": or_null(ADDRESSES)})
SHARE: Document = {
    "perNodeBlockSize": or_null(st.integers(1, 500)),
    "perNodeNetworkPrefix": or_null(st.integers(1, 128)),
    "gatewayIndex": or_null(st.integers(0, 300)),
    "slice": or_null(keyed({"offset": st.integers(0, 300), "length": st.integers(1, 300)}, {})),
    "exclusions": or_null(st.lists(RUNS, max_size=2)),
    "perNodeExclusions": or_null(st.lists(PLACES, max_size=2)),
    "staticAllocations": or_null(st.lists(ALLOCATIONS, max_size=2)),
}
RANGES = st.dictionaries(
    CIDRS | WORDS,
    st.lists(
        keyed(
            {},
            {
                **SHARE,
                "subnet": or_null(CIDRS),
                "rangeStart": or_null(ADDRESSES),
                "rangeEnd": or_null(ADDRESSES),
                "gateway": or_null(ADDRESSES),
            },
        ),
        min_size=1,
        max_size=2,
    ),
    max_size=2,
)
IPAMS = st.one_of(
    keyed(
        {"type": st.just("multi-nic-ipam")},
        {
            **SHARE,
            "interfaceBlock": st.integers(0, 128),
            "hostBlock": st.integers(0, 128),
            "excludeCIDRs": or_null(st.lists(CIDRS | ADDRESSES | UNALIGNED, max_size=2)),
            "ranges": or_null(RANGES),
            "probe": st.sampled_from(["off", "warn", "next", "fail"]),
            "proxyMACs": or_null(st.lists(st.just("02:00:5e:10:00:01"), max_size=2)),
            "cooldown": st.integers(0, 604800),
            "sticky": st.booleans(),
            "routes": ROUTES,
            "dns": DNS,
            "vlanMode": or_null(st.sampled_from(["", "l2", "l3", "l3s"])),
            "daemonIP": or_null(WORDS),
            "daemonPort": or_null(st.integers()),
        },
    ),
    keyed(
        {
            "type": st.just("multi-config"),
            "ipam_type": st.sampled_from(["whereabouts", "host-local"]),
            "args": st.dictionaries(WORDS, PLAIN, max_size=2),
        },
        {"routes": ROUTES},
    ),
    keyed({"type": st.just("host-device-ipam")}, {"routes": ROUTES}),
    keyed({}, {"type": or_null(st.sampled_from(["host-local", "dhcp"])), "subnet": CIDRS}),
)
PLUGINS = keyed(
    {"type": st.sampled_from(["macvlan", "tuning"])},
    {
        "cniVersion": or_null(WORDS),
        "name": or_null(WORDS),
        "master": or_null(WORDS),
        "ipam": or_null(keyed({}, {"type": or_null(WORDS), "subnet": CIDRS})),
        "capabilities": or_null(st.dictionaries(WORDS, st.booleans(), max_size=2)),
        "runtimeConfig": or_null(PLAIN),
        "mode": st.sampled_from(["bridge", "l3"]),
        "sysctl": PLAIN,
    },
)
BANDWIDTHS = st.sampled_from(["100Gbps", "25G", "400 Mbit/s", "1.6T"])
HEX_IDS = st.sampled_from(["15b3", "0x101B", "1af4"])
KINDS = keyed(
    {},
    {
        "vendor": or_null(HEX_IDS),
        "products": or_null(st.lists(HEX_IDS, min_size=1, max_size=2)),
        "driver": or_null(WORDS),
        "minSpeed": or_null(BANDWIDTHS),
    },
)
POLICIES = keyed(
    {},
    {
        "strategy": st.sampled_from(["none", "costOpt", "perfOpt", "devClass", "topology"]),
        "nics": or_null(st.integers(1, 16)),
        "minNics": st.integers(1, 16),
        "target": or_null(BANDWIDTHS),
        "class": or_null(WORDS),
        "classes": or_null(st.dictionaries(WORDS, st.lists(KINDS, min_size=1, max_size=2))),
        "rdma": st.booleans() | st.just("required"),
        "unhealthy": st.sampled_from(["skip", "fail", "use"]),
    },
)
ATTACHMENTS = or_null(
    st.lists(keyed({"containerID": WORDS, "ifname": WORDS}, {"netns": WORDS}), max_size=2)
)
PCI_ADDRESSES = st.sampled_from(["0000:3b:00.0", "10de:AF:1f.7"])
RAILS = PCI_ADDRESSES | CIDRS | WORDS | st.just("driver:mlx5_core")
PATHS = st.sampled_from(["/var/lib/cni/multinic", "/", "/var/log/..."])

VALID = keyed(
    {
        "cniVersion": st.sampled_from(["0.3.0", "0.4.0", "1.0.0", "1.1.0"]),
        "name": st.sampled_from(["rails", "a.b-c_d"]),
        "type": st.sampled_from(["multinic-cni", "multi-nic"]),
        "plugin": PLUGINS | st.lists(PLUGINS, min_size=1, max_size=3),
    },
    {
        "masterNets": or_null(st.lists(CIDRS, max_size=3)),
        "masters": or_null(st.lists(WORDS, max_size=3)),
        "rails": st.none()
        | st.integers(1, 256)
        | st.lists(RAILS | st.lists(RAILS, min_size=1, max_size=2), min_size=1, max_size=2),
        "railPciAddresses": or_null(
            st.lists(st.lists(PCI_ADDRESSES, min_size=1, max_size=2), min_size=1, max_size=2)
        ),
        "attachPolicy": or_null(POLICIES),
        "subnet": st.none() | CIDRS | st.just("") | st.lists(CIDRS, min_size=1, max_size=2),
        "hosts": or_null(st.dictionaries(WORDS, st.integers(0, 64), max_size=2)),
        "multiNICIPAM": or_null(st.booleans()),
        "ipam": or_null(IPAMS),
        "routing": or_null(ROUTING),
        "mtu": MTUS,
        "vlan": or_null(keyed({"id": st.integers(1, 4094)}, {})),
        "restore": st.booleans(),
        "interfaceNames": or_null(st.sampled_from(["spec", "rail", "indexed"])),
        "attach": st.sampled_from(["exec", "builtin", "auto"]),
        "timeout": st.integers(1, 3600),
        "maxParallel": or_null(st.integers(1, 64)),
        "dataDir": PATHS,
        "logFile": or_null(PATHS),
        "logLevel": st.sampled_from(["debug", "info", "warning", "error"]),
        "dns": DNS,
        "args": or_null(keyed({}, {"cni": or_null(PLAIN), "labels": st.lists(WORDS, max_size=2)})),
        "capabilities": or_null(st.dictionaries(WORDS, st.booleans(), max_size=2)),
        "runtimeConfig": or_null(PLAIN),
        "prevResult": or_null(PLAIN),
        "deviceID": or_null(WORDS),
        "pciBusID": or_null(WORDS),
        "deviceIDs": or_null(st.lists(WORDS, max_size=2)),
        "daemonIP": or_null(WORDS),
        "daemonPort": or_null(st.integers()),
        "cni.dev/valid-attachments": ATTACHMENTS,
        "cni.dev/attachments": ATTACHMENTS,
        "disableCheck": st.booleans(),
    },
)

STRANGE_TEXTS = st.sampled_from(
    [
        "",
        ".",
        "..",
        "a/b",
        "a b",
        "a\0b",
        "é",
        "10.1.0.7/24",
        "255.255.255.250/28",
        "10.1.0.0/33",
        "10.1",
        "fd00::1/64",
        "::/0",
        "/a/../b",
        "multi-nic-ipam",
        "multi-config",
        "host-device-ipam",
        "none",
        "driver:",
        "0000:3b:00.8x",
        "10GB",
        "9000",
        "true",
    ]
)
NUMBERS = st.sampled_from([-1, 0, 1, 2, 16, 128, 129, 255, 256, 3600, 3601, 2**63, -(2**70), 1.0])
SCALARS = st.none() | st.booleans() | NUMBERS | STRANGE_TEXTS
VALUES = st.one_of(
    SCALARS,
    st.lists(SCALARS, max_size=3),
    st.lists(PLUGINS, min_size=15, max_size=18),
    st.dictionaries(st.sampled_from(["type", "dst", "a", "args"]), SCALARS, max_size=2),
    st.dictionaries(st.sampled_from(["type", "a"]), st.lists(SCALARS, max_size=1), max_size=2),
    IPAMS,
    POLICIES,
    DNS,
)
KEY_CHANGES = st.sampled_from(
    [
        str.upper,
        str.lower,
        str.swapcase,
        str.title,
        lambda key: key + "s",
        lambda key: key[1:],
        lambda key: key.rpartition("/")[2],
        lambda key: key.rpartition("/")[2].title(),
        lambda key: f"{key}_",
        lambda key: key.replace("-", "_"),
    ]
)


@st.composite
def mistaken(draw: st.DrawFn) -> Document:
    """Return a conf with up to three changes, which need not be mistakes."""
    document: Document = copy.deepcopy(draw(VALID))
    for _ in range(draw(st.integers(0, 3))):
        containers = [each for each in _containers(document) if each]
        _change(draw, draw(st.sampled_from(containers)) if containers else document)
    return document


def _containers(value: object) -> list[Any]:
    if not isinstance(value, (dict, list)):
        return []
    inner = value.values() if isinstance(value, dict) else value
    return [value, *(deeper for each in inner for deeper in _containers(each))]


def _change(draw: st.DrawFn, container: Any) -> None:  # noqa: ANN401 - a dict or a list
    if isinstance(container, list):
        container[draw(st.integers(0, len(container) - 1))] = draw(VALUES)
        return
    key = draw(st.sampled_from(sorted(container))) if container else "name"
    match draw(st.sampled_from(["value", "value", "remove", "rename", "twin", "unknown"])):
        case "value":
            container[key] = draw(VALUES)
        case "remove":
            container.pop(key, None)
        case "rename":
            container[draw(KEY_CHANGES)(key)] = container.pop(key, None)
        case "twin":
            container[draw(KEY_CHANGES)(key)] = copy.deepcopy(container.get(key))
        case _:
            container[draw(STRANGE_TEXTS)] = draw(VALUES)
