"""Calls of verbs on a node of AdminNode's: its attachments have no delegates."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from multinic_cni.invocation import Invocation
from multinic_cni.leftovers import work_off_backlog
from multinic_cni.upkeep.reboot import reclaim_after_boot
from multinic_cni.upkeep.sweeping import Swept, sweep
from multinic_cni.verbs import delete, gc

if TYPE_CHECKING:
    import pytest

    from tests.unit.admin import AdminNode


def invocation(command: str, container_id: str = "", ifname: str = "net1") -> Invocation:
    return Invocation(
        command=command,
        container_id=container_id,
        netns="",
        ifname=ifname,
        path=(),
        cni_args=(),
        called_as="multinic-cni",
    )


def conf(node: AdminNode, network: str, **words: object) -> dict[str, object]:
    return {
        "cniVersion": "1.1.0",
        "name": network,
        "type": "multinic-cni",
        "plugin": {"type": "macvlan"},
        "dataDir": node.path,
        "logLevel": "info",
        **words,
    }


def soon(seconds: float = 5) -> float:
    return time.monotonic() + seconds


def delete_pod(node: AdminNode, network: str, container_id: str) -> None:
    delete.delete(invocation("DEL", container_id), conf(node, network))


def collect_garbage(node: AdminNode, network: str, patch: pytest.MonkeyPatch, *valid: str) -> None:
    """Send GC; no delegate is asked."""
    patch.setattr(gc, "chain_confs", lambda *_arguments: ())
    listed = [{"containerID": each, "ifname": "net1"} for each in valid]
    words = {"cni.dev/valid-attachments": listed, "masters": ["rail1"]}
    gc.gc(invocation("GC"), conf(node, network, **words))


def sweep_on(node: AdminNode) -> Swept:
    return sweep(node.path, soon())


def work_off(node: AdminNode) -> None:
    work_off_backlog(node.path, (), soon())


def first_call(node: AdminNode) -> None:
    """Do what each call does first: after a boot it is a lot."""
    reclaim_after_boot(node.path, soon())
