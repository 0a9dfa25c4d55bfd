"""What the plugin keeps on disk, as a test sees it from outside."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pathlib import Path


# What is remembered for later calls, and grows with networks and pages of addresses, not with pods.
MEMORY = {"boot", "turns", "shares", "sticky", "uses"}
EARLIER_BOOT = "00000000-0000-4000-8000-000000000000"


@dataclass(frozen=True)
class State:
    """The data directory."""

    root: Path

    def addresses(self) -> dict[str, str]:
        """Return who holds each reserved address: "containerID ifname"."""
        held: dict[str, str] = {}
        for file in self.root.glob("pools/*/*"):
            if "last_reserved_ip." in file.name:
                continue  # the cursor, or the temporary file that becomes it
            assert file.name not in held, f"{file.name} is reserved in two pools"
            held[file.name] = file.read_bytes().decode().replace("\r\n", " ")
        return held

    def records(self) -> dict[str, Any]:
        """Return the records by "containerID:ifname"."""
        return {
            file.name.removesuffix(".json"): json.loads(file.read_text())
            for file in self.root.glob("attachments/*/*.json")
        }

    def left(self) -> list[str]:
        """Return every file that should not outlive the last attachment.

        The store's own two temporary files have one name for all attachments, and the next call
        that needs them makes them anew: what a killed one has left there does not add up.
        """
        return sorted(
            str(file.relative_to(self.root))
            for file in self.root.rglob("*")
            if not file.is_dir()
            and file
            not in {self.root / name for name in ("lock", "choosing", "pools/.reservation")}
            and "last_reserved_ip." not in file.name
            and str(file.relative_to(self.root)).partition("/")[0] not in MEMORY
        )

    def reboot(self) -> None:
        """Make the state one of an earlier boot. The test removes the pods' namespaces itself."""
        (self.root / "boot").write_text(EARLIER_BOOT)
        for file in self.root.glob("attachments/*/*.json"):
            file.write_text(json.dumps(json.loads(file.read_text()) | {"bootID": EARLIER_BOOT}))

    def files(self) -> dict[str, bytes]:
        """Return all files with their contents, for comparing before and after."""
        return {
            str(file.relative_to(self.root)): file.read_bytes()
            for file in self.root.rglob("*")
            if file.is_file()
        }
