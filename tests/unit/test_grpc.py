"""The call over HTTP/2, against a real gRPC server and against servers that are none."""

from __future__ import annotations

import contextlib
import itertools
import socket
import threading
import time
from contextlib import contextmanager
from types import SimpleNamespace
from typing import TYPE_CHECKING

import grpc
import pytest

from multinic_cni.pod_devices import grpc as module
from multinic_cni.pod_devices.grpc import GrpcError, call
from tests.unit.kubelets import serving

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

METHOD = "/v1.PodResourcesLister/List"
MOST = 1 << 24

SETTINGS = bytes.fromhex("000000 04 00 00000000")
# HEADERS, END_HEADERS: ":status: 200" of the static table.
HEADERS = bytes.fromhex("000001 01 04 00000001 88")
HELLO = bytes.fromhex("00 00000005") + b"hello"
DATA = bytes.fromhex("00000a 00 00 00000001") + HELLO
# HEADERS, END_STREAM and END_HEADERS: the literal "grpc-status: 0".
OK = bytes.fromhex("00000f 01 05 00000001 00 0b") + b"grpc-status" + bytes.fromhex("01") + b"0"


def ask(path: Path | str, seconds: float = 10, most: int = MOST) -> bytes:
    return call(str(path), METHOD, deadline=time.monotonic() + seconds, most=most)


@pytest.fixture
def path(tmp_path: Path, no_descriptor_is_left: None) -> Path:
    del no_descriptor_is_left
    return tmp_path / "kubelet.sock"


