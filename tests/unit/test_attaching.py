from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

import pytest

from multinic_cni import attaching
from multinic_cni.attaching import attach, check, detach
from multinic_cni.delegation import Delegation
from multinic_cni.errors import DELEGATE_FAILED
from multinic_cni.jsontext import encode
from multinic_cni.process import Outcome
from multinic_cni.result import Interface, IpConfig, Result
from tests.unit.conversation import Answers, Delegates, conf_of, install
from tests.unit.records import conf, record

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from multinic_cni.attachments.record import Record

NETNS = "/var/run/netns/cni-1"
NEVER = 0.0


def result(kind: str, ifname: str) -> Result:
    return Result(
        interfaces=(Interface(name=ifname, sandbox=NETNS, mac="02:00:00:00:00:01"),),
        dns={"domain": kind},
    )


def well(command: str, kind: str, ifname: str) -> Outcome:
    document = result(kind, ifname).to_document("1.0.0") if command == "ADD" else None
    return Outcome(exit_status=0, stdout=encode(document).encode() if document else b"")


def failing(*wanted: tuple[str, str, str]) -> Answers:
    def answer(command: str, kind: str, ifname: str) -> Outcome:
        if (command, kind, ifname) in wanted:
            return Outcome(exit_status=1, stdout=b'{"code": 100, "msg": "no"}')
        return well(command, kind, ifname)

    return answer


@pytest.fixture
def delegation(tmp_path: Path) -> Delegation:
    folder = install(tmp_path / "bin", "macvlan", "tuning", "host-device", "host-local", "rdma")
    return Delegation(
        container_id="c0ffee", netns=NETNS, path=(str(folder),), cni_args="", environment={}
    )


@pytest.fixture
def execute(monkeypatch: pytest.MonkeyPatch) -> Callable[[Answers], Delegates]:
    def replace(answers: Answers) -> Delegates:
        delegates = Delegates(answers)
        monkeypatch.setattr(attaching, "drive", delegates.drive)
        return delegates

    return replace


def chains(*kinds: str, nics: int = 2) -> Record:
    """Return a record of NICs that have the same chain and no result yet."""
    (first, _) = record().nics
    return record(complete=False).but(
        nics=tuple(
            first.but(
                nic=f"rail{number}",
                ifname="net1" if number == 0 else f"net1-{number}",
                confs=tuple(conf(kind) for kind in kinds),
                result=None,
            )
            for number in range(nics)
        )
    )


Execute: TypeAlias = "Callable[[Answers], Delegates]"


def test_all_chains_are_attached(delegation: Delegation, execute: Execute) -> None:
    delegates = execute(well)
    outcomes = attach(chains("macvlan", "tuning"), delegation, NEVER)
    assert [
        ("ADD", "macvlan", "net1"),
        ("ADD", "macvlan", "net1-1"),
        ("ADD", "tuning", "net1"),
        ("ADD", "tuning", "net1-1"),
    ] == delegates.asked
    assert [2, 2] == [each.started for each in outcomes]
    assert [None, None] == [each.error for each in outcomes]
    expected = [result("tuning", "net1"), result("tuning", "net1-1")]
    assert expected == [each.nic.result for each in outcomes]


def test_next_of_a_chain_gets_the_result_so_far(delegation: Delegation, execute: Execute) -> None:
    delegates = execute(well)
    attach(chains("macvlan", "tuning", nics=1), delegation, NEVER)
    first, second = (conf_of(each) for each in delegates.commands)
    assert "prevResult" not in first
    assert result("macvlan", "net1").to_document("1.0.0") == second["prevResult"]


def test_failure_names_nic_and_delegate(delegation: Delegation, execute: Execute) -> None:
    execute(failing(("ADD", "macvlan", "net1-1")))
    first, second, third = attach(chains("macvlan", nics=3), delegation, NEVER)
    assert (None, None) == (first.error, third.error)
    assert second.error is not None
    assert DELEGATE_FAILED == second.error.code
    assert "delegate macvlan on NIC rail1 (net1-1) ADD failed: no" == second.error.message
    assert second.nic.result is None
    # It may have left something: it is to be undone too.
    assert 1 == second.started


def test_after_a_failure_no_chain_goes_on(delegation: Delegation, execute: Execute) -> None:
    delegates = execute(failing(("ADD", "macvlan", "net1")))
    outcomes = attach(chains("macvlan", "tuning"), delegation, NEVER)
    assert [("ADD", "macvlan", "net1"), ("ADD", "macvlan", "net1-1")] == delegates.asked
    assert [1, 1] == [each.started for each in outcomes]


def test_middle_of_a_chain_fails(delegation: Delegation, execute: Execute) -> None:
    execute(failing(("ADD", "tuning", "net1")))
    (outcome,) = attach(chains("macvlan", "tuning", "rdma", nics=1), delegation, NEVER)
    assert 2 == outcome.started
    assert result("macvlan", "net1") == outcome.nic.result


@pytest.mark.parametrize("stdout", [b'{"interfaces": {}}', b'{"ips": [{"address": 7}]}'])
def test_result_of_a_wrong_shape(delegation: Delegation, execute: Execute, stdout: bytes) -> None:
    execute(lambda *_asked: Outcome(exit_status=0, stdout=stdout))
    (outcome,) = attach(chains("macvlan", nics=1), delegation, NEVER)
    assert outcome.error is not None
    assert DELEGATE_FAILED == outcome.error.code
    assert "delegate macvlan on NIC rail0 (net1) ended well, but" in outcome.error.message


