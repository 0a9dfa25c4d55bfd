"""A kubelet as far as pods' devices go: its pod-resources socket, a real gRPC server."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import TYPE_CHECKING

# Other tests of this process fork.
os.environ["GRPC_ENABLE_FORK_SUPPORT"] = "0"

import grpc

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    Answer = Callable[[bytes, grpc.ServicerContext], bytes]


def field(number: int, content: bytes | str) -> bytes:
    """Return a field of bytes, a text or a message (protobuf encoding, "length-delimited")."""
    value = content.encode() if isinstance(content, str) else content
    return varint(number << 3 | 2) + varint(len(value)) + value


def varint(value: int) -> bytes:
    if value < 0x80:
        return bytes([value])
    return bytes([value & 0x7F | 0x80]) + varint(value >> 7)


def devices(resource: str, *ids: str, numa: int | None = None) -> bytes:
    """Return a ContainerDevices; a TopologyInfo with one NUMANode where `numa` is given."""
    topology = b"" if numa is None else field(3, field(1, varint(1 << 3) + varint(numa)))
    return field(1, resource) + b"".join(field(2, each) for each in ids) + topology


def claimed(*resources: bytes) -> bytes:
    """Return a DynamicResource with its claim's names and ClaimResources."""
    names = field(2, "gpus-x7k") + field(3, "train")
    return names + b"".join(field(4, each) for each in resources)


def claim(driver: str = "", device: str = "", *cdi: str) -> bytes:
    """Return a ClaimResource."""
    own = field(2, driver) + field(3, "pool") + field(4, device) if driver else b""
    return b"".join(field(1, field(1, each)) for each in cdi) + own


def container(*given: bytes, dynamic: tuple[bytes, ...] = ()) -> bytes:
    """Return a ContainerResources, with exclusive CPUs and memory, which nobody asks for."""
    cpus = varint(3 << 3 | 2) + varint(3) + b"\x01\x02\x40"
    memory = field(4, field(1, "memory") + varint(2 << 3) + varint(1 << 40))
    return (
        field(1, "main")
        + b"".join(field(2, each) for each in given)
        + cpus
        + memory
        + b"".join(field(5, each) for each in dynamic)
    )


def pod(namespace: str, name: str, *containers: bytes) -> bytes:
    """Return a ListPodResourcesResponse's field of one PodResources."""
    own = field(1, name) + field(2, namespace)
    return field(1, own + b"".join(field(3, each) for each in containers))


@contextmanager
def serving(path: str, answer: Answer) -> Iterator[None]:
    """Serve PodResourcesLister/List on a socket with raw bytes."""
    workers = ThreadPoolExecutor(max_workers=2)
    server = grpc.server(workers, options=[("grpc.max_send_message_length", -1)])
    method = grpc.unary_unary_rpc_method_handler(answer)
    handler = grpc.method_handlers_generic_handler("v1.PodResourcesLister", {"List": method})
    server.add_generic_rpc_handlers((handler,))
    assert server.add_insecure_port(f"unix:{path}")
    server.start()
    try:
        yield
    finally:
        server.stop(None).wait()
        workers.shutdown()
