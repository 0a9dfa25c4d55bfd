"""What attached pods have taken of the node's NICs already."""

from __future__ import annotations


class Load:
    """Of one NIC: how many attachments it carries, and how many Mbit/s their targets took."""

    __slots__ = ("attachments", "megabits")

    def __init__(self, attachments: int = 0, megabits: int = 0) -> None:
        self.attachments = attachments
        self.megabits = megabits

    def __repr__(self) -> str:
        return f"Load({self.attachments}, {self.megabits})"


NONE = Load()
