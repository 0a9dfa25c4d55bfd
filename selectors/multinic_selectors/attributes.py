"""The files of sysfs: short texts and links, read without trust.

What vanishes while it is read, was never there, or is not what the kernel writes, is an empty
answer, not an error: a NIC may go at any moment, and most NICs lack most attributes.
"""

from __future__ import annotations

import os

from multinic_selectors.devices import HEXADECIMAL, is_pci_address

SYSFS = "/sys"  # it shows its mounter's netns
LONGEST_ATTRIBUTE = 4096  # a page: what a sysfs file can hold


class AttributeFiles:
    """A folder, and its files by their relative paths; none outside of it is read."""

    def __init__(self, folder: str) -> None:
        # A copy is a stranger's: its links may lead anywhere.
        self._is_copy = folder != SYSFS
        self._folder = os.path.realpath(folder) if self._is_copy else folder

    def _digits(self, relative: str, count: int) -> str:
        text = self._text(relative).removeprefix("0x").lower()
        return text if len(text) == count and HEXADECIMAL.issuperset(text) else ""

    def _number(self, relative: str) -> int | None:
        text = self._text(relative)
        return int(text) if text.removeprefix("-").isdecimal() and text.isascii() else None

    def _text(self, relative: str) -> str:
        """Return an attribute that is printable text; else an empty one."""
        line = self._content(relative)
        return line if line.isprintable() else ""

    def _content(self, relative: str) -> str:
        """Return what a file holds, decoded as names of links are."""
        try:
            path = self._path(relative)
            descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
        except (OSError, ValueError):
            return ""
        try:
            content = os.read(descriptor, LONGEST_ATTRIBUTE)
        except OSError:
            return ""  # the speed of a link that is down is EINVAL
        finally:
            os.close(descriptor)
        return content.decode("utf-8", "surrogateescape").strip(" \n")

    def _names(self, relative: str) -> list[str]:
        try:
            return sorted(os.listdir(self._path(relative)))
        except (OSError, ValueError):
            return []

    def _link_name(self, relative: str) -> str:
        return os.path.basename(self._link_text(relative))

    def _link_text(self, relative: str) -> str:
        try:
            return os.readlink(self._path(relative))
        except (OSError, ValueError):
            return ""

    def _real_path(self, relative: str) -> str:
        """Follow links to a path in the tree; empty where it is not there, or leads out of it."""
        try:
            path = os.path.realpath(self._path(relative), strict=True)
        except (OSError, ValueError):
            return ""
        within = path.removeprefix(f"{self._folder}/")
        return within if within != path else ""

    def _path(self, relative: str) -> str:
        """Return a path in the tree; raises ValueError for one that leads out of it."""
        path = f"{self._folder}/{relative}"
        if ".." in relative.split("/"):
            raise ValueError(relative)
        if self._is_copy and not os.path.realpath(path).startswith(f"{self._folder}/"):
            raise ValueError(relative)
        return path


def split_path(path: str) -> tuple[list[str], list[str]]:
    """Return the PCI functions on a path in their order, and the parts below the last of them."""
    parts = path.split("/")
    functions = [at for at, part in enumerate(parts) if is_pci_address(part)]
    if not functions:
        return [], []
    return [parts[at] for at in functions], parts[functions[-1] + 1 :]
