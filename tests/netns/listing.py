"""The plugin's own view of a namespace: its library, executed in there by itself."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from tests.pytest_netns import PROJECT, execute

if TYPE_CHECKING:
    from collections.abc import Sequence

PYTHON = "/usr/bin/python3"
PATHS = [str(PROJECT), str(PROJECT / "ipam"), str(PROJECT / "selectors")]
HEAD = f"import sys\nsys.path[:0] = {PATHS!r}\n"

PRINT_NICS = (
    HEAD
    + """
import json
from multinic_cni.host import nics
def facts(nic):
    words = {word: getattr(nic, word) for word in nic.__slots__ if word != "uppers"}
    return words | {"uppers": [[each.name, each.kind, each.mode] for each in nic.uppers]}
print(json.dumps([facts(nic) for nic in nics()]))
"""
)


def listed(namespace: Sequence[str] = ()) -> list[dict[str, Any]]:
    """Return the facts of each NIC of a namespace, which the words before a command lead to."""
    facts: list[dict[str, Any]] = json.loads(execute(*namespace, PYTHON, "-c", PRINT_NICS))
    return facts
