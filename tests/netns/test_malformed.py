"""Whatever comes in: one error document on stdout, the specification's code, status 1, soon."""

from __future__ import annotations

import json
import os
import subprocess
from typing import TYPE_CHECKING, Any

import pytest

from tests.netns.confs import SHARED_SUBNET
from tests.pytest_netns import EXECUTABLE

if TYPE_CHECKING:
    from tests.netns.state import State
    from tests.pytest_netns import Attachment, Namespace, Node, Runtime

VERSION, ENVIRONMENT, DECODE, CONF, BAD_NETNS = 1, 4, 6, 7, 8
SOON = 5.0  # seconds
VERBS_WITH_CONF = ["ADD", "CHECK", "DEL", "GC", "STATUS"]


@pytest.fixture
def attachment(runtime: Runtime, pod: Namespace) -> Attachment:
    return runtime.attachment(pod, runtime.conf(**SHARED_SUBNET))


def deep(levels: int) -> bytes:
    return b'{"name": "rails", "args": ' + b"[" * levels + b"]" * levels + b"}"


STDIN = {
    "empty": b"",
    "white space": b" \n\t\n",
    "truncated": b'{"cniVersion": "1.0.0", "name": "ra',
    "no JSON": b"name: rails\n",
    "not UTF-8": b'{"cniVersion": "1.0.0", "name": "r\xe4ils"}',
    "UTF-16": '{"cniVersion": "1.0.0"}'.encode("utf-16"),
    "byte order mark": b"\xef\xbb\xbf{}",
    "NUL bytes": b"\0" * 100,
    "two documents": b'{"name": "rails"}{"name": "rails"}',
    "trailing comma": b'{"name": "rails",}',
    "NaN": b'{"name": "rails", "timeout": NaN}',
    "endless number": b'{"name": "rails", "timeout": ' + b"9" * 100_000 + b"}",
    "infinite number": b'{"name": "rails", "timeout": 1e999}',
    "lone surrogate": b'{"name": "rails", "type": "\\ud800"}',
    "lone surrogate as key": b'{"name": "rails", "\\udfff": 1}',
    "nested too deeply": deep(100_000),
    "nested a little too deeply": deep(150),
    "10 MB string": b'{"name": "' + b"x" * 10_000_000 + b'"}',
    "10 MB white space": b" " * 10_000_000,
    "10 MB brackets": b"[" * 10_000_000,
    "null": b"null",
    "list": b"[]",
    "string": b'"rails"',
    "number": b"7",
}


@pytest.mark.parametrize("command", VERBS_WITH_CONF)
@pytest.mark.parametrize("stdin", STDIN.values(), ids=STDIN.keys())
def test_stdin_that_is_no_document(
    attachment: Attachment, state: State, command: str, stdin: bytes
) -> None:
    answer = attachment.runtime.call(command, stdin, **attachment.variables())

    answer.error(DECODE)
    assert answer.seconds < SOON
    assert attachment.pod.links() == {}
    assert not state.root.exists()


@pytest.mark.parametrize("stdin", STDIN.values(), ids=STDIN.keys())
def test_version_answers_whatever_it_reads(runtime: Runtime, stdin: bytes) -> None:
    """As the official plugins do, which do not read it."""
    answer = runtime.call("VERSION", stdin)

    assert answer.result() == {
        "cniVersion": "1.1.0",
        "supportedVersions": ["0.3.0", "0.3.1", "0.4.0", "1.0.0", "1.1.0"],
    }
    assert answer.seconds < SOON


