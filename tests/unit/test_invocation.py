from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from multinic_cni.errors import BAD_ENVIRONMENT, CniError
from multinic_cni.invocation import (
    Invocation,
    ifname_problem,
    name_problem,
    read_cni_args,
    read_environment,
)

ADD = {
    "CNI_COMMAND": "ADD",
    "CNI_CONTAINERID": "c0ffee",
    "CNI_NETNS": "/var/run/netns/cni-1",
    "CNI_IFNAME": "net1",
    "CNI_PATH": "/opt/cni/bin:/usr/lib/cni",
    "CNI_ARGS": "IgnoreUnknown=true;K8S_POD_NAME=pod-a",
}


def refusal(environment: dict[str, str]) -> str:
    with pytest.raises(CniError) as raised:
        read_environment(environment, "multinic-cni")
    assert BAD_ENVIRONMENT == raised.value.code
    return raised.value.message


def test_add_is_read_whole() -> None:
    expected = Invocation(
        command="ADD",
        container_id="c0ffee",
        netns="/var/run/netns/cni-1",
        ifname="net1",
        path=("/opt/cni/bin", "/usr/lib/cni"),
        cni_args=(("IgnoreUnknown", "true"), ("K8S_POD_NAME", "pod-a")),
        called_as="multi-nic",
    )
    assert expected == read_environment(ADD, "multi-nic")


@pytest.mark.parametrize(
    ("command", "required"),
    [
        ("ADD", "CNI_CONTAINERID,CNI_IFNAME,CNI_NETNS,CNI_PATH"),
        ("CHECK", "CNI_CONTAINERID,CNI_IFNAME,CNI_NETNS,CNI_PATH"),
        ("DEL", "CNI_CONTAINERID,CNI_IFNAME"),
        ("GC", "CNI_PATH"),
        ("STATUS", "CNI_PATH"),
    ],
)
@pytest.mark.parametrize("absent", ["unset", "empty"])
def test_missing_variables_are_named_all_at_once(command: str, required: str, absent: str) -> None:
    # libcni sets what a command does not need to empty strings: empty is missing.
    environment = dict.fromkeys(ADD, "") if absent == "empty" else {}
    message = refusal({**environment, "CNI_COMMAND": command})
    assert f"required env variables [{required}] missing" == message


def test_version_needs_nothing_else() -> None:
    call = read_environment({"CNI_COMMAND": "VERSION"}, "multinic-cni")
    assert ("VERSION", "", "", "", (), ()) == (
        call.command,
        call.container_id,
        call.netns,
        call.ifname,
        call.path,
        call.cni_args,
    )


@pytest.mark.parametrize("command", ["GC", "STATUS", "VERSION"])
def test_what_a_command_does_not_need_is_not_checked(command: str) -> None:
    environment = {**ADD, "CNI_COMMAND": command, "CNI_IFNAME": "dummy/dummy"}
    assert command == read_environment(environment, "multinic-cni").command


def test_del_needs_neither_netns_nor_path() -> None:
    call = read_environment({**ADD, "CNI_COMMAND": "DEL", "CNI_NETNS": "", "CNI_PATH": ""}, "")
    assert ("", ()) == (call.netns, call.path)


def test_no_cni_args_make_a_pod_undeletable() -> None:
    call = read_environment({**ADD, "CNI_COMMAND": "DEL", "CNI_ARGS": "A=1;B"}, "")
    assert () == call.cni_args


@pytest.mark.parametrize("name", ["CNI_NETNS", "CNI_PATH", "CNI_ARGS"])
def test_what_is_not_utf8_is_refused(name: str) -> None:
    # Python keeps such bytes as lone surrogates, which no record can hold.
    assert f"{name} is not UTF-8" == refusal({**ADD, name: "/a=\udcff"})


def test_utf8_is_kept() -> None:
    assert "/ns/é" == read_environment({**ADD, "CNI_NETNS": "/ns/é"}, "").netns


@pytest.mark.parametrize("command", ["", "add", "UPDATE", "ADD "])
def test_unknown_command(command: str) -> None:
    assert f"unknown CNI_COMMAND: {command!r}" == refusal({**ADD, "CNI_COMMAND": command})


