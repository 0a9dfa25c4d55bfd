"""Protocol buffers, as much of them as it takes to read a message: fields by number."""

from __future__ import annotations

import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

VARINT, FIXED64, BYTES, FIXED32 = 0, 1, 2, 5  # wire types
FIXED_LENGTHS = {FIXED64: 8, FIXED32: 4}
LONGEST_VARINT = 10
STEPS_OF_A_LOOK = 256  # fields and questions, a fraction of a millisecond


class ProtobufError(Exception):
    """It is no message."""


class Reader:
    """Reads messages until a deadline (time.monotonic): their bytes may be millions of fields."""

    def __init__(self, deadline: float) -> None:
        self._deadline = deadline
        self._steps = 0

    def sub_messages(self, message: bytes, number: int) -> Iterator[bytes]:
        """Return each value of a field of bytes, a text or a message; others are passed over.

        Raises ProtobufError, and TimeoutError at the deadline.
        """
        position = 0
        self._step()
        while position < len(message):
            self._step()
            key, position = _varint(message, position)
            field, wire_type = key >> 3, key & 7
            if wire_type == VARINT:
                _, position = _varint(message, position)
                continue
            if wire_type == BYTES:
                length, position = _varint(message, position)
            elif wire_type in FIXED_LENGTHS:
                length = FIXED_LENGTHS[wire_type]
            else:
                raise ProtobufError(f"it has a field of wire type {wire_type}")
            start, position = position, position + length
            if position > len(message):
                raise ProtobufError("it ends in the middle of a field")
            if field == number and wire_type == BYTES:
                yield message[start:position]

    def texts(self, message: bytes, number: int) -> Iterator[str]:
        """Return each value of a field of texts; raises as sub_messages."""
        for value in self.sub_messages(message, number):
            yield value.decode("utf-8", "replace")

    def text(self, message: bytes, number: int) -> str:
        """Return the value of a field that is there once; of several the last counts."""
        last = b""
        for last in self.sub_messages(message, number):  # noqa: B007 - the last one is wanted
            pass
        return last.decode("utf-8", "replace")

    def _step(self) -> None:
        self._steps += 1
        if self._steps % STEPS_OF_A_LOOK == 0 and time.monotonic() > self._deadline:
            raise TimeoutError


def _varint(message: bytes, position: int) -> tuple[int, int]:
    value = 0
    for count, byte in enumerate(message[position : position + LONGEST_VARINT]):
        value |= (byte & 0x7F) << (7 * count)
        if byte < 0x80:  # noqa: PLR2004 - the bit that says that more follow
            return value, position + count + 1
    raise ProtobufError("it has a number without an end")
