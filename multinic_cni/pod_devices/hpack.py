"""Header compression (RFC 7541), as much of it as one gRPC call takes.

We write plain literals. We forbid the server its dynamic table, and read gRPC's own headers, whose
names are in no static table; they are printable ASCII.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

# Appendix B's code is canonical: lengths and order tell it. What is not in ASCII is longer.
CODE = (
    (5, "012aceiost"),
    (6, " %-./3456789=A_bdfghlmnpru"),
    (7, ":BCDEFGHIJKLMNOPQRSTUVWYjkqvwxyz"),
    (8, "&*,;XZ"),
    (10, '!"()?'),
    (11, "'+|"),
    (12, "#>"),
    (13, "\0$@[]~"),
    (14, "^}"),
    (15, "<`{"),
)
INDEXED, INCREMENTAL, RESIZE, LITERAL = 0x80, 0x40, 0x20, 0x00
MOST_NUMBER_BYTES = 4


class HpackError(Exception):
    """It is no header block, or one of a kind that we have forbidden."""


def encode(headers: Mapping[str, str]) -> bytes:
    """Write headers, each of at most 127 bytes, so that no table changes."""
    block = bytearray()
    for pair in headers.items():
        block.append(LITERAL)
        for text in pair:
            block += bytes([len(text)]) + text.encode("ascii")
    return bytes(block)


def decode(block: bytes) -> dict[str, str]:
    """Return the headers whose names are not in the static table; raises HpackError."""
    return dict(_literals(block))


def _literals(block: bytes) -> Iterator[tuple[str, str]]:
    position = 0
    while position < len(block):
        first = block[position]
        if first & INDEXED:
            _, position = _number(block, position, 7)
        elif first & INCREMENTAL == 0 and first & RESIZE:
            _, position = _number(block, position, 5)
        else:
            index, position = _number(block, position, 6 if first & INCREMENTAL else 4)
            name = ""
            if index == 0:
                name, position = _text(block, position)
            value, position = _text(block, position)
            if name:
                yield name, value


def _text(block: bytes, position: int) -> tuple[str, int]:
    if position >= len(block):
        raise HpackError("a header block ends too early")
    compressed = block[position] & 0x80
    length, position = _number(block, position, 7)
    content = block[position : position + length]
    if len(content) < length:
        raise HpackError("a header block ends too early")
    text = _expanded(content) if compressed else content.decode("ascii", "replace")
    return text, position + length


def _number(block: bytes, position: int, bits: int) -> tuple[int, int]:
    """Read an integer (section 5.1) whose first byte has so many bits for it."""
    most = (1 << bits) - 1
    value = block[position] & most
    position += 1
    if value < most:
        return value, position
    for count, byte in enumerate(block[position : position + MOST_NUMBER_BYTES]):
        value += (byte & 0x7F) << (7 * count)
        if byte & 0x80 == 0:
            return value, position + count + 1
    raise HpackError("a header block has a number without an end")


def _expanded(content: bytes) -> str:
    """Undo the Huffman code; a character that is not of ASCII ends the text."""
    text, code = "", 1  # the 1 in front keeps leading zeros
    for byte in content:
        for bit in range(7, -1, -1):
            code = code << 1 | (byte >> bit & 1)
            if code in CHARACTERS:
                text += CHARACTERS[code]
                code = 1
    return text


def _characters() -> dict[int, str]:
    """Return each code, behind a 1, and its character."""
    found, code, before = {}, 0, 0
    for length, characters in CODE:
        code <<= length - before
        before = length
        for character in characters:
            found[1 << length | code] = character
            code += 1
    return found


CHARACTERS = _characters()  # made once: a block may have thousands of texts
