"""The line language of tests/machines: a tree by indentation, with repetition.

    node dgx                              what is said first, is the line's kind, then its subject
    repeat bus=07,0f rail=0..1            the lines below once for each pair of values
      gpu {bus}:00.0                      {bus} is a value, {bus+1} and {bus+rail} add hexadecimal
        nic {bus+1}:00.0 name=enp{bus+1:d}s0      … :d makes it decimal
    file etc/node.json                    the lines below are the file's text, as they are
      {"hostIndex": 3}

Values: "07,0f,1a", "0..7" (decimal), "47+11*8" (eight from 47 in steps of 11, hexadecimal). Words
may be quoted as in a shell. A line that begins with # says nothing, but in a file's text.
"""

from __future__ import annotations

import re
import shlex
import textwrap
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

REFERENCE = re.compile(r"\{(\w+)(?:\+(\w+))?(:d)?\}")
STEPS = re.compile(r"([0-9a-f]+)\+([0-9a-f]+)\*(\d+)")
RANGE = re.compile(r"(\d+)\.\.(\d+)")


class DescriptionError(Exception):
    """A description that says nothing sensible."""


@dataclass
class Line:
    """A line: `nic 07:00.0 name=eth0` is of kind nic, its subject 07:00.0. A file has text."""

    kind: str
    subject: str
    words: dict[str, str]
    children: list[Line] = field(default_factory=list)
    text: str = ""

    def word(self, key: str, default: str = "") -> str:
        return self.words.get(key, default)

    def listed(self, key: str) -> list[str]:
        return [each for each in self.word(key).split(",") if each]


@dataclass
class _Raw:
    """A line as it stands there."""

    indent: int
    text: str
    children: list[_Raw] = field(default_factory=list)
    below: list[str] = field(default_factory=list)  # of a file: the lines of its text

    @property
    def is_file(self) -> bool:
        return self.text.split(" ", 1)[0] == "file"


def parse(text: str) -> list[Line]:
    """Return the lines, repetitions written out; raises DescriptionError."""
    root = _Raw(-1, "")
    above = [root]
    for line in text.splitlines():
        stripped = line.strip()
        indent = len(line) - len(line.lstrip(" "))
        last = above[-1]
        if last.is_file and (indent > last.indent or not stripped):
            last.below.append(line)
            continue
        if not stripped or stripped.startswith("#"):
            continue
        raw = _Raw(indent, stripped)
        while above[-1].indent >= raw.indent:
            above.pop()
        above[-1].children.append(raw)
        above.append(raw)
    return list(_expanded(root.children, {}))


def _expanded(raws: Sequence[_Raw], values: Mapping[str, str]) -> Iterator[Line]:
    for raw in raws:
        kind, *words = _words(_filled(raw.text, values))
        if kind == "repeat":
            for each in _rounds(words):
                yield from _expanded(raw.children, {**values, **each})
            continue
        line = Line(
            kind=kind,
            subject=next((word for word in words if "=" not in word), ""),
            words=dict(word.split("=", 1) for word in words if "=" in word),
        )
        if kind == "file":
            line.text = _text(raw)
        else:
            line.children = list(_expanded(raw.children, values))
        yield line


def _words(text: str) -> list[str]:
    try:
        return shlex.split(text)
    except ValueError as error:
        message = f"{text}: {error}"
        raise DescriptionError(message) from None


def _text(file: _Raw) -> str:
    text = textwrap.dedent("\n".join(file.below)).rstrip("\n")
    if not text:
        message = f"{file.text}: no text stands below it"
        raise DescriptionError(message)
    return f"{text}\n"


def _rounds(words: Sequence[str]) -> list[dict[str, str]]:
    named = [word.partition("=") for word in words]
    columns = {name: _values(text) for name, _, text in named}
    if not all(equals for _, equals, _ in named):
        message = f"repeat {' '.join(words)}: a list is to have a name, such as bus=07,0f"
        raise DescriptionError(message)
    if len({len(column) for column in columns.values()}) != 1:
        message = f"repeat {' '.join(words)}: the lists are of different lengths"
        raise DescriptionError(message)
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


def _values(text: str) -> list[str]:
    if found := STEPS.fullmatch(text):
        start, step, count = found.groups()
        numbers = range(int(start, 16), int(start, 16) + int(count) * int(step, 16), int(step, 16))
        return [f"{number:0{len(start)}x}" for number in numbers]
    if found := RANGE.fullmatch(text):
        return [str(number) for number in range(int(found[1]), int(found[2]) + 1)]
    return text.split(",")


def _filled(text: str, values: Mapping[str, str]) -> str:
    def value(found: re.Match[str]) -> str:
        name, addend, decimal = found.groups()
        if name not in values:
            message = f"no repeat has named {name}: {text}"
            raise DescriptionError(message)
        base = values[name]
        if addend is None and decimal is None:
            return base
        try:
            number = int(base, 16) + int(values.get(addend, addend) if addend else "0", 16)
        except ValueError:
            message = f"{found[0]} adds what is no hexadecimal number: {text}"
            raise DescriptionError(message) from None
        return str(number) if decimal else f"{number:0{len(base)}x}"

    return REFERENCE.sub(value, text)
