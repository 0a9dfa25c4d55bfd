"""What probers say of the node's NICs, in the folder that node.json names."""

from __future__ import annotations

import json
import os
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pytest

from tests.netns.confs import masters_of, ranges

if TYPE_CHECKING:
    from pathlib import Path

    from tests.netns.mounts import Mounts
    from tests.netns.state import State
    from tests.pytest_netns import Namespace, Node, Runtime

NO_NICS = 100
HOST_DEVICE = {"type": "host-device"}


@dataclass(frozen=True)
class Prober:
    """Somebody who writes files about NICs, and the runtime of a node that reads them."""

    folder: Path
    runtime: Runtime

    def say(self, nic: str, *, healthy: bool, reason: str = "", seconds: float = 3600) -> None:
        """Write whole, as probers should: under another name first."""
        until = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() + seconds))
        unfinished = self.folder / ".unfinished"
        unfinished.write_text(json.dumps({"healthy": healthy, "reason": reason, "expires": until}))
        unfinished.rename(self.folder / f"{nic}.json")


@pytest.fixture
def prober(runtime: Runtime, mounts: Mounts, tmp_path: Path) -> Prober:
    """Return a prober of a node whose node.json names its folder."""
    folder = tmp_path / "health"
    folder.mkdir()
    mounts.mount_tmpfs("/etc/cni")
    mounts.seen("/etc/cni/multinic").mkdir()
    words = {"paths": {"health": str(folder)}}
    mounts.seen("/etc/cni/multinic/node.json").write_text(json.dumps(words))
    return Prober(folder, runtime.but(wrapper=mounts.wrapper))


def test_sick_nic_is_skipped_and_the_log_says_why(
    prober: Prober, node: Node, pod: Namespace
) -> None:
    prober.say("rail2", healthy=False, reason="BER 1e-9, cable 17")
    conf = prober.runtime.conf(**ranges(1, 2, 3, 4))

    answer = prober.runtime.attachment(pod, conf).call("ADD")

    assert [each["address"] for each in answer.result()["ips"]] == [
        "10.1.0.100/24",
        "10.3.0.100/24",
        "10.4.0.100/24",
    ]
    assert masters_of(pod, node) == ["rail1", "rail3", "rail4"]
    file = prober.folder / "rail2.json"
    assert f"NIC rail2 not taken: BER 1e-9, cable 17 (says {file})" in answer.stderr


def test_prober_goes_before_the_kernel(prober: Prober, node: Node, pod: Namespace) -> None:
    node.unplug(3)
    prober.say("rail3", healthy=True)
    conf = prober.runtime.conf(masters=["rail*"])

    prober.runtime.attachment(pod, conf).add()

    assert masters_of(pod, node) == ["rail1", "rail2", "rail3", "rail4"]


def test_unhealthy_fail_and_use(prober: Prober, node: Node, pod: Namespace, state: State) -> None:
    prober.say("rail1", healthy=False, reason="flapping")
    conf = prober.runtime.conf(masters=["rail1", "rail2"])
    fails, uses = ({"attachPolicy": {"unhealthy": word}} for word in ("fail", "use"))

    message = prober.runtime.attachment(pod, conf | fails).call("ADD").error(NO_NICS)

    assert f"NIC rail1 is wanted, but flapping (says {prober.folder}/rail1.json)" in message
    assert state.left() == []
    prober.runtime.attachment(pod, conf | uses).add()
    assert masters_of(pod, node) == ["rail1", "rail2"]


def test_words_that_say_nothing(prober: Prober, node: Node, pod: Namespace) -> None:
    """An expired one, a damaged one, a link, and a FIFO that nobody ever writes to."""
    prober.say("rail1", healthy=False, seconds=-1)
    (prober.folder / "rail2.json").write_text('{"healthy": false, "expires": ')
    prober.say("elsewhere", healthy=False)
    (prober.folder / "rail3.json").symlink_to("elsewhere.json")
    os.mkfifo(prober.folder / "rail4.json")
    conf = prober.runtime.conf(masters=["rail*"], timeout=5)

    prober.runtime.attachment(pod, conf).add()

    assert masters_of(pod, node) == ["rail1", "rail2", "rail3", "rail4"]


def test_nic_that_goes_into_the_pod_may_be_down_but_not_sick(
    prober: Prober, node: Node, pod: Namespace
) -> None:
    node.ip("link set rail4 down")
    prober.say("rail4", healthy=False, reason="firmware")
    conf = prober.runtime.conf(plugin=HOST_DEVICE, masters=["rail4"])

    message = prober.runtime.attachment(pod, conf).call("ADD").error(NO_NICS)

    assert f"rail4: firmware (says {prober.folder}/rail4.json)" in message
    (prober.folder / "rail4.json").unlink()
    prober.runtime.attachment(pod, conf).add()
    assert list(pod.links()) == ["net1"]


def test_nic_with_an_odd_name(prober: Prober, node: Node, pod: Namespace) -> None:
    odd = "é'$(x)\\"
    node.ip("link set rail1 down")
    node.execute("ip", "link", "set", "rail1", "name", odd, "up")
    prober.say(odd, healthy=False, reason="odd")
    conf = prober.runtime.conf(masters=[odd, "rail3"])

    answer = prober.runtime.attachment(pod, conf).call("ADD")

    assert answer.status == 0
    assert masters_of(pod, node) == ["rail3"]
    prober.say(odd, healthy=True)
    prober.runtime.attachment(pod, conf, ifname="net2").add()
    assert odd in masters_of(pod, node)