CONFS: dict[str, tuple[dict[str, Any], int, list[str]]] = {
    "no cniVersion": ({"cniVersion": None}, VERSION, ["0.1.0", "several interfaces"]),
    "empty cniVersion": ({"cniVersion": ""}, VERSION, ["0.1.0"]),
    "old cniVersion": ({"cniVersion": "0.2.0"}, VERSION, ["0.2.0"]),
    "future cniVersion": ({"cniVersion": "2.0.0"}, VERSION, ["2.0.0"]),
    "cniVersion a number": ({"cniVersion": 1}, VERSION, ["1"]),
    "cniVersion a list": ({"cniVersion": ["1.0.0"]}, VERSION, ["cniVersion"]),
    "no name": ({"name": None}, CONF, ["name"]),
    "empty name": ({"name": ""}, CONF, ["name"]),
    "name with slash": ({"name": "../../etc"}, CONF, ["name"]),
    "name of dots": ({"name": ".."}, CONF, ["name"]),
    "name with NUL": ({"name": "ra\0ils"}, CONF, ["name"]),
    "name with newline": ({"name": "rails\n"}, CONF, ["name"]),
    "name too long": ({"name": "r" * 300}, CONF, ["name"]),
    "name a number": ({"name": 7}, CONF, ["name"]),
    "conflist": ({"plugins": [{"type": "macvlan"}]}, CONF, ["list"]),
    "no plugin": ({"plugin": None}, CONF, ["plugin"]),
    "plugin without type": ({"plugin": {}}, CONF, ["plugin.type"]),
    "plugin with a path": ({"plugin": {"type": "../bin/sh"}}, CONF, ["plugin.type"]),
    "plugin of dots": ({"plugin": {"type": ".."}}, CONF, ["plugin.type"]),
    "plugin itself": ({"plugin": {"type": "multinic-cni"}}, CONF, ["plugin.type"]),
    "empty chain": ({"plugin": []}, CONF, ["plugin"]),
    "chain of nulls": ({"plugin": [None]}, CONF, ["plugin[0]"]),
    "masterNets a string": ({"masterNets": "10.1.0.0/24"}, CONF, ["masterNets"]),
    "masterNets nonsense": ({"masterNets": ["10.1.0.0/33"]}, CONF, ["masterNets[0]"]),
    "masterNets overlap": ({"masterNets": ["10.0.0.0/8", "10.1.0.0/24"]}, CONF, ["masterNets[1]"]),
    "masters with a path": ({"masters": ["../rail1"]}, CONF, ["masters[0]"]),
    "ipam a list": ({"ipam": []}, CONF, ["ipam"]),
    "ipam.type a path": ({"ipam": {"type": "/bin/sh"}}, CONF, ["ipam.type"]),
    "misspelt key": (
        {"ipam": {"type": "multi-nic-ipam", "interfaceblock": 13, "hostBlock": 6}},
        2,  # whose message must have key and value
        ["ipam.interfaceblock", "13", "'interfaceBlock'"],
    ),
    "wrong case at the top": ({"MasterNets": []}, CONF, ["MasterNets", "masterNets"]),
    "timeout a string": ({"timeout": "60"}, CONF, ["timeout"]),
    "timeout true": ({"timeout": True}, CONF, ["timeout"]),
    "timeout zero": ({"timeout": 0}, CONF, ["timeout"]),
    "minNics negative": ({"attachPolicy": {"minNics": -1}}, CONF, ["attachPolicy.minNics"]),
    "dataDir relative": ({"dataDir": "state"}, CONF, ["dataDir"]),
    "dataDir climbs": ({"dataDir": "/var/lib/../../etc"}, CONF, ["dataDir"]),
    "hosts negative": ({"hosts": {"a": -1}}, CONF, ["hosts.a"]),
    "hosts too big": ({"hosts": {"a": 64}}, CONF, ["hosts.a", "hostBlock"]),
    "pod asks for nonsense": ({"args": {"cni": {"nics": "many"}}}, CONF, ["args.cni.nics"]),
    "pod asks for objects": ({"args": {"cni": {"masters": {"a": 1}}}}, CONF, ["args.cni.masters"]),
    "prevResult a list": ({"prevResult": []}, CONF, ["prevResult"]),
    "prevResult of nonsense": ({"prevResult": {"interfaces": 7}}, DECODE, ["prevResult"]),
    "no such strategy": ({"attachPolicy": {"strategy": "best"}}, CONF, ["attachPolicy.strategy"]),
    "not in this release": ({"attach": "builtin"}, 2, ["attach"]),
    "costOpt without target": ({"attachPolicy": {"strategy": "costOpt"}}, CONF, ["target"]),
    "several mistakes": (
        {"timeout": "1", "masterNets": [7], "plugin": {"type": ""}},
        CONF,
        ["timeout", "masterNets[0]", "plugin.type"],
    ),
}


