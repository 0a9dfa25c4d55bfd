from __future__ import annotations

import errno
from typing import TYPE_CHECKING, Any

import pytest

from multinic_cni.errors import ROUTING_FAILED, CniError
from multinic_cni.netlink import NetlinkError
from multinic_cni.routing import applying
from multinic_cni.routing.applying import Setter
from multinic_cni.routing.steps import NamedHop, NeighborStep, RouteStep, RuleStep, SysctlStep
from multinic_ipam.networks import Network
from tests.unit.routes import LINKS, number

if TYPE_CHECKING:
    from collections.abc import Callable

    from multinic_cni.netlink import Netlink

ROUTE = RouteStep(
    nic="rail1",
    network=Network.parse("10.9.0.0/16"),
    table=1000,
    hops=(NamedHop(ifname="net1", gateway=number("10.1.0.254")),),
)
MULTIPATH = ROUTE.but(
    hops=(NamedHop(ifname="net1"), NamedHop(ifname="gone", gateway=number("10.2.0.254")))
)
FORMER = RouteStep(
    nic="rail1",
    network=Network.parse("0.0.0.0/0"),
    table=254,
    hops=(NamedHop(ifname="eth0"),),
    goes=True,
)
RULE = RuleStep(
    nic="rail1", version=4, priority=1001, table=1000, source=Network.parse("10.1.0.5/32")
)
NEIGHBOR = NeighborStep(nic="rail1", ifname="net1", version=4, number=7, mac="02:00:00:00:00:77")
SETTING = SysctlStep(nic="", path="net/ipv4/ip_forward", value="1", former="0")
OF_A_LINK = SysctlStep(nic="rail1", path="net/ipv4/conf/net1/rp_filter", value="2")


