from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from multinic_cni.answers import Answer, Call
from multinic_cni.delegation import (
    Delegation,
    ask,
    ask_if_supported,
    delegate_environment,
    not_found,
    spoken_versions,
)
from multinic_cni.errors import DELEGATE_FAILED, INCOMPATIBLE_VERSION
from multinic_cni.process import Outcome
from multinic_cni.result import Interface, IpConfig, Result
from tests.unit.conversation import conf_of, converse, install

if TYPE_CHECKING:
    from pathlib import Path

CONF: dict[str, Any] = {"type": "macvlan", "name": "rails", "cniVersion": "1.1.0"}
RESULT = {"cniVersion": "1.1.0", "interfaces": [{"name": "net1"}]}


@pytest.fixture
def delegation(tmp_path: Path) -> Delegation:
    folder = install(tmp_path / "bin", "macvlan")
    return Delegation(
        container_id="c0ffee",
        netns="/var/run/netns/cni-1",
        path=("/no/such/folder", str(folder)),
        cni_args="IgnoreUnknown=true",
        environment={"PATH": "/bin", "CNI_IFNAME": "outer", "TRACEPARENT": "00-1-2-01"},
    )


def add(**changes: object) -> Call:
    return Call(command="ADD", conf={**CONF, **changes}, nic="rail0", ifname="net1-2")


def printed(document: object, *, status: int = 0) -> Outcome:
    return Outcome(exit_status=status, stdout=json.dumps(document).encode())


def test_delegate_gets_conf_and_environment(delegation: Delegation, tmp_path: Path) -> None:
    answer, (command,) = converse(ask(delegation, add(mode="bridge")), [printed(RESULT)])
    assert Answer(conf={**CONF, "mode": "bridge"}, result=RESULT) == answer
    assert {**CONF, "mode": "bridge"} == conf_of(command)
    assert f"{tmp_path}/bin/macvlan" == command.executable
    assert {
        "PATH": "/bin",
        "TRACEPARENT": "00-1-2-01",
        "CNI_COMMAND": "ADD",
        "CNI_CONTAINERID": "c0ffee",
        "CNI_NETNS": "/var/run/netns/cni-1",
        "CNI_IFNAME": "net1-2",
        "CNI_PATH": f"/no/such/folder:{tmp_path}/bin",
        "CNI_ARGS": "IgnoreUnknown=true",
    } == command.environment


PREVIOUS = Result(
    interfaces=(Interface(name="net1", mtu=9000),), ips=(IpConfig(address="10.1.0.7/24"),)
)


@pytest.mark.parametrize("version", ["0.4.0", "1.0.0", "1.1.0"])
def test_prev_result_comes_in_the_confs_version(delegation: Delegation, version: str) -> None:
    call = add(cniVersion=version).but(previous=PREVIOUS)
    answer, (command,) = converse(ask(delegation, call), [printed(RESULT)])
    assert PREVIOUS.to_document(version) == conf_of(command)["prevResult"]
    assert "prevResult" not in answer.conf


def test_only_regular_executable_files_are_found(tmp_path: Path) -> None:
    folders = [install(tmp_path / name) for name in ("a", "b", "c")]
    (folders[0] / "macvlan").mkdir()
    (folders[1] / "macvlan").write_text("not executable")
    install(folders[2], "macvlan")
    paths = tuple(str(each) for each in folders)
    delegation = Delegation(container_id="", netns="", path=paths, cni_args="", environment={})
    assert f"{tmp_path}/c/macvlan" == delegation.find("macvlan")
    assert delegation.but(path=paths[:2]).find("macvlan") is None


@pytest.mark.parametrize("kind", ["", ".", "..", "../bin/macvlan", "/bin/true", "a\0b"])
def test_type_that_is_a_path_is_never_found(delegation: Delegation, kind: str) -> None:
    assert delegation.find(kind) is None


def test_missing_plugin(delegation: Delegation, tmp_path: Path) -> None:
    answer, commands = converse(ask(delegation, add(type="ipvlan")), [])
    assert [] == commands
    assert answer.error is not None
    assert DELEGATE_FAILED == answer.error.code
    expected = f'failed to find plugin "ipvlan" in path [/no/such/folder, {tmp_path}/bin]'
    assert expected == answer.error.message
    assert expected == not_found("ipvlan", delegation.path).message


WRONG_VERSION = printed(
    {"code": INCOMPATIBLE_VERSION, "msg": "incompatible CNI versions"}, status=1
)


def versions(*spoken: object) -> Outcome:
    return printed({"cniVersion": "1.1.0", "supportedVersions": list(spoken)})


def test_older_delegate_is_asked_again_in_the_newest_that_it_speaks(
    delegation: Delegation,
) -> None:
    call = add().but(previous=PREVIOUS)
    outcomes = [WRONG_VERSION, versions("0.1.0", "0.4.0", "0.3.1", "9.0.0"), printed(RESULT)]
    answer, commands = converse(ask(delegation, call), outcomes)
    assert ["ADD", "VERSION", "ADD"] == [each.environment["CNI_COMMAND"] for each in commands]
    assert {**CONF, "cniVersion": "0.4.0"} == answer.conf
    assert RESULT == answer.result
    expected = {**CONF, "cniVersion": "0.4.0", "prevResult": PREVIOUS.to_document("0.4.0")}
    assert expected == conf_of(commands[2])


