from __future__ import annotations

from typing import Any

import pytest

from multinic_cni.conf import table
from multinic_cni.conf.checker import check, near_misses
from multinic_cni.conf.problems import Problem, join, nearest, to_error
from multinic_cni.errors import BAD_CONF, UNSUPPORTED_FIELD
from tests.unit.confs import document


def problems(**changes: object) -> list[tuple[str, str]]:
    return [(each.path, each.message) for each in check(document(**changes), table.NET_CONF)]


MISTAKES: dict[str, tuple[dict[str, Any], list[tuple[str, str]]]] = {
    "missing": ({"name": None, "plugin": None}, [("name", "is missing"), ("plugin", "is missing")]),
    "inner missing": ({"plugin": {"mode": "l3"}}, [("plugin.type", "is missing")]),
    "missing in a chain": (
        {"plugin": [{"type": "macvlan"}, {}]},
        [("plugin[1].type", "is missing")],
    ),
    "string for a number": (
        {"timeout": "60"},
        [("timeout", "must be a whole number, not a string")],
    ),
    "boolean for a number": (
        {"maxParallel": True},
        [("maxParallel", "must be a whole number, not a boolean")],
    ),
    "fraction": ({"timeout": 1.5}, [("timeout", "must be a whole number, not a number")]),
    "number for a boolean": (
        {"multiNICIPAM": 1},
        [("multiNICIPAM", "must be a boolean, not a number")],
    ),
    "number for a name": ({"name": 5}, [("name", "must be a string, not a number")]),
    "string for a list": (
        {"masterNets": "10.1.0.0/24"},
        [("masterNets", "must be a list, not a string")],
    ),
    "list for an object": ({"dns": []}, [("dns", "must be an object, not a list")]),
    "null inside": (
        {"attachPolicy": {"minNics": None}},
        [("attachPolicy.minNics", "must be a whole number, not null")],
    ),
    "too small": ({"timeout": 0}, [("timeout", "must be at least 1, not 0")]),
    "too large": ({"timeout": 3601}, [("timeout", "must be at most 3600, not 3601")]),
    "host index": ({"hosts": {"node-a": -1}}, [("hosts.node-a", "must be at least 0, not -1")]),
    "host with a dot": (
        {"hosts": {"node.a": -1}},
        [("hosts['node.a']", "must be at least 0, not -1")],
    ),
    "word": (
        {"attach": "spawn"},
        [("attach", "must be one of 'exec', 'builtin', 'auto', not 'spawn'")],
    ),
    "wrong item": (
        {"masterNets": ["10.1.0.0/24", "10.2.0.0", 7]},
        [
            ("masterNets[1]", "'10.2.0.0' has no prefix length"),
            ("masterNets[2]", "must be a string, not a number"),
        ],
    ),
    "host bits": (
        {"masterNets": ["10.1.0.7/24"]},
        [("masterNets[0]", "'10.1.0.7/24' has host bits set: did you mean 10.1.0.0/24?")],
    ),
    "empty chain": ({"plugin": []}, [("plugin", "must have 1 to 16 items, not 0")]),
    "two subnets of three": (
        {"subnet": ["10.0.0.0/8"] * 3},
        [("subnet", "must have 1 to 2 items, not 3")],
    ),
    "too many masters": (
        {"masters": ["rail0"] * 257},
        [("masters", "must have 0 to 256 items, not 257")],
    ),
    "too many nets": (
        {"masterNets": [f"10.{n >> 8}.{n & 255}.0/24" for n in range(257)]},
        [("masterNets", "must have 0 to 256 items, not 257")],
    ),
    "too many exclusions": (
        {"ipam": {"type": "multi-nic-ipam", "excludeCIDRs": ["10.1.0.1"] * 1025}},
        [("ipam.excludeCIDRs", "must have 0 to 1024 items, not 1025")],
    ),
    "args": ({"args": {"cni": ["nics"]}}, [("args.cni", "must be an object, not a list")]),
    "path for a type": (
        {"plugin": {"type": "../evil"}},
        [("plugin.type", "must be the bare name of an executable in CNI_PATH")],
    ),
    "relative path": ({"dataDir": "var/lib"}, [("dataDir", "must be an absolute path")]),
    "climbing path": ({"logFile": "/var/../etc"}, [("logFile", "must not hold '..'")]),
    "empty master": ({"masters": [""]}, [("masters[0]", "must not be empty")]),
    "slash in a master": (
        {"masters": ["a/b"]},
        [("masters[0]", "must not hold '/' or white space")],
    ),
    "network name": ({"name": ""}, [("name", "must not be empty")]),
    "setting that is no network's": (
        {"routing": {"sysctls": {"kernel.hostname": "pod"}}},
        [
            (
                "routing.sysctls['kernel.hostname']",
                (
                    "'kernel.hostname' is no setting of a network such as"
                    " net.ipv4.conf.IFNAME.arp_ignore"
                ),
            )
        ],
    ),
    "misspelt key": (
        {"attachPolicy": {"minNic": 2}},
        [("attachPolicy.minNic", "unknown key with value 2; did you mean 'minNics'?")],
    ),
    "unknown key": (
        {"attachPolicy": {"speed": 2}},
        [("attachPolicy.speed", "unknown key with value 2")],
    ),
    "other case": (
        {"MasterNets": []},
        [("MasterNets", "is 'masterNets' meant? Keys are compared with regard to case")],
    ),
    "other case in a delegate": (
        {"plugin": {"type": "macvlan", "Master": "eth1"}},
        [("plugin.Master", "is 'master' meant? Keys are compared with regard to case")],
    ),
    "our ipam": (
        {"ipam": {"type": "multi-nic-ipam", "hostblock": 6, "interfaceBlock": 129}},
        [
            ("ipam.interfaceBlock", "must be at most 128, not 129"),
            ("ipam.hostblock", "unknown key with value 6; did you mean 'hostBlock'?"),
        ],
    ),
    "ranges": (
        {"ipam": {"type": "multi-nic-ipam", "ranges": {"10.1.0.0/24": [{"gateway": "x"}, 1]}}},
        [
            ("ipam.ranges['10.1.0.0/24'][0].gateway", "'x' is not an IP address"),
            ("ipam.ranges['10.1.0.0/24'][1]", "must be an object, not a number"),
        ],
    ),
    "ipam of others": ({"ipam": {"type": 7}}, [("ipam.type", "must be a string, not a number")]),
    "ipam without args": (
        {"ipam": {"type": "multi-config", "ipam_type": "whereabouts"}},
        [("ipam.args", "is missing")],
    ),
    "attachment": (
        {"cni.dev/valid-attachments": [{"containerID": "a"}]},
        [("['cni.dev/valid-attachments'][0].ifname", "is missing")],
    ),
}