@pytest.mark.parametrize(("change", "code", "named"), CONFS.values(), ids=CONFS.keys())
def test_add_with_a_conf_that_is_wrong(
    attachment: Attachment,
    state: State,
    change: dict[str, Any],
    code: int,
    named: list[str],
) -> None:
    answer = attachment.call("ADD", attachment.runtime.conf(**SHARED_SUBNET | change))

    message = answer.error(code)
    for part in named:
        assert part in message
    assert answer.seconds < SOON
    assert attachment.pod.links() == {}
    assert state.left() == []


def test_nulls_are_as_good_as_absent(attachment: Attachment, state: State) -> None:
    """Go's omitempty is often forgotten: null stands where nothing should."""
    keys = ["masters", "attachPolicy", "dns", "args", "capabilities", "runtimeConfig"]
    keys += ["prevResult", "routing", "interfaceNames", "logFile", "maxParallel"]
    nothing = dict.fromkeys(keys)

    attachment.call("ADD", attachment.conf | nothing).result()
    attachment.delete().succeeded()

    assert state.left() == []


ENVIRONMENTS: dict[str, tuple[str, dict[str, str | None], list[str]]] = {
    "unknown command": ("ATTACH", {}, ["ATTACH"]),
    "lower case": ("add", {}, ["add"]),
    "no container": ("ADD", {"CNI_CONTAINERID": None}, ["CNI_CONTAINERID"]),
    "empty container": ("ADD", {"CNI_CONTAINERID": ""}, ["CNI_CONTAINERID"]),
    "container with slash": ("DEL", {"CNI_CONTAINERID": "../x"}, ["CNI_CONTAINERID"]),
    "container with colon": ("ADD", {"CNI_CONTAINERID": "a:b"}, ["CNI_CONTAINERID"]),
    "container too long": ("ADD", {"CNI_CONTAINERID": "a" * 300}, ["CNI_CONTAINERID"]),
    "container not UTF-8": ("ADD", {"CNI_CONTAINERID": "a\udcff"}, ["CNI_CONTAINERID"]),
    "no netns": ("ADD", {"CNI_NETNS": None}, ["CNI_NETNS"]),
    "no netns to check": ("CHECK", {"CNI_NETNS": ""}, ["CNI_NETNS"]),
    "no ifname": ("DEL", {"CNI_IFNAME": None}, ["CNI_IFNAME"]),
    "ifname too long": ("ADD", {"CNI_IFNAME": "a-name-of-16-byt"}, ["CNI_IFNAME"]),
    "ifname of dots": ("ADD", {"CNI_IFNAME": ".."}, ["CNI_IFNAME"]),
    "ifname with slash": ("ADD", {"CNI_IFNAME": "a/b"}, ["CNI_IFNAME"]),
    "ifname with colon": ("ADD", {"CNI_IFNAME": "eth0:1"}, ["CNI_IFNAME"]),
    "ifname with blank": ("ADD", {"CNI_IFNAME": "eth 0"}, ["CNI_IFNAME"]),
    "ifname not ASCII": ("ADD", {"CNI_IFNAME": "éth0"}, ["CNI_IFNAME"]),
    "no room for numbers": ("ADD", {"CNI_IFNAME": "fourteen-bytes"}, ["fourteen-bytes-1"]),
    "no path": ("ADD", {"CNI_PATH": None}, ["CNI_PATH"]),
    "no path for GC": ("GC", {"CNI_PATH": ""}, ["CNI_PATH"]),
    "args without value": ("ADD", {"CNI_ARGS": "K8S_POD_NAME"}, ["K8S_POD_NAME"]),
    "all at once": (
        "ADD",
        dict.fromkeys(["CNI_CONTAINERID", "CNI_NETNS", "CNI_IFNAME"]),
        ["[CNI_CONTAINERID,CNI_IFNAME,CNI_NETNS]"],
    ),
}