@pytest.mark.parametrize(
    "answered",
    [
        versions("0.1.0", "0.2.0"),
        versions(),
        versions("1.1.0"),
        Outcome(exit_status=0),
        Outcome(exit_status=1, stdout=b"garbage"),
        printed([]),
        printed({"supportedVersions": None}),
        printed({"supportedVersions": 5}),
        printed({"supportedVersions": [5, None]}),
        Outcome(failure="cannot be executed"),
    ],
    ids=repr,
)
def test_no_common_version_leaves_the_first_error(
    delegation: Delegation, answered: Outcome
) -> None:
    answer, _ = converse(ask(delegation, add()), [WRONG_VERSION, answered])
    assert answer.error is not None
    assert INCOMPATIBLE_VERSION == answer.error.code
    assert "incompatible CNI versions" in answer.error.message


def test_error_of_the_second_try_counts(delegation: Delegation) -> None:
    outcomes = [WRONG_VERSION, versions("1.0.0"), printed({"code": 7, "msg": "busy"}, status=1)]
    answer, _ = converse(ask(delegation, add()), outcomes)
    assert answer.error is not None
    assert (7, "1.0.0") == (answer.error.code, answer.conf["cniVersion"])


def test_version_is_asked_as_libcni_does(delegation: Delegation) -> None:
    spoken, (command,) = converse(spoken_versions(delegation, "macvlan"), [versions("1.0.0", "x")])
    assert ("1.0.0", "x") == spoken
    assert {"cniVersion": "1.1.0"} == conf_of(command)
    assert {"CNI_COMMAND": "VERSION"}.items() <= command.environment.items()
    assert {"dummy"} == {
        command.environment[name] for name in ("CNI_NETNS", "CNI_IFNAME", "CNI_PATH")
    }


def test_missing_plugin_speaks_nothing(delegation: Delegation) -> None:
    assert ((), []) == converse(spoken_versions(delegation, "ipvlan"), [])


@pytest.mark.parametrize("command", ["GC", "STATUS"])
def test_command_of_1_1_0_goes_to_who_speaks_it(delegation: Delegation, command: str) -> None:
    task = ask_if_supported(delegation, command, CONF)
    error, commands = converse(task, [versions("1.0.0", "1.1.0"), Outcome(exit_status=0)])
    assert error is None
    assert ["VERSION", command] == [each.environment["CNI_COMMAND"] for each in commands]
    assert "" == commands[1].environment["CNI_IFNAME"]


def test_older_delegates_are_not_asked(delegation: Delegation) -> None:
    error, commands = converse(ask_if_supported(delegation, "GC", CONF), [versions("1.0.0")])
    assert error is None
    assert ["VERSION"] == [each.environment["CNI_COMMAND"] for each in commands]


@pytest.mark.parametrize(
    "document",
    [
        {"code": 4, "msg": "unknown CNI_COMMAND: GC"},
        {"code": 4, "msg": "unknown CNI_COMMAND: STATUS"},
    ],
    ids=repr,
)
def test_delegate_that_does_not_know_the_command_is_well(
    delegation: Delegation, document: dict[str, object]
) -> None:
    outcomes = [versions("1.1.0"), printed(document, status=1)]
    assert converse(ask_if_supported(delegation, "GC", CONF), outcomes)[0] is None


def test_delegate_that_is_not_well(delegation: Delegation) -> None:
    outcomes = [versions("1.1.0"), printed({"code": 50, "msg": "no daemon"}, status=1)]
    error, _ = converse(ask_if_supported(delegation, "STATUS", CONF), outcomes)
    assert error is not None
    assert (50, True) == (error.code, error.message.endswith("STATUS failed: no daemon"))


@pytest.mark.parametrize(
    ("environment", "expected"),
    [
        ({"PATH": "/bin", "LANG": "C"}, {"PATH": "/bin", "LANG": "C"}),
        ({"LD_LIBRARY_PATH": "/opt/lib"}, {"LD_LIBRARY_PATH": "/opt/lib"}),
        (
            {
                "_PYI_APPLICATION_HOME_DIR": "/bundle",
                "_PYI_ARCHIVE_FILE": "/bundle/multinic-cni",
                "_MEIPASS2": "/tmp/_MEI1",  # noqa: S108 - what PyInstaller sets
                "LD_LIBRARY_PATH": "/bundle",
                "PATH": "/bin",
            },
            {"PATH": "/bin"},
        ),
        (
            {
                "_PYI_APPLICATION_HOME_DIR": "/bundle",
                "LD_LIBRARY_PATH": "/bundle:/opt/lib",
                "LD_LIBRARY_PATH_ORIG": "/opt/lib",
            },
            {"LD_LIBRARY_PATH": "/opt/lib"},
        ),
    ],
    ids=["plain", "the admin's own", "bundle", "bundle over the admin's"],
)
def test_bundles_variables_do_not_reach_delegates(
    environment: dict[str, str], expected: dict[str, str]
) -> None:
    assert expected == delegate_environment(environment)


def test_environment_is_a_copy() -> None:
    environment = {"PATH": "/bin"}
    delegate_environment(environment)["X"] = "1"
    assert {"PATH": "/bin"} == environment