@pytest.mark.parametrize(("changes", "expected"), MISTAKES.values(), ids=MISTAKES)
def test_mistake(changes: dict[str, object], expected: list[tuple[str, str]]) -> None:
    assert expected == problems(**changes)


def test_every_mistake_is_found_at_once() -> None:
    found = problems(
        name="a/b",
        timeout=0,
        masters=["a b"],
        plugin={"type": ""},
        attachPolicy={"nics": 0, "nicks": 1},
    )
    assert [
        "name",
        "plugin.type",
        "masters[0]",
        "attachPolicy.nics",
        "attachPolicy.nicks",
        "timeout",
    ] == [path for path, _ in found]


def test_unknown_top_level_keys_are_no_mistake() -> None:
    # Runtimes insert some.
    assert [] == problems(disableCheck=True, ipMasq=False)


@pytest.mark.parametrize("key", ["masterNets", "attachPolicy", "ipam", "dns", "args", "subnet"])
def test_null_is_as_good_as_absent(key: str) -> None:
    assert [] == check({**document(), key: None}, table.NET_CONF)


@pytest.mark.parametrize("value", [None, [], "conf", 1, 1.5, True], ids=repr)
def test_whole_document_of_another_type(value: object) -> None:
    ((path, message),) = [(each.path, each.message) for each in check(value, table.NET_CONF)]
    assert "" == path
    assert message.startswith("must be an object, not ")


def test_near_misses() -> None:
    known = ("ipam", "masterNets")
    found = {"IPAM": 1, "ipam": 2, "masternets": 3, "ip": 4}
    assert [("IPAM", "ipam"), ("masternets", "masterNets")] == near_misses(found, known)


@pytest.mark.parametrize(
    ("key", "expected"),
    [
        ("masterNet", "masterNets"),
        ("MASTERNETS", "masterNets"),
        ("atachPolicy", "attachPolicy"),
        ("zzz", None),
        ("", None),
    ],
)
def test_nearest(key: str, expected: str | None) -> None:
    assert expected == nearest(key, ["masterNets", "masters", "attachPolicy", "subnet"])


def test_long_values_of_unknown_keys_are_cut() -> None:
    ((_, message),) = problems(attachPolicy={"speed": ["é" * 1000]})
    assert 'unknown key with value ["\\u00e9' in message
    assert len(message) < 100


@pytest.mark.parametrize(
    ("path", "key", "expected"),
    [
        ("", "ipam", "ipam"),
        ("ipam", "hostBlock", "ipam.hostBlock"),
        ("ipam", "ipam_type", "ipam.ipam_type"),
        ("hosts", "node-a", "hosts.node-a"),
        ("hosts", "a.b", "hosts['a.b']"),
        ("", "cni.dev/x", "['cni.dev/x']"),
        ("hosts", "", "hosts['']"),
        ("hosts", "a'b", 'hosts["a\'b"]'),
        ("plugin[0]", "type", "plugin[0].type"),
    ],
)
def test_paths(path: str, key: str, expected: str) -> None:
    assert expected == join(path, key)


UNSUPPORTED = Problem(path="a", message="unknown key", code=UNSUPPORTED_FIELD)
WRONG = Problem(path="b[0]", message="must be a string, not null")
WHOLE = Problem(path="", message="must be an object, not null")


def test_long_lists_of_problems_are_cut() -> None:
    error = to_error([Problem(path=f"a{number}", message="is missing") for number in range(70)])
    assert 50 == error.message.count("is missing")
    assert error.message.endswith("; and 20 more")


@pytest.mark.parametrize(
    ("path", "expected"),
    [("ipam.type", "ipam"), ("plugin[1].type", "plugin"), ("name", "name"), ("", "")],
)
def test_key_that_a_problem_lies_in(path: str, expected: str) -> None:
    assert expected == Problem(path=path, message="is missing").key


@pytest.mark.parametrize(
    ("found", "code", "message"),
    [
        ([UNSUPPORTED], UNSUPPORTED_FIELD, "invalid net conf: a: unknown key"),
        ([WHOLE], BAD_CONF, "invalid net conf: must be an object, not null"),
        (
            [UNSUPPORTED, WRONG],
            BAD_CONF,
            "invalid net conf: a: unknown key; b[0]: must be a string, not null",
        ),
        (
            [UNSUPPORTED, UNSUPPORTED],
            UNSUPPORTED_FIELD,
            "invalid net conf: a: unknown key; a: unknown key",
        ),
    ],
    ids=["unsupported", "wrong", "both", "two unsupported"],
)
def test_one_error_of_all_problems(found: list[Problem], code: int, message: str) -> None:
    error = to_error(found)
    assert (code, message) == (error.code, error.message)
    assert "multinic-cni validate" in error.details
