"""JSON without the `json` package, whose regular expressions cost 6 ms at start-up."""

from __future__ import annotations

import _json

from multinic_cni.errors import DECODE_FAILURE, CniError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NoReturn

WHITESPACE = " \t\n\r"
DEEPEST = 100


class _Decoding:
    """The attributes that the scanner reads from its context (json.JSONDecoder has the same)."""

    strict = True
    object_hook = None
    object_pairs_hook = None
    parse_float = float
    parse_int = int

    @staticmethod
    def parse_constant(name: str) -> NoReturn:
        message = f"{name} is not JSON"
        raise ValueError(message)


def _refuse_type(value: object) -> NoReturn:
    message = f"{type(value).__name__} cannot stand in JSON"
    raise TypeError(message)


# The stub wants json's own class; any object with these attributes does.
_scan = _json.make_scanner(_Decoding())  # type: ignore[arg-type]
# No marker table: a document of ours has no cycles. The last argument refuses NaN.
_encode = _json.make_encoder(
    None, _refuse_type, _json.encode_basestring_ascii, None, ": ", ", ", False, False, False
)


def decode(content: bytes, what: str, deepest: int = DEEPEST) -> object:
    """Read one JSON document; `what` names it in errors.

    Raises CniError 6 for what is not UTF-8, not JSON, or cannot be written again: NaN, lone
    surrogates, nesting deeper than `deepest`, numbers of thousands of digits.
    """
    document = parse(content, what)
    _refuse_unwritable(document, what, deepest)
    return document


def parse(content: bytes, what: str) -> object:
    """Read one JSON document that is only looked at, in a sixth of the time; CniError 6."""
    try:
        text = content.decode("utf-8")
    except UnicodeDecodeError as error:
        message = f"{what} is not UTF-8: byte {error.start} of {len(content)}"
        raise CniError(DECODE_FAILURE, message) from None
    start = len(text) - len(text.lstrip(WHITESPACE))
    if start == len(text):
        raise CniError(DECODE_FAILURE, f"{what} is empty")
    try:
        document, end = _scan(text, start)
    except (StopIteration, SystemError, RecursionError, ValueError) as error:
        raise CniError(DECODE_FAILURE, f"{what} is not JSON: {_reason(text, error)}") from None
    rest = text[end:].strip(WHITESPACE)
    if rest:
        raise CniError(DECODE_FAILURE, f"{what} has more than one document: {rest[:40]!r} follows")
    return document


def encode(document: object) -> str:
    """Write a document of dicts, lists, strings, numbers, booleans and None on one line."""
    return "".join(_encode(document, 0))


def _reason(text: str, error: BaseException) -> str:
    """Ask the json package, which words errors well: this path may be slow.

    The bare scanner raises StopIteration or SystemError with no text.
    """
    if isinstance(error, RecursionError):
        return "it is nested too deeply"
    import json  # noqa: PLC0415 - only to word an error

    try:
        json.loads(text)
    except (ValueError, RecursionError) as worded:
        return str(worded)
    return str(error) or "it cannot be read"


def _refuse_unwritable(document: object, what: str, deepest: int) -> None:
    """Refuse what reads well but would break when it is handed on."""
    pending: list[tuple[object, int]] = [(document, 1)]
    while pending:
        value, depth = pending.pop()
        if depth > deepest:
            raise CniError(DECODE_FAILURE, f"{what} is nested deeper than {deepest}")
        match value:
            case str():
                _refuse_surrogates(value, what)
            case dict():
                for key in value:
                    _refuse_surrogates(key, what)
                pending += [(item, depth + 1) for item in value.values()]
            case list():
                pending += [(item, depth + 1) for item in value]
            case float() if value in (float("inf"), float("-inf")):  # 1e999
                raise CniError(DECODE_FAILURE, f"{what} has a number that is too large")
            case _:
                pass


def _refuse_surrogates(text: str, what: str) -> None:
    if not text.isascii() and any("\ud800" <= character <= "\udfff" for character in text):
        raise CniError(DECODE_FAILURE, f"{what} has a lone surrogate in a string")
