"""NCCL's topology file: where a hypervisor says that the functions of its guest are plugged in.

A <system> has <cpu numaid="0">s, and below those <pci busid="0000:41:00.0">s to any depth. The
guest's own tree is often flat, with every function at one root. Pure.
"""

from __future__ import annotations

from multinic_cni.values import Value
from multinic_selectors.devices import normal_pci_address
from multinic_selectors.foreign_files import small_number

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import NoReturn

DEEPEST = 64


class TopologyError(Exception):
    """It is no topology file."""


class Place(Value):
    """Where the functions of a slot are: names of `root` and `bridges` are this file's own."""

    numa: int | None
    root: str
    bridges: tuple[str, ...]


def read_topology(content: bytes) -> Mapping[str, Place]:
    """Return the place of each slot ("0000:41:00"); raises TopologyError.

    A slot's functions are never apart, and NCCL names the first of them for all.
    """
    import pyexpat  # noqa: PLC0415 - for nodes that have such a file

    # Whatever the file says of its encoding: expat would look for a codec of any name.
    parser = pyexpat.ParserCreate("UTF-8")
    reader = _Reader(lambda: f"{parser.CurrentLineNumber}:{parser.CurrentColumnNumber + 1}")
    parser.StartElementHandler = reader.start
    parser.EndElementHandler = reader.end
    parser.StartDoctypeDeclHandler = _refuse_doctype  # and with it every entity
    try:
        parser.Parse(content, True)
    except pyexpat.ExpatError as error:
        raise TopologyError(f"it is not XML: {error}") from None
    if not reader.is_topology:
        raise TopologyError("its root is no <system>")
    return reader.places


def slot_of(address: str) -> str:
    """Return a function's address without the function."""
    return address.rpartition(".")[0]


class _Reader:
    """Follows the elements, and remembers below which CPU and bridges the parser is.

    Those go by the line and column that `position` tells: nobody keeps a file from naming two
    bridges alike.
    """

    def __init__(self, position: Callable[[], str]) -> None:
        self._position = position
        self.places: dict[str, Place] = {}
        self.is_topology = False
        self._depth = 0
        self._numa: int | None = None
        self._root = ""
        self._bridges: list[str] = []

    def start(self, name: str, attributes: Mapping[str, str]) -> None:
        self._depth += 1
        if self._depth > DEEPEST:
            raise TopologyError(f"it is nested deeper than {DEEPEST}")
        if self._depth == 1:
            self.is_topology = name == "system"
        elif name == "cpu":
            self._numa = small_number(attributes.get("numaid", ""))  # "-1" is unknown, too
            self._root = f"CPU at {self._position()} of the topology file"
        elif name == "pci":
            self._place(attributes.get("busid", ""))
            self._bridges.append(f"bridge at {self._position()} of the topology file")

    def end(self, name: str) -> None:
        self._depth -= 1
        if name == "cpu":
            self._numa, self._root = None, ""
        elif name == "pci":
            self._bridges.pop()

    def _place(self, bus_id: str) -> None:
        address = normal_pci_address(bus_id)
        if address and self._root:
            place = Place(numa=self._numa, root=self._root, bridges=tuple(self._bridges))
            self.places.setdefault(slot_of(address), place)


def _refuse_doctype(*_declaration: object) -> NoReturn:
    raise TopologyError("it has a DOCTYPE, which no topology file needs")
