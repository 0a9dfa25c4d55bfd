from __future__ import annotations

import os
import socket
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from multinic_cni.host import nics
from multinic_cni.netlink import Netlink
from multinic_cni.process import Command, Process
from tests.unit.guards import ForbiddenError, forbidding

if TYPE_CHECKING:
    from collections.abc import Callable

TRUE = "/bin/true"


def through_the_product() -> None:
    Process(Command(executable=TRUE, environment={}, stdin=b""), 0)


EXECUTING = {
    "posix_spawn": lambda: os.posix_spawn(TRUE, [TRUE], {}),
    "posix_spawnp": lambda: os.posix_spawnp(TRUE, [TRUE], {}),
    "subprocess": lambda: subprocess.run([TRUE], check=False),
    "fork": os.fork,
    "forkpty": os.forkpty,
    "execv": lambda: os.execv(TRUE, [TRUE]),  # noqa: S606 - it is never executed
    "execve": lambda: os.execve(TRUE, [TRUE], {}),  # noqa: S606 - the same
    "system": lambda: os.system(TRUE),  # noqa: S605 - the same
    "popen": lambda: os.popen(TRUE),  # noqa: S605 - the same
    "product": through_the_product,
}


@pytest.mark.parametrize("execute", EXECUTING.values(), ids=EXECUTING)
def test_processes_are_forbidden(execute: Callable[[], object]) -> None:
    with pytest.raises(ForbiddenError, match="execute a process"):
        execute()


@pytest.mark.parametrize(
    "connect",
    [
        lambda: socket.socket(socket.AF_NETLINK, socket.SOCK_RAW),
        Netlink,
        nics,
    ],
    ids=["socket", "product", "inventory"],
)
def test_netlink_is_forbidden(connect: Callable[[], object]) -> None:
    with pytest.raises(ForbiddenError, match="open netlink"):
        connect()


@pytest.mark.parametrize(
    "read",
    [
        lambda: Path("/sys/class/net/lo/mtu").read_text(),
        lambda: os.open("/sys/class/net", os.O_RDONLY),
        lambda: os.listdir(b"/sys/class/net"),  # noqa: PTH208 - each way in
        lambda: list(os.scandir("/sys/class/../class/net")),
        lambda: os.readlink("/sys/class/net/lo"),  # noqa: PTH115 - the same
        lambda: Path("/sys/class/net/lo").resolve(),
    ],
    ids=["read_text", "open", "listdir", "scandir", "readlink", "resolve"],
)
def test_sysfs_is_forbidden(read: Callable[[], object]) -> None:
    with pytest.raises(ForbiddenError, match="read /sys"):
        read()


def test_no_handler_of_exceptions_hides_it() -> None:
    assert not issubclass(ForbiddenError, Exception)


def test_other_files_and_sockets_are_free(tmp_path: Path) -> None:
    (tmp_path / "sys").mkdir()
    (tmp_path / "sys" / "mtu").write_text("1500")
    assert "1500" == (tmp_path / "sys" / "mtu").read_text()
    socket.socket(socket.AF_UNIX).close()


@pytest.mark.process
def test_marker_allows_processes_only() -> None:
    said = subprocess.run([sys.executable, "-c", "print(1)"], check=True, capture_output=True)
    assert b"1\n" == said.stdout
    with pytest.raises(ForbiddenError):
        socket.socket(socket.AF_NETLINK, socket.SOCK_RAW)


def test_guards_come_back_after_an_exception() -> None:
    with pytest.raises(KeyError), forbidding():
        raise KeyError
    with pytest.raises(ForbiddenError):
        os.fork()