def test_version_that_a_delegate_accepted_is_kept(delegation: Delegation, execute: Execute) -> None:
    def older(command: str, kind: str, ifname: str) -> Outcome:
        if command == "VERSION":
            return Outcome(exit_status=0, stdout=b'{"supportedVersions": ["0.4.0"]}')
        if len(delegates.asked) == 1:
            return Outcome(exit_status=1, stdout=b'{"code": 1, "msg": "incompatible"}')
        return well(command, kind, ifname)

    delegates = execute(older)
    (outcome,) = attach(chains("macvlan", nics=1), delegation, NEVER)
    assert ["0.4.0"] == [each["cniVersion"] for each in outcome.nic.confs]
    assert outcome.error is None


def test_detaching_goes_backwards_in_each_chain(delegation: Delegation, execute: Execute) -> None:
    delegates = execute(well)
    outcomes = detach(chains("macvlan", "tuning"), delegation, NEVER)
    assert [
        ("DEL", "tuning", "net1"),
        ("DEL", "tuning", "net1-1"),
        ("DEL", "macvlan", "net1"),
        ("DEL", "macvlan", "net1-1"),
    ] == delegates.asked
    assert [((), False)] * 2 == [(each.errors, each.ipam_pending) for each in outcomes]


def test_delegates_get_their_own_result_at_del_and_check(
    delegation: Delegation, execute: Execute
) -> None:
    delegates = execute(well)
    attached = record()
    detach(attached, delegation, NEVER)
    check(attached, delegation, NEVER)
    own = Result(
        interfaces=(Interface(name="net1", mtu=9000, sandbox=NETNS),),
        ips=(IpConfig(address="10.1.0.7/24", interface=0),),
        routes=({"dst": "10.9.0.0/16", "table": 100},),
        dns={"nameservers": ["10.1.0.53"]},
    ).to_document("1.0.0")
    by_name: dict[str, list[object]] = {"net1": [], "net1-1": []}
    for each in delegates.commands:
        by_name[each.environment["CNI_IFNAME"]].append(conf_of(each).get("prevResult"))
    assert {"net1": [own] * 4, "net1-1": [None] * 2} == by_name


def test_every_delegate_gets_its_del_although_some_fail(
    delegation: Delegation, execute: Execute
) -> None:
    delegates = execute(failing(("DEL", "tuning", "net1"), ("DEL", "macvlan", "net1-1")))
    outcomes = detach(chains("macvlan", "tuning"), delegation, NEVER)
    assert 4 == len(delegates.asked)
    assert [["tuning"], ["macvlan"]] == [[kind for kind, _ in each.errors] for each in outcomes]


def with_ipam(kind: str, ipam: str) -> Record:
    attached = chains(kind, nics=1)
    (nic,) = attached.nics
    return attached.but(nics=(nic.but(confs=(conf(kind, ipam={"type": ipam}),)),))


def test_ipam_is_asked_itself_where_its_delegate_failed(
    delegation: Delegation, execute: Execute
) -> None:
    delegates = execute(failing(("DEL", "macvlan", "net1")))
    (outcome,) = detach(with_ipam("macvlan", "host-local"), delegation, NEVER)
    assert [("DEL", "macvlan", "net1"), ("DEL", "host-local", "net1")] == delegates.asked
    # Its conf is the whole one: an IPAM plugin reads its block in it.
    assert {"type": "host-local"} == conf_of(delegates.commands[1])["ipam"]
    assert not outcome.ipam_pending


def test_ipam_that_fails_itself_is_pending(delegation: Delegation, execute: Execute) -> None:
    execute(failing(("DEL", "macvlan", "net1"), ("DEL", "host-local", "net1")))
    (outcome,) = detach(with_ipam("macvlan", "host-local"), delegation, NEVER)
    assert outcome.ipam_pending
    assert ["macvlan", "host-local"] == [kind for kind, _ in outcome.errors]


def test_ipam_that_keeps_nothing_is_not_asked(delegation: Delegation, execute: Execute) -> None:
    delegates = execute(failing(("DEL", "macvlan", "net1")))
    detach(with_ipam("macvlan", "static"), delegation, NEVER)
    assert [("DEL", "macvlan", "net1")] == delegates.asked


@pytest.mark.parametrize(("netns", "asked"), [("", True), (NETNS, False)])
def test_host_device_forgets_its_ipam_without_a_netns(
    delegation: Delegation, execute: Execute, netns: str, *, asked: bool
) -> None:
    delegates = execute(well)
    detach(with_ipam("host-device", "host-local"), delegation.but(netns=netns), NEVER)
    assert asked == (("DEL", "host-local", "net1") in delegates.asked)


def test_check_gathers_all_errors(delegation: Delegation, execute: Execute) -> None:
    execute(failing(("CHECK", "macvlan", "net1"), ("CHECK", "tuning", "net1-1")))
    errors = check(chains("macvlan", "tuning"), delegation, NEVER)
    assert [
        "delegate macvlan on NIC rail0 (net1) CHECK failed: no",
        "delegate tuning on NIC rail1 (net1-1) CHECK failed: no",
    ] == [each.message for each in errors]


@pytest.mark.parametrize(
    ("kinds", "most", "expected"),
    [
        (("macvlan", "tuning"), None, None),
        (("macvlan", "tuning"), 2, 2),
        (("macvlan", "rdma"), None, 1),
        (("macvlan", "rdma"), 4, 1),
    ],
)
def test_limit_holds_for_every_command(
    delegation: Delegation,
    execute: Execute,
    kinds: tuple[str, ...],
    most: int | None,
    expected: int | None,
) -> None:
    delegates = execute(well)
    limited = chains(*kinds).but(max_parallel=most)
    for work in (attach, detach, check):
        delegates.at_once = -1
        work(limited, delegation, NEVER)
        assert expected == delegates.at_once
