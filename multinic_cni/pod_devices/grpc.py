"""One gRPC call over a unix socket: HTTP/2 (RFC 9113) with a single stream.

The library for it costs more start-up than the whole plugin has.
"""

from __future__ import annotations

import time
from _socket import AF_UNIX, SOCK_CLOEXEC, SOCK_STREAM, socket
from _struct import Struct

from multinic_cni.pod_devices.hpack import HpackError, decode, encode

PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
DATA, HEADERS, RST_STREAM, SETTINGS, PING, GOAWAY, WINDOW_UPDATE, CONTINUATION = (
    0,
    1,
    3,
    4,
    6,
    7,
    8,
    9,
)
END_STREAM = ACK = 0x1
END_HEADERS, PADDED, PRIORITY = 0x4, 0x8, 0x20
HEADER_TABLE_SIZE, ENABLE_PUSH, INITIAL_WINDOW_SIZE = 1, 2, 4  # settings

FRAME_START = Struct(">BHBBI")  # length in 8 and 16 bits, type, flags, stream
SETTING = Struct(">HI")
U32 = Struct(">I")
GOAWAY_START = Struct(">II")  # last stream, error
MESSAGE_START = Struct(">BI")  # compressed?, length

CONNECTION, STREAM = 0, 1
LONGEST_FRAME = 1 << 14
LONGEST_REASON = 256  # a server's own words, for our log
RECEIVE_BYTES = 1 << 16
FIRST_WINDOW = (1 << 16) - 1  # of the connection; the stream's we say


class GrpcError(Exception):
    """The server refuses, or is none."""


def call(path: str, method: str, *, deadline: float, most: int) -> bytes:
    """Call a unary method with an empty message and return the answer's.

    Raises TimeoutError or another OSError, and GrpcError, also for an answer above `most` bytes.
    """
    wire = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC)
    try:
        return _Call(wire, deadline, most).make(path, method)
    except HpackError as error:
        raise GrpcError(str(error)) from None
    finally:
        wire.close()


