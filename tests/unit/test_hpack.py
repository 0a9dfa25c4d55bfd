"""Header compression: the examples of RFC 7541, appendix C, and what is no header block."""

from __future__ import annotations

import pytest

from multinic_cni.pod_devices.hpack import HpackError, decode, encode


def compressed(code: str) -> bytes:
    """Return a literal "x" with a value in the Huffman code."""
    value = bytes.fromhex(code)
    return b"\x00\x01x" + bytes([0x80 | len(value)]) + value


@pytest.mark.parametrize(
    ("code", "text"),
    [
        ("f1e3 c2e5 f23a 6ba0 ab90 f4ff", "www.example.com"),
        ("a8eb 1064 9cbf", "no-cache"),
        ("6402", "302"),
        ("aec3 771a 4b", "private"),
        ("d07a be94 1054 d444 a820 0595 040b 8166 e082 a62d 1bff", "Mon, 21 Oct 2013 20:13:21 GMT"),
        ("9d29 ad17 1863 c78f 0b97 c8e9 ae82 ae43 d3", "https://www.example.com"),
        (
            (
                "94e7 821d d7f2 e6c7 b335 dfdf cd5b 3960 d5af 2708 7f36 72c1 ab27 0fb5 291f 9587"
                " 3160 65c0 03ed 4ee5 b106 3d50 07"
            ),
            "foo=ASDJKHQKBZXOQWEOPIUAXQWEOIU; max-age=3600; version=1",
        ),
    ],
)
def test_huffman_code(code: str, text: str) -> None:
    assert {"x": text} == decode(compressed(code))


def test_literals_of_every_kind_between_others() -> None:
    block = (
        bytes.fromhex("3fe11f")  # the table's size becomes 4096
        + bytes.fromhex("88")  # :status: 200
        + b"\x40\x0agrpc-state\x011"  # to be indexed
        + b"\x00\x0bgrpc-status\x010"
        + b"\x10\x0cgrpc-message\x00"  # never to be indexed
        + b"\x5f\x10application/grpc"  # content-type, by its index 31
        + b"\x0f\x10\x04abcd"  # the same without indexing: the index has two bytes
    )
    assert {"grpc-state": "1", "grpc-status": "0", "grpc-message": ""} == decode(block)


def test_long_value_has_a_length_of_several_bytes() -> None:
    assert {"x": "a" * 300} == decode(b"\x00\x01x" + bytes.fromhex("7fad01") + b"a" * 300)


@pytest.mark.parametrize("block", ["00", "0001", "000178", "00017805", "000178ff", "7fffffffffff"])
def test_what_is_no_header_block(block: str) -> None:
    with pytest.raises(HpackError):
        decode(bytes.fromhex(block))


def test_what_we_write() -> None:
    expected = b"\x00\x07:method\x04POST\x00\x02te\x08trailers"
    headers = {":method": "POST", "te": "trailers"}
    assert expected == encode(headers)
    assert headers == decode(expected)
