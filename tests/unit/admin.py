"""A node whose store a test looks at: its pods, which of them live, and its files."""

from __future__ import annotations

import os
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from multinic_cni import host
from multinic_cni.attachments.claim import claim, key_of
from multinic_cni.attachments.record import NicRecord
from multinic_cni.liveness import Living
from multinic_ipam.reservation import Owner, Reservation
from tests.unit.records import record
from tests.unit.stores import opened

if TYPE_CHECKING:
    from pathlib import Path

    import pytest

    from multinic_cni.attachments.record import Record

BLOCK, FOLDER = "10.1.0.0/24", "10.1.0.0-24"
BOOT, EARLIER = "this-boot", "an-earlier-boot"
SINCE, WHEN = 1_700_000_000, "2023-11-14T22:13:20Z"


def on(block: str, *addresses: str) -> tuple[Reservation, ...]:
    return tuple(Reservation(block, each) for each in addresses)


@dataclass
class AdminNode:
    """The data directory; `living` are the containers whose pods live."""

    data: Path
    living: set[str] = field(default_factory=set)

    @classmethod
    def make(cls, data: Path, monkeypatch: pytest.MonkeyPatch) -> AdminNode:
        node = cls(data)
        data.mkdir()
        node.write("boot", BOOT)
        monkeypatch.setattr(host, "boot_id", lambda: BOOT)
        monkeypatch.setattr(Living, "has", lambda _, each: node.has(each))
        return node

    @property
    def path(self) -> str:
        return str(self.data)

    def has(self, record: Record) -> bool:
        return record.boot_id == BOOT and record.container_id in self.living

    def write(self, path: str, content: str) -> Path:
        file = self.data / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content.encode())
        os.utime(file, (SINCE, SINCE))
        return file

    def reserve(self, address: str, content: str, *, folder: str = FOLDER) -> Path:
        return self.write(f"pools/{folder}/{address}", content)

    def record_of(self, network: str, container_id: str) -> Path:
        return self.data / "attachments" / network / f"{container_id}:net1.json"

    def host_local_folder(self) -> Path:
        """Return a folder of host-local's: what is not in it, host-local has freed."""
        folder = self.data.parent / "networks"
        folder.mkdir(exist_ok=True)
        return folder

    def record(
        self,
        container_id: str,
        *addresses: str,
        lives: bool = True,
        boot: str = BOOT,
        network: str = "rails",
        block: str = BLOCK,
    ) -> Path:
        """Write a record alone, of an attachment whose delegates leave nothing to do."""
        nic = NicRecord(
            nic="rail1",
            index=3,
            kind="",
            mac="02:00:00:00:00:03",
            ifname="net1",
            confs=(),
            reservations=on(block, *addresses),
        )
        whole = record().but(
            network=network,
            container_id=container_id,
            boot_id=boot,
            pod=f"team/{container_id}",
            nics=(nic,),
        )
        self.living |= {container_id} if lives else set()
        held = claim(self.path, network, key_of(container_id, "net1"), time.monotonic() + 5)
        held.write(whole)
        held.close()
        return self.record_of(network, container_id)

    def attach(
        self,
        container_id: str,
        *addresses: str,
        lives: bool = True,
        boot: str = BOOT,
        network: str = "rails",
    ) -> Path:
        """Write a record and the address files, as ADD does."""
        file = self.record(container_id, *addresses, lives=lives, boot=boot, network=network)
        with opened(self.data) as store:
            store.restore(on(BLOCK, *addresses), Owner(container_id, "net1"))
        for each in addresses:
            os.utime(self.data / "pools" / FOLDER / each, (SINCE, SINCE))
        return file

    def files(self) -> dict[str, str]:
        """Return the address files with their contents, in all blocks."""
        return {
            each.name: each.read_bytes().decode(errors="replace").replace("\r\n", " ")
            for each in self.data.glob("pools/*/*")
            if "last_reserved_ip" not in each.name and each.is_file()
        }

    def everything(self) -> dict[str, tuple[int, bytes]]:
        """Return every file as it is, but for hints and locks."""
        return {
            str(each.relative_to(self.data)): (each.stat().st_mtime_ns, each.read_bytes())
            for each in self.data.rglob("*")
            if each.is_file() and each.name != "lock" and each.parent.name != "turns"
        }