@pytest.mark.parametrize(
    ("command", "keys", "named"), ENVIRONMENTS.values(), ids=ENVIRONMENTS.keys()
)
def test_environment_that_is_wrong(
    attachment: Attachment,
    state: State,
    command: str,
    keys: dict[str, str | None],
    named: list[str],
) -> None:
    answer = attachment.call(command, **keys)

    message = answer.error(ENVIRONMENT)
    for part in named:
        assert part in message
    assert attachment.pod.links() == {}
    assert state.left() == []


@pytest.mark.parametrize("command", ["ADD", "CHECK"])
def test_own_netns(attachment: Attachment, node: Node, state: State, command: str) -> None:
    """Nothing happens to the node's own links."""
    before = node.facts()
    for netns in (node.path, "/proc/self/ns/net"):
        attachment.call(command, CNI_NETNS=netns).error(BAD_NETNS)
    assert node.facts() == before
    assert state.left() == []


@pytest.mark.parametrize("environment", [{}, {"CNI_COMMAND": ""}], ids=["unset", "empty"])
def test_without_command_it_says_what_it_is(environment: dict[str, str]) -> None:
    done = subprocess.run(
        [EXECUTABLE],
        env=environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        check=True,
        text=True,
    )

    assert done.stdout == ""
    assert "multinic-cni" in done.stderr
    for version in ("0.3.0", "0.3.1", "0.4.0", "1.0.0", "1.1.0"):
        assert version in done.stderr


@pytest.mark.parametrize("closed", [(0,), (1,), (2,), (0, 1), (1, 2), (0, 1, 2)], ids=str)
@pytest.mark.parametrize("command", ["ADD", "VERSION"])
def test_closed_streams(
    attachment: Attachment, state: State, closed: tuple[int, ...], command: str
) -> None:
    """A closed stream must not become a state file's descriptor; an answer needs a reader."""
    environment = attachment.runtime.environment(command, **attachment.variables())
    redirections = {0: "0<&-", 1: "1>&-", 2: "2>&-"}
    words = " ".join(redirections[number] for number in closed)
    shell = ["sh", "-c", f'exec "$0" {words}', str(EXECUTABLE)]
    done = subprocess.run(
        attachment.runtime.node.command(*shell),
        env=environment,
        input=json.dumps(attachment.conf),
        capture_output=True,
        check=False,
        text=True,
    )

    succeeds = 1 not in closed and (0 not in closed or command == "VERSION")
    assert done.returncode == (0 if succeeds else 1), done
    if 1 not in closed:
        assert len(done.stdout.splitlines()) == 1
        assert ("code" in json.loads(done.stdout)) != succeeds
    for file in state.files().values():
        assert b"multinic-cni info" not in file
    attachment.delete().succeeded()
    assert state.left() == []
    assert attachment.pod.links() == {}


def test_reader_that_has_gone(attachment: Attachment, state: State) -> None:
    """Nobody reads the answer, so all is undone; DEL works if it comes."""
    environment = attachment.runtime.environment("ADD", **attachment.variables())
    reader, writer = os.pipe()
    os.close(reader)
    done = subprocess.run(
        attachment.runtime.node_command(),
        env=environment,
        input=json.dumps(attachment.conf).encode(),
        stdout=writer,
        stderr=subprocess.PIPE,
        check=False,
    )
    os.close(writer)

    assert done.returncode == 1
    assert b"the runtime cannot read the answer" in done.stderr
    assert attachment.pod.links() == {}
    attachment.delete().succeeded()
    assert state.left() == []
