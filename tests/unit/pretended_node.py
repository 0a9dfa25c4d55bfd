"""A node without a kernel: the plugin's own verbs, with pretended NICs, pods and delegates.

A pod's netns is a file with its cookie in it. No delegate is there: what a call does is to keep
addresses, records and locks, which are the plugin's own.
"""

from __future__ import annotations

import json
import os
import time
from typing import TYPE_CHECKING, Any

from multinic_cni import cancellation, host, intent, liveness, netns, preparation, probing
from multinic_cni.attaching import Attached
from multinic_cni.invocation import Invocation
from multinic_cni.leftovers import work_off_backlog
from multinic_cni.log import Log
from multinic_cni.netns import NetnsId
from multinic_cni.probing import Conflict
from multinic_cni.result import Result
from multinic_cni.upkeep.sweeping import sweep
from multinic_cni.verbs import add, delete, gc
from multinic_selectors import attributes
from tests.unit.nics import nic

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    import pytest

    from multinic_cni.attachments.record import Record
    from multinic_cni.probing import Target

IFNAME = "net1"
NICS = [nic("rail0", "10.1.0.3/28", index=2), nic("rail1", "10.2.0.9/28", index=3)]
BLOCKS = {"10.1.": "10.1.0.0-28", "10.2.": "10.2.0.0-28", "fd00:2::": "fd00:2::-124"}
FOREIGN_MAC = "02:00:00:00:00:99"

Document = dict[str, Any]


class PretendedNetns:
    """Stands for PodNetns; a path without a file is a netns that is gone."""

    def __init__(self, path: str) -> None:
        self.path = path
        with open(path, encoding="ascii") as file:  # noqa: PTH123 - the error is the product's
            self.id = NetnsId(device=1, inode=1, cookie=int(file.read()))
        self.netlink = self

    def links(self) -> list[object]:
        return []

    def close(self) -> None:
        pass


class PretendedNode:
    """Calls the verbs as a runtime would; each raises what the plugin would answer."""

    def __init__(self, root: Path, patch: pytest.MonkeyPatch) -> None:
        self.data = root / "data"
        self.boot = "boot 1"
        self.foreign: set[str] = set()  # addresses that somebody else on the network has
        self._netns = root / "netns"
        self._netns.mkdir()
        own_pid_namespace = root / "proc" / "self" / "ns" / "pid"
        own_pid_namespace.parent.mkdir(parents=True)
        own_pid_namespace.touch()
        patch.setattr(liveness, "PROC", str(root / "proc"))
        patch.setattr(liveness, "FIRST_PID_NAMESPACE", own_pid_namespace.stat().st_ino)
        for module in (add, netns, liveness):
            patch.setattr(module, "PodNetns", PretendedNetns)
        for module in (intent, preparation, gc):
            patch.setattr(module, "chain_confs", lambda *_arguments: ())
        patch.setattr(host, "boot_id", lambda: self.boot)
        patch.setattr(host, "nics", lambda: NICS)
        patch.setattr(attributes, "SYSFS", str(root / "sys"))
        patch.setattr(probing, "probe", self._probe)
        patch.setattr(add, "attach", _attach)
        patch.setattr(cancellation, "_ignored", [])
        patch.setattr(Log, "_write", lambda *_arguments: None)  # thousands of lines

    def netns(self, container: str) -> Path:
        return self._netns / container

    def start_pod(self, container: str, cookie: int) -> None:
        unfinished = self.netns(f".{container}")
        unfinished.write_text(str(cookie))
        unfinished.rename(self.netns(container))

    def stop_pod(self, container: str) -> None:
        self.netns(container).unlink(missing_ok=True)

    def reboot(self) -> None:
        for each in self._netns.iterdir():
            each.unlink()
        self.boot = f"boot {int(self.boot.removeprefix('boot ')) + 1}"

    def tear(self, container: str) -> None:
        """Empty the files of an attachment, as a power cut may leave them."""
        torn = list(self.data.glob(f"attachments/*/{container}:*.json"))
        for address, holder in self.holders().items():
            if holder == container:
                torn += self.data.glob(f"pools/*/{address}")
        for file in torn:
            os.truncate(file, 0)

    def reserve_as_host_local(self, address: str, container: str) -> bool:
        """Write an address file as a stranger does it; False if it has no folder yet."""
        for name, folder in BLOCKS.items():
            if address.startswith(name) and (self.data / "pools" / folder).exists():
                (self.data / "pools" / folder / address).write_bytes(
                    f"{container}\r\neth0".encode()
                )
                return True
        return False

    def free_as_host_local(self, container: str) -> None:
        for address, holder in self.holders().items():
            if holder == container:
                next(self.data.glob(f"pools/*/{address}")).unlink()

    def add(self, container: str, conf: Document) -> None:
        add.add(self._call("ADD", container), self._completed(conf))

    def delete(self, container: str, conf: Document) -> None:
        delete.delete(self._call("DEL", container), self._completed(conf))

    def collect(self, conf: Document, valid: Sequence[str] | None) -> None:
        """Send GC; None stands for a runtime that sends no list."""
        listed = {} if valid is None else {"cni.dev/valid-attachments": attachments(valid)}
        gc.gc(self._call("GC", ""), self._completed(conf | listed))

    def sweep(self) -> int:
        return sweep(str(self.data), time.monotonic() + 60).freed

    def work_off_backlog(self) -> None:
        work_off_backlog(str(self.data), (), time.monotonic() + 60)

    def holders(self) -> dict[str, str]:
        """Return the container that each address is reserved for, empty for a torn file."""
        return {
            address: content.partition("\r\n")[0]
            for address, content in self._files("pools/*/[0-9a-f]*")
        }

    def records(self) -> dict[str, set[str]]:
        """Return the addresses that the records name, by container; none for a torn one."""
        found = {}
        for name, content in self._files("attachments/*/[!.]*.json"):
            nics = json.loads(content)["nics"] if content else []
            named = {address["address"] for nic in nics for address in nic["addresses"]}
            found[name.partition(":")[0]] = named
        return found

    def quarantined(self) -> dict[str, int]:
        """Return until when (seconds) each address is in quarantine, those of the past too."""
        notes = self._files("quarantine/[0-9a-f]*")
        return {address: int(content.split()[0]) for address, content in notes}

    def _files(self, pattern: str) -> Iterator[tuple[str, str]]:
        """Walk names and contents; other processes may remove files at any moment."""
        for file in self.data.glob(pattern):
            try:
                yield file.name, file.read_bytes().decode()
            except FileNotFoundError:
                continue

    def _call(self, command: str, container: str) -> Invocation:
        return Invocation(
            command=command,
            container_id=container,
            netns=str(self.netns(container)) if container else "",
            ifname=IFNAME,
            path=(),
            cni_args=(),
            called_as="multinic-cni",
        )

    def _completed(self, conf: Document) -> Document:
        return {
            "cniVersion": "1.1.0",
            "type": "multinic-cni",
            "plugin": {"type": "macvlan"},
            "dataDir": str(self.data),
            **conf,
        }

    def _probe(self, targets: Sequence[Target], _proxies: object) -> list[Conflict]:
        return [
            Conflict(target=each, mac=FOREIGN_MAC)
            for each in targets
            if each.address in self.foreign
        ]


def attachments(containers: Sequence[str]) -> list[dict[str, str]]:
    return [{"containerID": each, "ifname": IFNAME} for each in containers]


def _attach(record: Record, _delegation: object, _deadline: float) -> list[Attached]:
    return [Attached(nic=each.but(result=Result()), started=0) for each in record.nics]
