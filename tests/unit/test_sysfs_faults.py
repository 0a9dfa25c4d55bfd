"""Files that are not what the kernel writes, and names that lead elsewhere: empty answers."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import pytest

from multinic_selectors.sysfs import Sysfs
from tests.unit.machines import described

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

DESCRIPTION = """
root 0000:3a numa=0
  bridge 3a:00.0
    nic 3b:00.0 id=15b3:101d driver=mlx5_core name=eth0 speed=100000 rdma=mlx5_0
      vf 3b:00.1 name=eth1 speed=100000
"""
NIC, FUNCTION, PORT = "eth0", "0000:3b:00.0", "class/infiniband/mlx5_0/ports/1"


# Everything that is read, and what an unreadable file leaves of it.
def numa(sysfs: Sysfs) -> int | None:
    location = sysfs.location(FUNCTION)
    return location.numa if location else None


FACTS: dict[str, tuple[str, Callable[[Sysfs], object], object]] = {
    "speed": (f"class/net/{NIC}/speed", lambda sysfs: sysfs.speed(NIC), None),
    "duplex": (f"class/net/{NIC}/duplex", lambda sysfs: sysfs.duplex(NIC), ""),
    "vendor": (f"bus/pci/devices/{FUNCTION}/vendor", lambda sysfs: sysfs.vendor(FUNCTION), ""),
    "product": (f"bus/pci/devices/{FUNCTION}/device", lambda sysfs: sysfs.product(FUNCTION), ""),
    "class": (f"bus/pci/devices/{FUNCTION}/class", lambda sysfs: sysfs.device_class(FUNCTION), ""),
    "numa": (f"bus/pci/devices/{FUNCTION}/numa_node", numa, 0),
    "netns mode": (
        "module/ib_core/parameters/netns_mode",
        lambda sysfs: sysfs.rdma_netns_exclusive(),
        None,
    ),
    "state": (f"{PORT}/state", lambda sysfs: sysfs.rdma_ports(NIC)[0].state, ""),
    "port": (f"class/net/{NIC}/dev_port", lambda sysfs: len(sysfs.rdma_ports(NIC)), 1),
}


def whole(folder: Path) -> Sysfs:
    described(DESCRIPTION, folder)
    return Sysfs(str(folder / "sys"))


def _missing(file: Path) -> None:
    assert not file.exists()


def _folder(file: Path) -> None:
    file.mkdir()


def _fifo(file: Path) -> None:
    os.mkfifo(file)


def _loop(file: Path) -> None:
    file.symlink_to(file.name)


def _dangling(file: Path) -> None:
    file.symlink_to("../nothing")


def _elsewhere(file: Path) -> None:
    """Lead to a file of the machine that looks at the copy."""
    secret = file.parents[len(file.parts) - 4] / "secret"
    secret.write_text("0x15b3\n")
    file.symlink_to(secret)


def _content(content: bytes) -> Callable[[Path], object]:
    return lambda file: file.write_bytes(content)


FAULTS: dict[str, Callable[[Path], Any]] = {
    "missing": _missing,
    "folder": _folder,
    "fifo": _fifo,
    "loop": _loop,
    "dangling": _dangling,
    "elsewhere": _elsewhere,
    "empty": _content(b""),
    "blank": _content(b" \n\n"),
    "junk": _content(bytes(range(256))),
    "zeros": _content(bytes(1 << 20)),
    "huge": _content(b"-" + b"\x1b[2J" * 100_000),
    "escape": _content(b"\x1b[2J\n"),
}


@pytest.mark.parametrize("fault", FAULTS.values(), ids=FAULTS)
@pytest.mark.parametrize("fact", FACTS.values(), ids=FACTS)
def test_file_that_says_nothing(
    tmp_path: Path,
    fact: tuple[str, Callable[[Sysfs], object], object],
    fault: Callable[[Path], Any],
) -> None:
    path, read, expected = fact
    sysfs = whole(tmp_path)
    assert read(sysfs) not in {None, ""}
    file = tmp_path / "sys" / path
    file.unlink()
    fault(file)
    assert expected == read(Sysfs(str(tmp_path / "sys")))


@pytest.mark.parametrize(("fault", "expected"), [("missing", 1), ("loop", 1), ("junk", 0)])
def test_link_of_an_rdma_port_that_cannot_be_read(
    tmp_path: Path, fault: str, expected: int
) -> None:
    """Nobody else's, the port is the NIC's; junk is somebody else."""
    sysfs = whole(tmp_path)
    file = tmp_path / "sys" / PORT / "gid_attrs/ndevs/0"
    file.unlink()
    FAULTS[fault](file)
    assert expected == len(sysfs.rdma_ports(NIC))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("-1", None),
        ("0", None),
        ("4294967295", None),
        ("10000000000000000000000", None),
        ("9" * 4000, None),
        ("\u0661", None),
        ("1e3", None),
        ("--1", None),
        ("-", None),
        ("25000 ", 25_000),
        ("1", 1),
    ],
)
def test_speeds(tmp_path: Path, text: str, expected: int | None) -> None:
    sysfs = whole(tmp_path)
    (tmp_path / "sys/class/net/eth0/speed").write_text(f"{text}\n")
    assert expected == sysfs.speed(NIC)


@pytest.mark.parametrize("text", ["15b3", "0x15B3"])
def test_forms_of_an_id(tmp_path: Path, text: str) -> None:
    sysfs = whole(tmp_path)
    (tmp_path / f"sys/bus/pci/devices/{FUNCTION}/vendor").write_text(f"{text}\n")
    assert "15b3" == sysfs.vendor(FUNCTION)


@pytest.mark.parametrize("text", ["0x15b", "0x15b3a", "0x15g3", "0x0x15b3", "\u0661234"])
def test_what_is_no_id(tmp_path: Path, text: str) -> None:
    sysfs = whole(tmp_path)
    (tmp_path / f"sys/bus/pci/devices/{FUNCTION}/vendor").write_text(f"{text}\n")
    assert "" == sysfs.vendor(FUNCTION)


def facts_of(sysfs: Sysfs, nic: str, address: str) -> list[object]:
    return [
        sysfs.pci_address(nic),
        sysfs.speed(nic),
        sysfs.duplex(nic),
        sysfs.driver(nic),
        [each.device for each in sysfs.rdma_ports(nic)],
        sysfs.nics(address),
        sysfs.exists(address),
        sysfs.vendor(address),
        sysfs.driver_of(address),
        sysfs.physical_function(address),
        sysfs.virtual_functions(address),
        sysfs.location(address),
    ]


NOTHING: list[object] = ["", None, "", "", [], [], False, "", "", "", [], None]


@pytest.mark.parametrize(
    "name",
    [
        "",
        ".",
        "..",
        "../../etc",
        "eth0/../../../..",
        "eth0\0",
        "no such",
        "*",
        "eth[0]",
        "et\u1e2b0",
        "a'b\"c $(x)",
        "..\udc80",
        "x" * 5000,
    ],
)
def test_names_of_nothing(tmp_path: Path, name: str) -> None:
    assert NOTHING == facts_of(whole(tmp_path), name, name)


@pytest.mark.parametrize(
    "name", ["a b", "*", "eth[0]", "'$(x)'", 'q"q', "\u1e2b\u00fc", "..\udc80", "-n", "a%sb"]
)
def test_odd_names_are_names(tmp_path: Path, name: str) -> None:
    sysfs = whole(tmp_path)
    net = tmp_path / "sys/class/net"
    (tmp_path / "sys/class/net/eth0").resolve().rename((net / "eth0").resolve().with_name(name))
    (net / "eth0").unlink()
    (net / name).symlink_to(f"../../devices/pci0000:3a/0000:3a:00.0/{FUNCTION}/net/{name}")
    ndev = tmp_path / f"sys/{PORT}/gid_attrs/ndevs/0"
    ndev.write_bytes(os.fsencode(f"{name}\n"))
    assert FUNCTION == sysfs.pci_address(name)
    assert [name] == sysfs.nics(FUNCTION)
    assert 100_000 == sysfs.speed(name)
    assert ["mlx5_0"] == [port.device for port in sysfs.rdma_ports(name)]


@pytest.mark.parametrize("target", [".", "0000:3b:00.0", "../../../class/net", "/", "../../../.."])
def test_links_of_functions_that_lead_nowhere(tmp_path: Path, target: str) -> None:
    """A loop, a folder that is no function's, or a place outside of the tree."""
    sysfs = whole(tmp_path)
    link = tmp_path / f"sys/bus/pci/devices/{FUNCTION}"
    link.unlink()
    link.symlink_to(target)
    assert None is sysfs.location(FUNCTION)
    assert "" == sysfs.vendor(FUNCTION)
    assert [] == sysfs.nics(FUNCTION)


