"""Truth after trouble: reboots, pods that went without a DEL, rest, and pods that come again."""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING

import pytest

from tests.netns.confs import SHARED_SUBNET, ranges
from tests.pytest_netns import Namespaces, execute, on_rail

if TYPE_CHECKING:
    from tests.netns.delegates import Delegates
    from tests.netns.state import State
    from tests.pytest_netns import Attachment, Document, Runtime

BAD_CONF, NO_ADDRESS = 7, 101


def address_of(result: Document) -> str:
    (ip,) = result["ips"]
    return str(ip["address"]).partition("/")[0]


def added(runtime: Runtime, namespaces: Namespaces, conf: Document) -> Attachment:
    attachment = runtime.attachment(namespaces.make("pod"), conf)
    attachment.add()
    return attachment


def of_pod(name: str) -> str:
    return f"IgnoreUnknown=1;K8S_POD_NAMESPACE=team;K8S_POD_NAME={name}"


def test_first_call_after_a_boot_frees_what_earlier_pods_held(
    runtime: Runtime, namespaces: Namespaces, state: State
) -> None:
    conf = runtime.conf(**ranges(1, 2, last=101))
    for each in [added(runtime, namespaces, conf) for _ in range(2)]:
        namespaces.remove(each.pod)
    state.reboot()

    fresh = added(runtime, namespaces, conf)

    held = {f"{fresh.container_id or f'c-{fresh.pod.name}'} net1"}
    assert held == set(state.addresses().values())
    assert 2 == len(state.addresses())
    fresh.check().succeeded()


def test_delegates_of_an_earlier_boot_get_their_del_by_and_by(
    runtime: Runtime, namespaces: Namespaces, state: State, delegates: Delegates
) -> None:
    """Two attachments at each ADD: one pod must not pay for hundreds."""
    delegates.write("macvlan", "real")
    runtime = runtime.but(path=delegates.path)
    conf = runtime.conf(**ranges(1, last=110))
    for each in [added(runtime, namespaces, conf) for _ in range(5)]:
        namespaces.remove(each.pod)
    state.reboot()
    delegates.log.unlink()

    counts = []
    for _ in range(4):
        added(runtime, namespaces, conf)
        counts.append(len(delegates.calls("DEL")))

    assert [2, 4, 5, 5] == counts
    assert 4 == len(state.records())
    assert 4 == len(state.addresses())


def test_late_del_of_an_earlier_boot_frees_nothing_of_the_new_owner(
    runtime: Runtime, namespaces: Namespaces, state: State
) -> None:
    """A kubelet sends DEL for old sandboxes after the first new pods have come."""
    conf = runtime.conf(**ranges(1, last=100))
    old = added(runtime, namespaces, conf)
    namespaces.remove(old.pod)
    state.reboot()
    fresh = added(runtime, namespaces, conf)
    before = state.addresses()

    old.delete(CNI_NETNS="").succeeded()

    assert before == state.addresses() != {}
    fresh.check().succeeded()
    fresh.delete().succeeded()
    assert state.left() == []


def test_record_torn_by_a_power_cut_holds_nothing_after_the_boot(
    runtime: Runtime, namespaces: Namespaces, state: State
) -> None:
    conf = runtime.conf(**ranges(1, last=100))
    namespaces.remove(added(runtime, namespaces, conf).pod)
    state.reboot()
    (record,) = state.root.glob("attachments/*/*.json")
    record.write_bytes(b"")

    added(runtime, namespaces, conf)

    assert 1 == len(state.addresses())


@pytest.mark.parametrize("marker", [None, b""], ids=["missing", "empty"])
def test_without_a_marker_living_pods_keep_their_addresses(
    runtime: Runtime, namespaces: Namespaces, state: State, marker: bytes | None
) -> None:
    """A release before this one wrote none."""
    conf = runtime.conf(**ranges(1, last=101))
    living = added(runtime, namespaces, conf)
    if marker is None:
        (state.root / "boot").unlink()
    else:
        (state.root / "boot").write_bytes(marker)

    added(runtime, namespaces, conf)

    assert 2 == len(state.addresses())
    living.check().succeeded()


def test_full_pool_is_swept_before_that_is_said(
    runtime: Runtime, namespaces: Namespaces, state: State
) -> None:
    conf = runtime.conf(**ranges(1, last=101))
    living, dead = (added(runtime, namespaces, conf) for _ in range(2))
    namespaces.remove(dead.pod)

    fresh = added(runtime, namespaces, conf)

    assert address_of(fresh.result or {}) == address_of(dead.result or {})
    living.check().succeeded()
    fresh.check().succeeded()
    dead.delete(CNI_NETNS="").succeeded()
    assert {address_of(each.result or {}) for each in (living, fresh)} == set(state.addresses())


def test_status_counts_stale_addresses_as_free(runtime: Runtime, namespaces: Namespaces) -> None:
    conf = runtime.conf(**ranges(1, last=100))
    pod = added(runtime, namespaces, conf).pod
    assert "is exhausted" in runtime.call("STATUS", conf).error(50)
    namespaces.remove(pod)
    runtime.call("STATUS", conf).succeeded()


def test_exhausted_pool_is_named_with_its_figures(
    runtime: Runtime, namespaces: Namespaces, state: State
) -> None:
    conf = runtime.conf(**ranges(1, last=101))
    for _ in range(2):
        added(runtime, namespaces, conf)
    before = state.addresses()

    message = runtime.attachment(namespaces.make("pod"), conf).call("ADD").error(NO_ADDRESS)

    assert message == (
        "NIC rail1: pool 10.1.0.100-10.1.0.101 of 10.1.0.0/24 is exhausted: 2 of its 2 addresses"
        " are reserved; none of them stale"
    )
    assert before == state.addresses()


