from __future__ import annotations

import json

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from multinic_cni.errors import DECODE_FAILURE, CniError
from multinic_cni.jsontext import DEEPEST, decode, encode

# What a document may hold: no lone surrogates, no infinite numbers.
TEXTS = st.text(st.characters(exclude_categories=["Cs"]))
DOCUMENTS = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | TEXTS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXTS, inner, max_size=4),
    max_leaves=20,
)


@given(DOCUMENTS)
def test_encodes_as_json_does(document: object) -> None:
    assert json.dumps(document) == encode(document)


@given(document=DOCUMENTS, indent=st.sampled_from([None, 0, 2, "\t"]), ascii_only=st.booleans())
def test_decodes_as_json_does(document: object, *, indent: int | None, ascii_only: bool) -> None:
    content = json.dumps(document, indent=indent, ensure_ascii=ascii_only).encode()
    assert document == decode(b" \r\n\t" + content + b"\n \t\r", "conf")


@given(DOCUMENTS)
def test_what_is_encoded_is_decoded_equal(document: object) -> None:
    assert document == decode(encode(document).encode(), "conf")


def refuse_constant(name: str) -> object:
    raise ValueError(name)


@given(st.text('{}[]":,.-+eE0123456789 \\untrfalsdNI\x00\n', max_size=30))
@example("[1,]")
@example('{"a":1,}')
@example("01")
@example("[1] [2]")
@example('"\\ud800"')
@example("1e999")
def test_texts_are_refused_where_json_refuses_them(text: str) -> None:
    try:
        expected = json.loads(text, parse_constant=refuse_constant)
        writable = json.dumps(expected, ensure_ascii=False, allow_nan=False).encode()
    except ValueError:  # UnicodeEncodeError is one: a lone surrogate
        with pytest.raises(CniError) as raised:
            decode(text.encode(), "conf")
        assert DECODE_FAILURE == raised.value.code
        return
    assert writable == json.dumps(decode(text.encode(), "conf"), ensure_ascii=False).encode()


@given(st.binary(max_size=40))
def test_bytes_are_a_document_or_code_6(content: bytes) -> None:
    try:
        expected = json.loads(content.decode(), parse_constant=refuse_constant)
    except ValueError:
        with pytest.raises(CniError) as raised:
            decode(content, "conf")
        assert DECODE_FAILURE == raised.value.code
        return
    assert expected == decode(content, "conf")


MALFORMED = {
    "empty": (b"", "conf is empty"),
    "white space": (b" \n\t\r ", "conf is empty"),
    "truncated object": (b'{"name": "rails", "plug', "conf is not JSON: Unterminated string"),
    "truncated list": (b"[1, 2", "conf is not JSON: "),
    "open object": (b"{", "conf is not JSON: "),
    "trailing comma": (b'{"a": 1,}', "conf is not JSON: "),
    "single quotes": (b"{'a': 1}", "conf is not JSON: "),
    "bare word": (b"nul", "conf is not JSON: Expecting value"),
    "comment": (b'{} // "conf"', "conf has more than one document: '// \"conf\"' follows"),
    "two documents": (b"{} {}", "conf has more than one document: '{}' follows"),
    "control character": (b'"a\nb"', "conf is not JSON: Invalid control character"),
    "bad escape": (b'"\\x"', "conf is not JSON: Invalid \\escape"),
    "not utf-8": (b'{"a": "\xff"}', "conf is not UTF-8: byte 7 of 10"),
    "utf-16": ('{"a": 1}'.encode("utf-16"), "conf is not UTF-8: byte 0 of 18"),
    "encoded surrogate": (b'"\xed\xa0\x80"', "conf is not UTF-8: byte 1 of 5"),
    "byte order mark": (b"\xef\xbb\xbf{}", "conf is not JSON: "),
    "form feed": (b"\x0c{}", "conf is not JSON: "),
    "NUL": (b"\x00", "conf is not JSON: "),
    "NaN": (b'{"a": NaN}', "conf is not JSON: NaN is not JSON"),
    "Infinity": (b"[Infinity]", "conf is not JSON: Infinity is not JSON"),
    "minus Infinity": (b"[-Infinity]", "conf is not JSON: -Infinity is not JSON"),
    "lone surrogate": (b'{"a": ["\\ud800"]}', "conf has a lone surrogate in a string"),
    "lone surrogate in a key": (b'[{"\\udfff": 1}]', "conf has a lone surrogate in a string"),
    "large float": (b"[1e999]", "conf has a number that is too large"),
    "large negative float": (b"[-1e999]", "conf has a number that is too large"),
    "endless integer": (b"9" * 5000, "conf is not JSON: "),
    "deep": (b"[" * 101 + b"]" * 101, "conf is nested deeper than 100"),
    "deep objects": (b'{"a":' * 101 + b"1" + b"}" * 101, "conf is nested deeper than 100"),
    "deeper than the stack": (b"[" * 200_000, "conf is not JSON: it is nested too deeply"),
    "10 MB of brackets": (b"[" * 10_000_000, "conf is not JSON: it is nested too deeply"),
}


@pytest.mark.parametrize(("content", "message"), MALFORMED.values(), ids=MALFORMED)
def test_malformed(content: bytes, message: str) -> None:
    with pytest.raises(CniError) as raised:
        decode(content, "conf")
    assert DECODE_FAILURE == raised.value.code
    assert message in raised.value.message
    assert len(raised.value.message) < 200


def test_deepest_nesting_is_read() -> None:
    document: object = "bottom"
    for _ in range(DEEPEST - 1):
        document = [document]
    assert document == decode(encode(document).encode(), "conf")


def test_pairs_of_surrogates_are_one_character() -> None:
    assert "\U0001f600" == decode(b'"\\ud83d\\ude00"', "conf")


def test_last_of_equal_keys_wins_as_in_go() -> None:
    assert {"a": 2} == decode(b'{"a": 1, "a": 2}', "conf")


@pytest.mark.parametrize("value", [float("nan"), float("inf"), -float("inf")])
def test_what_is_no_json_number_is_never_written(value: float) -> None:
    with pytest.raises(ValueError, match="not JSON compliant"):
        encode({"mtu": value})


@pytest.mark.parametrize("value", [b"rails", {1}, object()], ids=["bytes", "set", "object"])
def test_what_is_no_json_is_never_written(value: object) -> None:
    with pytest.raises(TypeError, match="cannot stand in JSON"):
        encode({"a": [value]})