class _Call:
    """A connection for one call, and what has been received on its one stream."""

    def __init__(self, wire: socket, deadline: float, most: int) -> None:
        self._wire = wire
        self._deadline = deadline
        self._most = most
        self._unread = bytearray()
        self._data = bytearray()
        self._headers = bytearray()  # of a block that is not whole yet
        self._status: dict[str, str] = {}
        self._ended = False

    def make(self, path: str, method: str) -> bytes:
        self._within_deadline().connect(path)
        self._within_deadline().sendall(self._request(method))
        kind, flags, stream, payload = self._next_frame()
        if kind != SETTINGS:
            raise GrpcError("it does not speak HTTP/2")
        while True:
            self._take(kind, flags, stream, payload)
            if self._ended and not self._headers:
                return self._answer()
            kind, flags, stream, payload = self._next_frame()

    def _request(self, method: str) -> bytes:
        """Return all that the client has to say of its own accord.

        The windows are as wide as the longest answer, so that none need be opened again.
        """
        window = self._most + MESSAGE_START.size + LONGEST_FRAME
        settings = [(HEADER_TABLE_SIZE, 0), (ENABLE_PUSH, 0), (INITIAL_WINDOW_SIZE, window)]
        headers = {
            ":method": "POST",
            ":scheme": "http",
            ":path": method,
            ":authority": "localhost",
            "content-type": "application/grpc",
            "te": "trailers",
        }
        return b"".join(
            (
                PREFACE,
                _frame(SETTINGS, b"".join(SETTING.pack(*setting) for setting in settings)),
                _frame(WINDOW_UPDATE, U32.pack(window - FIRST_WINDOW)),
                _frame(HEADERS, encode(headers), END_HEADERS, STREAM),
                _frame(DATA, MESSAGE_START.pack(0, 0), END_STREAM, STREAM),
            )
        )

    def _take(self, kind: int, flags: int, stream: int, payload: bytes) -> None:
        """Heed a frame; acknowledgements, windows, and what is newer than we are, are nothing."""
        if kind in {SETTINGS, PING} and not flags & ACK:
            answer = payload if kind == PING else b""
            self._within_deadline().sendall(_frame(kind, answer, ACK))
        elif kind == GOAWAY:
            self._leave(payload)
        elif stream != STREAM:
            return
        elif kind in {HEADERS, CONTINUATION}:
            self._take_headers(kind, flags, payload)
        elif kind == DATA:
            self._take_data(flags, payload)
        elif kind == RST_STREAM:
            error = int.from_bytes(payload[: U32.size], "big")
            raise GrpcError(f"it gave the call up (HTTP/2 error {error})")

    def _take_data(self, flags: int, payload: bytes) -> None:
        self._data += _unpadded(payload, flags)
        self._ended = bool(flags & END_STREAM)
        if len(self._data) > self._most + MESSAGE_START.size:
            raise GrpcError(f"its answer has more than {self._most} bytes")

    def _take_headers(self, kind: int, flags: int, payload: bytes) -> None:
        if kind == HEADERS:
            self._ended = bool(flags & END_STREAM)
            payload = _unpadded(payload, flags)
            payload = payload[5:] if flags & PRIORITY else payload
        self._headers += payload
        if len(self._headers) > LONGEST_FRAME:
            raise GrpcError("its headers are too long")
        if flags & END_HEADERS:
            self._status.update(decode(bytes(self._headers)))
            self._headers.clear()

    def _leave(self, payload: bytes) -> None:
        """Heed a GOAWAY, unless the server will still serve our stream."""
        if len(payload) < GOAWAY_START.size:
            raise GrpcError("it does not speak HTTP/2")
        last, error = GOAWAY_START.unpack_from(payload)
        if error or last < STREAM:
            start = GOAWAY_START.size
            reason = payload[start : start + LONGEST_REASON].decode("ascii", "replace")
            raise GrpcError(f"it closed the connection (HTTP/2 error {error}) {reason}".rstrip())

    def _answer(self) -> bytes:
        status = self._status.get("grpc-status")
        if status is None:
            raise GrpcError("it answers without a gRPC status")
        if status != "0":
            reason = self._status.get("grpc-message", "")[:LONGEST_REASON]
            raise GrpcError(f"gRPC status {status[:LONGEST_REASON]}: {reason}")
        if len(self._data) < MESSAGE_START.size:
            raise GrpcError("it answers without a message")
        compressed, length = MESSAGE_START.unpack_from(self._data)
        message = bytes(self._data[MESSAGE_START.size :])
        if compressed or length != len(message):
            raise GrpcError("its answer is not one plain message")
        return message

    def _next_frame(self) -> tuple[int, int, int, bytes]:
        self._within_deadline()  # what is here already may be thousands of frames
        high, low, kind, flags, stream = FRAME_START.unpack(self._read(FRAME_START.size))
        length = high << 16 | low
        if length > LONGEST_FRAME:
            raise GrpcError("it does not speak HTTP/2")
        return kind, flags, stream & 0x7FFF_FFFF, self._read(length)

    def _read(self, count: int) -> bytes:
        while len(self._unread) < count:
            received = self._within_deadline().recv(RECEIVE_BYTES)
            if not received:
                raise GrpcError("it closed the connection without an answer")
            self._unread += received
        content = bytes(self._unread[:count])
        del self._unread[:count]
        return content

    def _within_deadline(self) -> socket:
        """Return the socket, whose next call may take what is left of the time."""
        left = self._deadline - time.monotonic()
        if left <= 0:
            raise TimeoutError
        self._wire.settimeout(left)
        return self._wire


def _frame(kind: int, payload: bytes, flags: int = 0, stream: int = CONNECTION) -> bytes:
    return FRAME_START.pack(0, len(payload), kind, flags, stream) + payload


def _unpadded(payload: bytes, flags: int) -> bytes:
    if not flags & PADDED:
        return payload
    if not payload or payload[0] >= len(payload):
        raise GrpcError("it does not speak HTTP/2")
    return payload[1 : len(payload) - payload[0]]
