"""A reservation and its owner."""

from __future__ import annotations


class Owner:
    """Who holds an address: the attachment's containerID and CNI_IFNAME."""

    __slots__ = ("container_id", "ifname")

    def __init__(self, container_id: str, ifname: str) -> None:
        self.container_id = container_id
        self.ifname = ifname

    @property
    def content(self) -> bytes:
        return f"{self.container_id}\r\n{self.ifname}".encode()

    @classmethod
    def read(cls, content: bytes) -> Owner | None:
        """Return the owner that an address file names, None if the file is damaged."""
        try:
            container_id, _, ifname = content.decode().strip().partition("\r\n")
        except UnicodeDecodeError:
            return None
        if not container_id or "/" in container_id + ifname or "\0" in container_id + ifname:
            return None
        return cls(container_id, ifname)


NOBODY = Owner("", "")  # releases what belongs to nobody else: a damaged file


class Reservation:
    """An address of a block, both as text: "10.1.0.7" of "10.1.0.0/24"."""

    __slots__ = ("address", "block")

    def __init__(self, block: str, address: str) -> None:
        self.block = block
        self.address = address

    def __repr__(self) -> str:
        return f"Reservation({self.block!r}, {self.address!r})"