@pytest.mark.parametrize("target", [".", "eth0", "/", "../../../../../../..", "nothing"])
def test_links_of_nics_that_lead_nowhere(tmp_path: Path, target: str) -> None:
    sysfs = whole(tmp_path)
    device, nic = tmp_path / "sys/class/net/eth0/device", tmp_path / "sys/class/net/eth0"
    device.unlink()
    device.symlink_to(target)
    assert FUNCTION == sysfs.pci_address(NIC)  # it stands below its device all the same
    nic.unlink()
    nic.symlink_to(target)
    assert "" == sysfs.pci_address(NIC)
    assert "" == sysfs.driver(NIC)
    assert None is sysfs.speed(NIC)
    assert [] == [port.device for port in sysfs.rdma_ports("eth1")]


def test_function_that_vanishes_while_it_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each reading call finds less than the one before."""
    names = ("open", "read", "readlink", "listdir")
    whole(tmp_path)
    for gone_at in range(1000):
        sysfs = Sysfs(str(tmp_path / "sys"))
        left = [gone_at]
        with monkeypatch.context() as patch:
            for name in names:
                patch.setattr(os, name, _failing(getattr(os, name), left))
            facts_of(sysfs, NIC, FUNCTION)
        if left[0] > 0:
            return
    pytest.fail("it reads for ever")


def _failing(call: Callable[..., Any], left: list[int]) -> Callable[..., Any]:
    def replacement(*arguments: Any, **words: Any) -> Any:  # noqa: ANN401 - os's own
        left[0] -= 1
        if left[0] < 0:
            raise FileNotFoundError(arguments[0])
        return call(*arguments, **words)

    return replacement


@pytest.mark.usefixtures("no_descriptor_is_left")
def test_descriptors_are_closed(tmp_path: Path) -> None:
    facts_of(whole(tmp_path), NIC, FUNCTION)


def test_copy_with_links_to_the_machine_that_looks_at_it(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "duplex").write_text("secret\n")
    (outside / "net").mkdir()
    (outside / "net/secret").mkdir()
    sysfs = whole(tmp_path / "copy")
    net = tmp_path / "copy/sys/class/net"
    (net / "eth7").symlink_to(outside)
    function = tmp_path / f"copy/sys/bus/pci/devices/{FUNCTION}"
    function.unlink()
    function.symlink_to(outside)
    assert "" == sysfs.duplex("eth7")
    assert [] == sysfs.nics(FUNCTION)
    assert not sysfs.exists(FUNCTION)