class Pod:
    """Notes what is asked of the kernel, which refuses what `refused` says, by the call's name."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.calls: list[tuple[str, object]] = []
        self.refused: dict[str, int] = {}
        self.settings: dict[str, str] = {}
        for name in (
            "add_route",
            "delete_route",
            "add_rule",
            "delete_rule",
            "set_neighbor",
            "delete_neighbor",
        ):
            monkeypatch.setattr(applying, name, self._noting(name))
        monkeypatch.setattr(applying, "write_setting", self._write)
        monkeypatch.setattr(applying, "read_setting", lambda path: self.settings.get(path, "1"))

    def links(self) -> list[Any]:
        return list(LINKS.values())

    def _noting(self, name: str) -> Callable[[Netlink, Any], None]:
        def note(_netlink: Netlink, what: Any) -> None:  # noqa: ANN401 - a route, a rule …
            self._note(name, what)

        return note

    def _note(self, name: str, what: object) -> None:
        if name in self.refused:
            raise NetlinkError(self.refused[name], "so says the kernel")
        self.calls.append((name, what))

    def _write(self, path: str, value: str) -> None:
        self._note("write", f"{path}={value}")

    @property
    def names(self) -> list[str]:
        return [name for name, _ in self.calls]


@pytest.fixture
def kernel(monkeypatch: pytest.MonkeyPatch) -> Pod:
    return Pod(monkeypatch)


def setter(kernel: Any) -> Setter:  # noqa: ANN401 - stands in for a socket
    return Setter(kernel)


def test_steps_are_done_in_order(kernel: Pod) -> None:
    setter(kernel).set([SETTING, NEIGHBOR, ROUTE, FORMER, RULE])
    assert ["write", "set_neighbor", "add_route", "delete_route", "add_rule"] == kernel.names


def test_steps_are_taken_back_in_reverse(kernel: Pod) -> None:
    setter(kernel).take_back([SETTING, OF_A_LINK, NEIGHBOR, ROUTE, FORMER, RULE])
    expected = ["delete_rule", "add_route", "delete_route", "delete_neighbor", "write"]
    assert expected == kernel.names
    assert ("write", "net/ipv4/ip_forward=0") == kernel.calls[-1]


def test_failure_names_nic_step_and_reason(kernel: Pod) -> None:
    kernel.refused = {"add_route": errno.ENETUNREACH}
    with pytest.raises(CniError) as raised:
        setter(kernel).set([ROUTE, RULE])
    assert ROUTING_FAILED == raised.value.code
    assert raised.value.message == (
        "NIC rail1: route 10.9.0.0/16 via 10.1.0.254 dev net1 table 1000 cannot be set:"
        " so says the kernel"
    )
    assert [] == kernel.calls


def test_rule_that_stands_is_right_a_route_is_not(kernel: Pod) -> None:
    kernel.refused = {"add_rule": errno.EEXIST}
    setter(kernel).set([RULE, NEIGHBOR])
    assert ["set_neighbor"] == kernel.names
    kernel.refused = {"add_route": errno.EEXIST}
    with pytest.raises(CniError):
        setter(kernel).set([ROUTE])


@pytest.mark.parametrize("number", [errno.ESRCH, errno.ENOENT, errno.ENODEV])
def test_what_is_gone_is_success(kernel: Pod, number: int) -> None:
    kernel.refused = dict.fromkeys(["delete_route", "delete_rule", "delete_neighbor"], number)
    setter(kernel).take_back([ROUTE, RULE, NEIGHBOR, SETTING])
    assert ["write"] == kernel.names
    setter(kernel).set([FORMER])


def test_former_default_that_is_back_is_success(kernel: Pod) -> None:
    kernel.refused = {"add_route": errno.EEXIST}
    setter(kernel).take_back([FORMER])


def test_what_the_pod_has_made_impossible_holds_nothing(
    kernel: Pod, capfd: pytest.CaptureFixture[str]
) -> None:
    """A pod that takes eth0 down must be deletable: teardown says what stays, and goes on."""
    kernel.refused = {"delete_rule": errno.EPERM, "add_route": errno.ENETDOWN}
    setter(kernel).take_back([NEIGHBOR, FORMER, RULE])
    said = capfd.readouterr().err
    assert "NIC rail1: rule from 10.1.0.5/32 lookup 1000 is not taken back" in said
    assert "NIC rail1: route 0.0.0.0/0 dev eth0 table 254 is not taken back" in said
    assert ["delete_neighbor"] == kernel.names


@pytest.mark.parametrize("former", ["0", "0\n", "\n"])
def test_setting_that_is_as_it_was_is_not_written(kernel: Pod, former: str) -> None:
    """One that could never be written cannot be put back either, and need not be."""
    kernel.settings = {SETTING.path: former.strip()}
    setter(kernel).take_back([SETTING.but(former=former)])
    assert [] == kernel.calls


def test_routes_of_interfaces_that_are_gone_went_with_them(kernel: Pod) -> None:
    alone = ROUTE.but(hops=(NamedHop(ifname="gone"),))
    former = FORMER.but(hops=(NamedHop(ifname="gone"),))
    neighbor = NEIGHBOR.but(ifname="gone")
    setter(kernel).take_back([alone, former, neighbor])
    assert [] == kernel.calls


def test_ipv6_route_goes_by_its_metric(kernel: Pod) -> None:
    """Without one the kernel would delete another route to the same place, of a lower metric."""
    six = ROUTE.but(network=Network.parse("fd50::/16"), hops=(NamedHop(ifname="net1"),))
    setter(kernel).take_back([six, six.but(metric=7), ROUTE])
    metrics = [getattr(route, "metric", None) for _, route in kernel.calls]
    assert [0, 7, 1024] == metrics


def test_multipath_route_goes_although_one_of_its_interfaces_is_gone(kernel: Pod) -> None:
    setter(kernel).take_back([MULTIPATH])
    ((name, route),) = kernel.calls
    assert ("delete_route", ()) == (name, getattr(route, "hops", None))