def test_every_wrong_variable_is_named() -> None:
    message = refusal(
        {"CNI_COMMAND": "ADD", "CNI_CONTAINERID": "../a", "CNI_IFNAME": "a/b", "CNI_NETNS": "/n"}
    )
    assert "required env variables [CNI_PATH] missing" in message
    assert "CNI_CONTAINERID '../a' must begin with a letter or digit" in message
    assert "CNI_IFNAME 'a/b' must not be" in message


SPECIFICATIONS_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.\-]*", re.ASCII)


@given(st.text("aZ09_.-/: é\n\0", min_size=1, max_size=8))
def test_names_by_the_specifications_pattern(name: str) -> None:
    assert bool(SPECIFICATIONS_NAME.fullmatch(name)) == (name_problem(name) == "")


@pytest.mark.parametrize("name", ["..", ".", "../a", "a/../b", "a/b", "-a", "a:b", "a\n", "é"])
def test_names_that_would_be_other_files(name: str) -> None:
    assert "must begin with a letter or digit" in name_problem(name)


def test_names_are_as_long_as_a_files_name_allows() -> None:
    # The longest file is "." + containerID + ":" + ifname + ".json" + ".new", of 255 bytes.
    longest = 255 - len(".") - len(":") - 15 - len(".json") - len(".new")
    assert "" == name_problem("a" * longest)
    assert "is too long to name a file" == name_problem("a" * (longest + 1))


@pytest.mark.parametrize("name", ["net1", "eth0.7", "a" * 15, "a-b_c@d", "0", "..."])
def test_interface_names(name: str) -> None:
    assert "" == ifname_problem(name)


@pytest.mark.parametrize(
    ("name", "problem"),
    [
        ("a" * 16, "is longer than 15 bytes"),
        ("é" * 8, "is longer than 15 bytes"),
        (".", "must not be '.' or '..' nor hold '/', ':', '%' or white space"),
        ("net%d", "must not be '.' or '..' nor hold '/', ':', '%' or white space"),
        ("..", "must not be '.' or '..' nor hold '/', ':', '%' or white space"),
        ("a/b", "must not be '.' or '..' nor hold '/', ':', '%' or white space"),
        ("a:b", "must not be '.' or '..' nor hold '/', ':', '%' or white space"),
        ("a b", "must not be '.' or '..' nor hold '/', ':', '%' or white space"),
        ("a\x1bb", "must not be '.' or '..' nor hold '/', ':', '%' or white space"),
        ("é", "must be ASCII"),
        ("\udcff", "must be ASCII"),
    ],
)
def test_interface_names_that_cannot_be(name: str, problem: str) -> None:
    assert problem == ifname_problem(name)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", ()),
        (";;", ()),
        ("A=1", (("A", "1"),)),
        ("A=1;A=2;B=", (("A", "1"), ("A", "2"), ("B", ""))),
        ("A=b=c;", (("A", "b=c"),)),
        ("IP=10.1.0.7/24,fd00::7/64", (("IP", "10.1.0.7/24,fd00::7/64"),)),
    ],
)
def test_cni_args(text: str, expected: tuple[tuple[str, str], ...]) -> None:
    assert expected == read_cni_args(text)


def test_cni_args_without_equals_sign() -> None:
    assert "CNI_ARGS has 'B', which is no KEY=VALUE" == refusal({**ADD, "CNI_ARGS": "A=1;B"})


def test_last_cni_arg_of_a_name_counts() -> None:
    call = read_environment({**ADD, "CNI_ARGS": "K8S_POD_UID=1;K8S_POD_UID=2;X="}, "")
    assert ("2", "", "") == (call.arg("K8S_POD_UID"), call.arg("X"), call.arg("IP"))


def test_empty_folders_of_cni_path_are_left_out() -> None:
    # An empty one would mean the working directory.
    assert ("/a", "/b") == read_environment({**ADD, "CNI_PATH": ":/a::/b:"}, "").path
