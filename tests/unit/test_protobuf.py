from __future__ import annotations

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from multinic_cni.pod_devices.protobuf import ProtobufError, sub_messages, text, texts
from tests.unit.kubelets import field, varint

# Field 1 as 150 (the encoding guide's example), 2 as "testing", 3 and 4 as 8 and 4 bytes.
MESSAGE = bytes.fromhex("089601 120774657374696e67 190102030405060708 2501020304")


def test_fields_of_other_types_are_passed_over() -> None:
    assert ["testing"] == texts(MESSAGE, 2)
    assert [] == list(sub_messages(MESSAGE, 1))
    assert "" == text(MESSAGE, 3)


def test_last_of_several_counts() -> None:
    message = field(1, "a") + field(2, "b") + field(1, "c")
    assert (["a", "c"], "c") == (texts(message, 1), text(message, 1))


def test_text_that_is_not_utf8() -> None:
    assert "\ufffdx" == text(field(1, b"\xffx"), 1)


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
        list(sub_messages(bytes.fromhex(message), 1))


@given(st.lists(st.tuples(st.integers(1, 1 << 28), st.binary(max_size=300))))
def test_any_fields(fields: list[tuple[int, bytes]]) -> None:
    message = b"".join(varint(99 << 3) + varint(7) + field(*each) for each in fields)
    for number in {number for number, _ in fields}:
        expected = [content for other, content in fields if other == number]
        assert expected == list(sub_messages(message, number))


@given(st.binary())
def test_any_bytes(message: bytes) -> None:
    with contextlib.suppress(ProtobufError):
        texts(message, 1)