def test_pod_in_an_unmounted_netns_is_not_swept(
    runtime: Runtime, namespaces: Namespaces, state: State
) -> None:
    conf = runtime.conf(**ranges(1, last=100))
    living = added(runtime, namespaces, conf)
    before = state.addresses()
    with namespaces.process_in(living.pod):
        namespaces.remove(living.pod)
        runtime.attachment(namespaces.make("pod"), conf).call("ADD").error(NO_ADDRESS)
    assert before == state.addresses() != {}


def test_longest_rested_address_comes_first(runtime: Runtime, namespaces: Namespaces) -> None:
    conf = runtime.conf(**ranges(1, last=103))
    first, second, third, fourth = (added(runtime, namespaces, conf) for _ in range(4))
    for each in (third, first, fourth):
        each.delete().succeeded()
    given = [address_of(added(runtime, namespaces, conf).result or {}) for _ in range(3)]
    assert [on_rail(1, host) for host in (102, 100, 103)] == given
    assert second.result is not None


def test_freed_address_rests_for_the_cooldown(
    runtime: Runtime, namespaces: Namespaces, state: State
) -> None:
    confs = ranges(1, last=100)
    conf = runtime.conf(**(confs | {"ipam": confs["ipam"] | {"cooldown": 3}}))
    added(runtime, namespaces, conf).delete().succeeded()
    freed = time.monotonic()
    pod = namespaces.make("pod")

    message = runtime.attachment(pod, conf).call("ADD").error(NO_ADDRESS)

    assert "0 of its 1 addresses are reserved, 1 rest for up to 3 s (cooldown)" in message
    assert state.addresses() == {}
    time.sleep(max(0.0, freed + 3.1 - time.monotonic()))
    runtime.attachment(pod, conf).add()


def test_sticky_pod_gets_its_last_address_again(runtime: Runtime, namespaces: Namespaces) -> None:
    confs = ranges(1, 2, last=109)
    conf = runtime.conf(**(confs | {"ipam": confs["ipam"] | {"sticky": True, "cooldown": 3600}}))

    def add(name: str) -> tuple[Attachment, list[str]]:
        attachment = runtime.attachment(namespaces.make("pod"), conf, cni_args=of_pod(name))
        return attachment, [ip["address"] for ip in attachment.add()["ips"]]

    first, had = add("db-0")
    assert ["10.1.0.100/24", "10.2.0.100/24"] == had
    other, _ = add("db-1")
    first.delete().succeeded()
    other.delete().succeeded()
    stranger, got = add("web")
    assert ["10.1.0.102/24", "10.2.0.102/24"] == got
    again, has = add("db-0")
    assert had == has
    twin, others = add("db-0")  # as an update starts the new one before the old one ends
    assert ["10.1.0.103/24", "10.2.0.103/24"] == others
    for each in (stranger, again, twin):
        each.delete().succeeded()


@pytest.mark.parametrize(
    "name", ["../../x", "a/b", "x" * 300, "", "ä" * 130], ids=["up", "slash", "long", "none", "utf"]
)
def test_sticky_never_fails_over_a_pods_name(
    runtime: Runtime, namespaces: Namespaces, state: State, name: str
) -> None:
    confs = ranges(1)
    conf = runtime.conf(**(confs | {"ipam": confs["ipam"] | {"sticky": True}}))
    pod = namespaces.make("pod")
    attachment = runtime.attachment(pod, conf, cni_args=of_pod(name))
    attachment.add()
    attachment.delete().succeeded()
    outside = [
        file for file in state.root.parent.rglob("*x*") if not file.is_relative_to(state.root)
    ]
    assert outside == []


def test_edited_conf_does_not_move_a_share_under_a_living_pod(
    runtime: Runtime, namespaces: Namespaces, state: State
) -> None:
    conf = runtime.conf(**SHARED_SUBNET)
    living = added(runtime, namespaces, conf)
    before = state.addresses()
    moved = conf | {"hosts": {os.uname().nodename: 4}}
    pod = namespaces.make("pod")

    message = runtime.attachment(pod, moved).call("ADD").error(BAD_CONF)

    assert message.startswith(
        "NIC rail1: the share moves from 192.168.3.0/24 to 192.168.4.0/24, but pod"
        f" c-{living.pod.name} still has 192.168.3.1: delete such pods first"
    )
    assert before == state.addresses()
    assert pod.links() == {}
    added(runtime, namespaces, conf).delete().succeeded()
    living.delete().succeeded()
    result = runtime.attachment(pod, moved).add()
    assert "192.168.4.1/18" == result["ips"][0]["address"]


def test_share_moves_when_only_dead_pods_had_the_old_one(
    runtime: Runtime, namespaces: Namespaces
) -> None:
    conf = runtime.conf(**SHARED_SUBNET)
    namespaces.remove(added(runtime, namespaces, conf).pod)
    moved = conf | {"hosts": {os.uname().nodename: 4}}
    result = added(runtime, namespaces, moved).result or {}
    assert "192.168.4.1/18" == result["ips"][0]["address"]


def test_node_that_lost_its_hints_gives_no_address_twice(
    runtime: Runtime, namespaces: Namespaces, state: State
) -> None:
    conf = runtime.conf(**ranges(1, last=102))
    held = [address_of(added(runtime, namespaces, conf).result or {}) for _ in range(2)]
    execute("rm", "-r", str(state.root / "turns"))
    (state.root / "pools/10.1.0.0-24/last_reserved_ip.10.1.0.100").unlink()
    assert "10.1.0.102" == address_of(added(runtime, namespaces, conf).result or {})
    assert ["10.1.0.100", "10.1.0.101"] == held
