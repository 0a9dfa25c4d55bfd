from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from multinic_selectors.classes import Classes
from tests.unit.machines import described

if TYPE_CHECKING:
    from pathlib import Path

    from multinic_cni.host import Host
    from multinic_selectors.nics import Nic

MACHINE = """
node classes
root 0000:3a numa=0
  bridge 3a:00.0 id=8086:2030
    nic 3b:00.0 id=15b3:101b driver=mlx5_core name=rail0 speed=200000
    nic 3b:00.1 id=15b3:101d driver=mlx5_core name=rail1 speed=100000
    nic 3c:00.0 id=8086:1533 driver=igb name=eno1 state=no-carrier
  nic 3a:04.0 id=1af4:1041 driver=virtio-pci virtio=0 name=ens3
link bond0 kind=bond speed=50000
link rail0.7 kind=vlan over=rail0 speed=200000
"""
ALL = {"rail0", "rail1", "eno1", "ens3", "bond0", "rail0.7"}


@pytest.fixture
def host(tmp_path: Path) -> Host:
    return described(MACHINE, tmp_path)


def misfits(host: Host, *kinds: dict[str, Any]) -> dict[str, str]:
    """Return why each NIC that is not of a class of these kinds is not."""
    classes = Classes({"fast": list(kinds), "other": []}, host.sysfs, host.speed)
    reasons = {nic.name: classes.misfit(nic, "fast") for nic in host.nics}
    assert reasons.keys() >= ALL
    return {name: reason for name, reason in reasons.items() if reason and name in ALL}


@pytest.mark.parametrize(
    ("kinds", "members"),
    [
        ([{"vendor": "15b3"}], {"rail0", "rail1"}),
        ([{"vendor": "0x15B3"}], {"rail0", "rail1"}),
        ([{"vendor": "15b3", "products": ["101D", "0x9999"]}], {"rail1"}),
        ([{"products": ["101b", "1041"]}], {"rail0", "ens3"}),
        ([{"vendor": "8086", "products": ["101b"]}], set()),
        ([{"driver": "mlx5_core"}], {"rail0", "rail1"}),
        ([{"driver": "virtio-pci"}], {"ens3"}),
        ([{"driver": "mlx5"}], set()),
        ([{"minSpeed": "200Gbps"}], {"rail0", "rail0.7"}),
        ([{"minSpeed": "50G"}], {"rail0", "rail1", "rail0.7", "bond0"}),
        ([{"driver": "mlx5_core", "minSpeed": "200001M"}], set()),
        ([{"vendor": "8086"}, {"vendor": "1af4"}], {"eno1", "ens3"}),
        ([{"vendor": None, "driver": "igb"}], {"eno1"}),
        ([{"driver": ""}], set()),
        ([{"vendor": ""}], set()),
        ([{"colour": "red"}], set()),
        ([{}, {"vendor": None}], set()),  # what no conf and no file may say
        ([], set()),
    ],
    ids=repr,
)
def test_members(host: Host, kinds: list[dict[str, Any]], members: set[str]) -> None:
    assert members == ALL - misfits(host, *kinds).keys()


# A kind for each fact, none of which fits.
EVERY_FACT: list[dict[str, Any]] = [
    {"minSpeed": "1T"},
    {"driver": "none"},
    {"vendor": "ffff"},
    {"products": ["ffff"]},
]


def test_reasons_say_what_a_nic_is(host: Host) -> None:
    beginning = "it is not of class fast"
    assert misfits(host, *EVERY_FACT) == {
        "rail0": f"{beginning} (vendor 15b3, product 101b, driver mlx5_core, 200 Gbit/s)",
        "rail1": f"{beginning} (vendor 15b3, product 101d, driver mlx5_core, 100 Gbit/s)",
        "eno1": f"{beginning} (vendor 8086, product 1533, driver igb, speed unknown)",
        "ens3": f"{beginning} (vendor 1af4, product 1041, driver virtio-pci, speed unknown)",
        "bond0": f"{beginning} (no PCI device, driver unknown, 50 Gbit/s)",
        "rail0.7": f"{beginning} (no PCI device, driver unknown, 200 Gbit/s)",
    }


@pytest.mark.parametrize(
    ("kind", "facts", "read"),
    [
        ({"vendor": "8086"}, "vendor 15b3", {"pci_address", "vendor"}),
        ({"products": ["9999"]}, "product 101b", {"pci_address", "product"}),
        ({"driver": "igb"}, "driver mlx5_core", {"driver"}),
        ({"minSpeed": "1T"}, "200 Gbit/s", {"speed"}),
        # Which stands first does not matter: a speed is what costs most.
        ({"minSpeed": "1T", "vendor": "8086"}, "vendor 15b3", {"pci_address", "vendor"}),
    ],
)
def test_nothing_is_read_that_no_kind_asks_for(
    host: Host, kind: dict[str, Any], facts: str, read: set[str]
) -> None:
    asked: set[str] = set()

    class Listening:
        def __getattr__(self, name: str) -> Any:  # noqa: ANN401 - whatever Sysfs has
            asked.add(name)
            return getattr(host.sysfs, name)

    def speed(nic: Nic) -> int | None:
        asked.add("speed")
        return host.speed(nic)

    classes = Classes({"fast": [kind]}, Listening(), speed)  # type: ignore[arg-type]
    (rail0,) = (nic for nic in host.nics if nic.name == "rail0")
    assert f"it is not of class fast ({facts})" == classes.misfit(rail0, "fast")
    assert read == asked


def test_speed_of_the_nodes_file_counts(host: Host, tmp_path: Path) -> None:
    file = tmp_path / "etc/cni/multinic/node.json"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text('{"speeds": {"ens3": "100G", "rail0": "10G"}}')
    assert {"rail0", "eno1", "bond0"} == misfits(host, {"minSpeed": "100G"}).keys()


def test_names(host: Host) -> None:
    assert ["a", "b"] == Classes({"b": [], "a": []}, host.sysfs, host.speed).names


def test_nic_that_has_gone_is_of_no_class(host: Host, tmp_path: Path) -> None:
    (tmp_path / "sys/class/net/rail0").unlink()
    reason = "it is not of class fast (no PCI device)"
    assert reason == misfits(host, {"vendor": "15b3"})["rail0"]
