"""A sysfs of pretended functions in the place of the machine's."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scripts.sysroot import write_sysroot

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from tests.netns.mounts import Mounts
    from tests.pytest_netns import Document


def mount_sysfs(
    description: str, folder: Path, mounts: Mounts, links: Mapping[str, Document]
) -> None:
    """Mount the description's sysfs; its NICs have the indexes that these links of theirs have."""
    write_sysroot(description, folder)
    for name, link in links.items():
        index = folder / f"sys/class/net/{name}/ifindex"
        if index.exists():
            index.write_text(f"{link['ifindex']}\n")
    mounts.execute("mount", "--bind", folder / "sys", "/sys")
