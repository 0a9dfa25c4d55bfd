from __future__ import annotations

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from multinic_cni.pod_devices.protobuf import ProtobufError, Reader
from tests.unit.kubelets import field, varint

# Field 1 as 150 (the encoding guide's example), 2 as "testing", 3 and 4 as 8 and 4 bytes.
MESSAGE = bytes.fromhex("089601 120774657374696e67 190102030405060708 2501020304")


READER = Reader(float("inf"))


def test_fields_of_other_types_are_passed_over() -> None:
    assert ["testing"] == list(READER.texts(MESSAGE, 2))
    assert [] == list(READER.sub_messages(MESSAGE, 1))
    assert "" == READER.text(MESSAGE, 3)


def test_last_of_several_counts() -> None:
    message = field(1, "a") + field(2, "b") + field(1, "c")
    assert (["a", "c"], "c") == (list(READER.texts(message, 1)), READER.text(message, 1))


def test_text_that_is_not_utf8() -> None:
    assert "\ufffdx" == READER.text(field(1, b"\xffx"), 1)


@pytest.mark.parametrize(
    "message",
    [
        "08",  # no value
        "0a05 61",  # shorter than it says
        "0aff ffff ff0f 61",
        "0b",  # a group
        "0f",  # no such type
        "19 01",
        "ffffffffffffffffffffff01",  # a number without an end
    ],
)
def test_what_is_no_message(message: str) -> None:
    with pytest.raises(ProtobufError):
        list(READER.sub_messages(bytes.fromhex(message), 1))


@pytest.mark.parametrize("message", [b"\x08\x01" * 1000, b"\x0a\x00" * 1000, MESSAGE[:3]])
def test_clock_is_looked_at(message: bytes) -> None:
    """Fields are counted that are passed over, and questions to messages of a few."""
    reader = Reader(0.0)
    with pytest.raises(TimeoutError):
        sum(len(reader.text(message, 2)) for _ in range(1000))


@given(st.lists(st.tuples(st.integers(1, 1 << 28), st.binary(max_size=300))))
def test_any_fields(fields: list[tuple[int, bytes]]) -> None:
    message = b"".join(varint(99 << 3) + varint(7) + field(*each) for each in fields)
    for number in {number for number, _ in fields}:
        expected = [content for other, content in fields if other == number]
        assert expected == list(READER.sub_messages(message, number))


@given(st.binary())
def test_any_bytes(message: bytes) -> None:
    with contextlib.suppress(ProtobufError):
        list(READER.texts(message, 1))