@pytest.mark.parametrize("size", [0, 1, 16_384, 65_535, 65_536, 300_000, 5_000_000])
def test_answer_of_any_size(tmp_path: Path, size: int) -> None:
    """Above 64 KiB a server has to wait unless the windows are wide enough."""
    content = bytes(range(256)) * (size // 256 + 1)
    path = tmp_path / "kubelet.sock"
    with serving(str(path), lambda _request, _context: content[:size]):
        assert content[:size] == ask(path)


def test_request_is_an_empty_message(tmp_path: Path) -> None:
    requests = []
    path = tmp_path / "kubelet.sock"

    def answer(request: bytes, context: grpc.ServicerContext) -> bytes:
        requests.append((request, context.peer()))
        return b"x"

    with serving(str(path), answer):
        assert [b"x", b"x"] == [ask(path), ask(path)]
    assert [b"", b""] == [request for request, _ in requests]


def test_answer_that_is_too_long(tmp_path: Path) -> None:
    path = tmp_path / "kubelet.sock"
    with (
        serving(str(path), lambda _request, _context: bytes(100_001)),
        pytest.raises(GrpcError, match="more than 100000 bytes"),
    ):
        ask(path, most=100_000)


def test_error_status(tmp_path: Path) -> None:
    path = tmp_path / "kubelet.sock"

    def refuse(_request: bytes, context: grpc.ServicerContext) -> bytes:
        context.abort(grpc.StatusCode.RESOURCE_EXHAUSTED, "rejected by rate limit")
        raise AssertionError

    with serving(str(path), refuse), pytest.raises(GrpcError) as raised:
        ask(path)
    assert "gRPC status 8: rejected by rate limit" == str(raised.value)


def test_method_that_is_not_served(tmp_path: Path) -> None:
    path = tmp_path / "kubelet.sock"
    with serving(str(path), lambda _r, _c: b""), pytest.raises(GrpcError, match="gRPC status 12"):
        call(str(path), "/v1.Other/List", deadline=time.monotonic() + 10, most=MOST)


def test_slow_server(tmp_path: Path) -> None:
    path = tmp_path / "kubelet.sock"
    awake = threading.Event()

    def answer(_request: bytes, _context: grpc.ServicerContext) -> bytes:
        awake.wait()
        return b""

    with serving(str(path), answer):
        try:
            with pytest.raises(TimeoutError):
                ask(path, 0.2)
        finally:
            awake.set()


@contextmanager
def saying(path: Path, said: bytes, *, then_close: bool = True) -> Iterator[list[bytes]]:
    """Serve one connection that says the same whatever it hears; yield what it has heard."""
    heard: list[bytes] = []
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(str(path))
    listener.listen()

    def serve() -> None:
        connection, _ = listener.accept()
        with connection:
            heard.append(connection.recv(1 << 16))
            connection.sendall(said)
            if then_close:
                connection.shutdown(socket.SHUT_WR)
            while more := connection.recv(1 << 16):
                heard.append(more)

    thread = threading.Thread(target=serve)
    thread.start()
    try:
        yield heard
    finally:
        thread.join()
        listener.close()


def test_frames_on_the_wire(path: Path) -> None:
    """The RFC's own words: what we say first, and that we acknowledge settings and pings."""
    ping = bytes.fromhex("000008 06 00 00000000") + b"12345678"
    with saying(path, SETTINGS + ping + HEADERS + DATA + OK) as heard:
        assert b"hello" == ask(path)
    first, acknowledged = heard[0], b"".join(heard[1:])
    assert first.startswith(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + bytes.fromhex("000012 04 00"))
    assert first.endswith(bytes.fromhex("000005 00 01 00000001 00 00000000"))
    assert b"\x05:path\x1b/v1.PodResourcesLister/List" in first
    pong = bytes.fromhex("000008 06 01 00000000") + b"12345678"
    assert bytes.fromhex("000000 04 01 00000000") + pong == acknowledged


def test_frames_in_other_forms(path: Path) -> None:
    """Padding, a priority, a continuation, frames of other streams and of unknown types."""
    unknown = bytes.fromhex("000003 fe ff 00000001") + b"???"
    elsewhere = bytes.fromhex("000002 00 01 00000003") + b"no"
    window = bytes.fromhex("000004 08 00 00000000 00000001")
    acknowledgement = bytes.fromhex("000000 04 01 00000000")
    polite = bytes.fromhex("000008 07 00 00000000 00000001 00000000")  # GOAWAY after our stream
    headers = bytes.fromhex("000008 01 28 00000001 01 00000000 10 88 00")  # padded, with priority
    rest = bytes.fromhex("000000 09 04 00000001")
    first = bytes.fromhex("000009 00 08 00000001 03") + HELLO[:5] + bytes(3)
    second = bytes.fromhex("000005 00 00 00000001") + HELLO[5:]
    trailers = bytes.fromhex("000002 01 01 00000001 00 0b")
    more = bytes.fromhex("00000d 09 04 00000001") + b"grpc-status" + b"\x010"
    said = [SETTINGS, unknown, acknowledgement, window, headers, rest, elsewhere, first, polite]
    with saying(path, b"".join([*said, second, trailers, more])):
        assert b"hello" == ask(path)


@pytest.mark.parametrize(
    ("said", "reason"),
    [
        (b"", "closed the connection without an answer"),
        (b"HTTP/1.1 400 Bad Request\r\n\r\n", "does not speak HTTP/2"),
        (b"\x00\x00\x00", "closed the connection without an answer"),
        (HEADERS, "does not speak HTTP/2"),
        (SETTINGS + b"\xff" * 9, "does not speak HTTP/2"),
        (SETTINGS + HEADERS + DATA, "closed the connection without an answer"),
        (SETTINGS + bytes.fromhex("000004 03 00 00000001 00000007"), r"HTTP/2 error 7"),
        (SETTINGS + bytes.fromhex("00000a 07 00 00000000 00000000 0000000b") + b"no", "11\\) no"),
        (SETTINGS + bytes.fromhex("000001 07 00 00000000 00"), "does not speak HTTP/2"),
        (SETTINGS + bytes.fromhex("000001 00 08 00000001 05"), "does not speak HTTP/2"),
        (SETTINGS + bytes.fromhex("000000 00 09 00000001"), "does not speak HTTP/2"),
        (SETTINGS + bytes.fromhex("000001 01 05 00000001 88"), "without a gRPC status"),
        (SETTINGS + HEADERS + DATA[:4] + b"\x01" + DATA[5:], "without a gRPC status"),
        (SETTINGS + OK, "without a message"),
        (SETTINGS + HEADERS + DATA + DATA + OK, "not one plain message"),
        (SETTINGS + HEADERS + DATA[:9] + b"\x01" + DATA[10:] + OK, "not one plain message"),
        (SETTINGS + bytes.fromhex("000001 01 05 00000001 00"), "header block"),
        (SETTINGS + bytes.fromhex("000002 01 05 00000001 00 0b"), "header block"),
        (SETTINGS + bytes.fromhex("000007 01 05 00000001 007fffffffffff"), "header block"),
        (
            SETTINGS + (bytes.fromhex("004000 01 00 00000001") + bytes(16384)) * 2,
            "headers are too long",
        ),
    ],
    ids=range(20),
)
def test_what_is_no_answer(path: Path, said: bytes, reason: str) -> None:
    with saying(path, said), pytest.raises(GrpcError, match=reason):
        ask(path)


def test_long_words_of_a_server_are_cut(path: Path) -> None:
    """The code is four bytes, whatever follows; of thousands of digits Python makes no text."""
    reset = bytes.fromhex("004000 03 00 00000001") + b"\x01" * 16384
    with saying(path, SETTINGS + reset), pytest.raises(GrpcError) as raised:
        ask(path)
    assert "it gave the call up (HTTP/2 error 16843009)" == str(raised.value)
    path.unlink()
    goodbye = bytes.fromhex("004000 07 00 00000000 00000000 0000000b") + b"x" * 16376
    with saying(path, SETTINGS + goodbye), pytest.raises(GrpcError) as raised:
        ask(path)
    assert f"it closed the connection (HTTP/2 error 11) {'x' * 256}" == str(raised.value)


@pytest.mark.parametrize("seconds", [1.0, 1000.0])
def test_clock_is_looked_at_for_every_frame(
    path: Path, seconds: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is here already may be thousands of frames, each with a text to decode."""
    ticks = itertools.count()
    monkeypatch.setattr(module, "time", SimpleNamespace(monotonic=lambda: next(ticks) / 100))
    ended = contextlib.nullcontext() if seconds > 1 else pytest.raises(TimeoutError)
    with saying(path, SETTINGS + HEADERS * 500 + DATA + OK), ended:
        assert b"hello" == call(str(path), METHOD, deadline=seconds, most=MOST)
    assert next(ticks) < 600 if seconds > 1 else 110


def test_server_that_only_talks_of_other_things(path: Path) -> None:
    ping = bytes.fromhex("000008 06 00 00000000") + b"12345678"
    with saying(path, SETTINGS + ping * 100, then_close=False), pytest.raises(TimeoutError):
        ask(path, 0.1)


def test_no_socket(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_text("")
    for path in (tmp_path / "missing", file, tmp_path, tmp_path / ("x" * 200)):
        with pytest.raises(OSError, match=r".+"):
            ask(path)


def test_socket_that_nobody_serves(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as dead:
        dead.bind(str(path))
    with pytest.raises(ConnectionRefusedError):
        ask(path)


def test_socket_whose_queue_is_full(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as listener, socket.socket(socket.AF_UNIX) as first:
        listener.bind(str(path))
        listener.listen(0)
        first.connect(str(path))
        with pytest.raises((BlockingIOError, TimeoutError)):
            ask(path, 0.1)
