"""Addresses that a pod asks for where another IPAM plugin gives them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.netns.asking import SOURCES, asking
from tests.netns.confs import MASTER_NETS
from tests.pytest_netns import on_rail

if TYPE_CHECKING:
    from pathlib import Path

    from tests.netns.delegates import Delegates
    from tests.netns.state import State
    from tests.pytest_netns import Namespace, Runtime

BAD_CONF, DELEGATE_FAILED = 7, 104
MAC = "02:00:5e:10:00:01"


def host_local(tmp_path: Path, **words: object) -> dict[str, Any]:
    own = words or {"subnet": "10.50.0.0/24"}
    return {"type": "host-local", "dataDir": str(tmp_path / "host-local"), **own}


def kept_by_host_local(tmp_path: Path) -> set[str]:
    folder = tmp_path / "host-local/rails"
    names = {file.name for file in folder.iterdir()} if folder.exists() else set()
    return {name for name in names if name != "lock" and not name.startswith("last_reserved")}


@pytest.mark.parametrize("source", SOURCES)
def test_host_local_gives_what_is_asked(
    runtime: Runtime, pod: Namespace, tmp_path: Path, source: str
) -> None:
    both = host_local(tmp_path, ranges=[[{"subnet": "10.50.0.0/24"}], [{"subnet": "fd00:50::/64"}]])
    conf = runtime.conf(masterNets=MASTER_NETS[:1], ipam=both)
    attachment = asking(runtime, pod, conf, "fd00:50::77", "10.50.0.77/24", sources=(source,))

    attachment.add()

    assert pod.addresses() == {"net1": ["10.50.0.77/24", "fd00:50::77/64"]}
    assert kept_by_host_local(tmp_path) == {"10.50.0.77", "fd00:50::77"}
    attachment.check().succeeded()
    attachment.delete().succeeded()
    assert kept_by_host_local(tmp_path) == set()


def test_host_local_on_two_nics_gives_one_each_in_order(
    runtime: Runtime, pod: Namespace, tmp_path: Path
) -> None:
    conf = runtime.conf(masterNets=MASTER_NETS[:2], ipam=host_local(tmp_path))
    attachment = asking(runtime, pod, conf, "10.50.0.77", "10.50.0.66", mac=MAC)

    attachment.add()

    assert pod.addresses() == {"net1": ["10.50.0.77/24"], "net1-1": ["10.50.0.66/24"]}
    assert pod.links()["net1"]["address"] == MAC
    attachment.delete().succeeded()
    assert kept_by_host_local(tmp_path) == set()


@pytest.mark.parametrize(
    ("asked", "code", "reason"),
    [
        (["10.50.0.77"], BAD_CONF, "args.cni.ips 10.50.0.77: must be one address for each NIC"),
        (["10.50.0.77", "10.50.0.78", "10.50.0.79"], BAD_CONF, "in this order: rail1, rail2"),
        (["10.50.0.77", "10.60.0.77"], DELEGATE_FAILED, "10.60.0.77"),
        (
            ["10.50.0.77", "10.50.0.1"],
            DELEGATE_FAILED,
            "requested ip 10.50.0.1 is subnet's gateway",
        ),
    ],
    ids=repr,
)
def test_what_host_local_cannot_give(
    *,
    runtime: Runtime,
    pod: Namespace,
    state: State,
    tmp_path: Path,
    asked: list[str],
    code: int,
    reason: str,
) -> None:
    conf = runtime.conf(masterNets=MASTER_NETS[:2], ipam=host_local(tmp_path))

    assert reason in asking(runtime, pod, conf, *asked).call("ADD").error(code)

    assert pod.links() == {}
    assert state.left() == []
    assert kept_by_host_local(tmp_path) == set()


def test_static_gives_what_is_asked_on_the_nics_of_multi_config(
    runtime: Runtime, pod: Namespace, state: State
) -> None:
    """The way of the operator's documents: the annotation's ips in the order of the masters."""
    args = {f"rail{k}": {"addresses": [{"address": f"{on_rail(k, 20)}/24"}]} for k in (1, 2)}
    conf = runtime.conf(
        masters=["rail2", "rail1"],
        ipam={"type": "multi-config", "ipam_type": "static", "args": args},
    )
    without_length = asking(runtime, pod, conf, on_rail(2, 77), on_rail(1, 77))

    message = without_length.call("ADD").error(BAD_CONF)

    assert "the static plugin needs a prefix length" in message
    assert state.left() == []
    attachment = asking(runtime, pod, conf, f"{on_rail(2, 77)}/24", f"{on_rail(1, 77)}/24")
    attachment.add()
    assert pod.addresses() == {"net1": ["10.2.0.77/24"], "net1-1": ["10.1.0.77/24"]}
    attachment.check().succeeded()


def test_ipam_plugin_that_ignores_an_address(
    runtime: Runtime, pod: Namespace, delegates: Delegates, state: State
) -> None:
    delegates.write("static", 'conf=$(printf %s "$conf" | sed "s/\\"args\\"/\\"x\\"/"); real')
    ipam = {"type": "static", "addresses": [{"address": "10.1.0.20/24"}]}
    conf = runtime.conf(masterNets=MASTER_NETS[:1], ipam=ipam)
    attachment = asking(delegates.used_by(runtime), pod, conf, "10.1.0.77/24")

    message = attachment.call("ADD").error(DELEGATE_FAILED)

    assert "on NIC rail1 (net1): static has not given 10.1.0.77/24" in message
    assert pod.links() == {}
    assert state.left() == []


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        ({}, "the network has no addresses (no ipam)"),
        ({"ipam": {"type": "host-device-ipam"}}, "the addresses are the NIC's own"),
    ],
    ids=["layer-2", "host-device-ipam"],
)
def test_network_without_addresses_to_choose_from(
    runtime: Runtime, pod: Namespace, state: State, words: dict[str, Any], reason: str
) -> None:
    conf = runtime.conf(masterNets=MASTER_NETS[:1], **words)

    message = asking(runtime, pod, conf, "10.1.0.77").call("ADD").error(BAD_CONF)

    assert f"args.cni.ips 10.1.0.77: {reason}" in message
    assert pod.links() == {}
    assert state.left() == []
