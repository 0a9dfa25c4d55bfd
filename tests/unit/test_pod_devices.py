"""From the kubelet's words on a pod to PCI functions, on machines of tests/machines."""

from __future__ import annotations

import json
import os
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

from multinic_cni.pod_devices import Pod, devices_of_pod, protobuf
from tests.unit.gpus import path_of, uuid
from tests.unit.kubelets import claim, claimed, container, devices, field, pod, serving, varint
from tests.unit.machines import machine

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    import grpc

    from multinic_cni.host import Host

UID = "8d8f8a4e-1b7e-4f53-a3a2-3d7a3b5c0f11"
POD = Pod(uid=UID, namespace="train", name="worker-0")
# Bus numbers of a DGX A100's GPUs and of its NICs for them.
GPUS = ["0000:07:00.0", "0000:0f:00.0", "0000:47:00.0", "0000:4e:00.0"]
NIC = "0000:0c:00.0"


@pytest.fixture
def dgx(tmp_path_factory: pytest.TempPathFactory) -> Host:
    # A socket's path has at most 107 bytes: tests' own folders have long names.
    return machine("dgx-a100", tmp_path_factory.mktemp("n"))


def entry(resource: str, ids: object, pod_uid: object = UID) -> dict[str, Any]:
    return {
        "PodUID": pod_uid,
        "ContainerName": "main",
        "ResourceName": resource,
        "DeviceIDs": ids,
        "AllocResp": "CgUKA0ZPTxIA",
    }


def checkpoint(host: Host, *entries: object) -> None:
    content = {"PodDeviceEntries": entries, "RegisteredDevices": {"nvidia.com/gpu": ["GPU-x"]}}
    write_checkpoint(host, json.dumps({"Data": content, "Checksum": 4025268263}).encode())


def write_checkpoint(host: Host, content: bytes) -> None:
    path_of(host.paths.kubelet_checkpoint).write_bytes(content)


def test_gpus_of_the_checkpoint(dgx: Host) -> None:
    """By NUMA node as since Kubernetes 1.20, several containers, NICs and other pods beside."""
    ids = [uuid(gpu, dgx) for gpu in GPUS]
    checkpoint(
        dgx,
        entry("nvidia.com/gpu", {"0": [ids[1], ids[0]], "-1": [ids[0]]}),
        entry("nvidia.com/gpu", {"0": [ids[2]]}, "another-pod"),
        entry("nvidia.com/gpu", {"0": [ids[3]]}),
        entry("nvidia.com/rail0", {"0": [NIC]}),
        entry("example.com/kvm", {"-1": ["kvm-3"]}),
    )
    assert [GPUS[0], GPUS[1], GPUS[3]] == devices_of_pod(POD, dgx)


def test_gpus_of_an_old_checkpoint(dgx: Host) -> None:
    """Before 1.20 it had one list of ids."""
    checkpoint(dgx, entry("nvidia.com/gpu", [uuid(GPUS[2], dgx)]))
    assert [GPUS[2]] == devices_of_pod(POD, dgx)


def test_nothing_is_known(dgx: Host) -> None:
    assert [] == devices_of_pod(Pod(), dgx)
    assert [] == devices_of_pod(POD, dgx)
    checkpoint(dgx)
    assert [] == devices_of_pod(POD, dgx)


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"{",
        b"[1]",
        b"\xff\xfe",
        b'{"Data": null}',
        b'{"Data": {"PodDeviceEntries": {"a": 1}}}',
        b'{"Data": {"PodDeviceEntries": [null, 1, [], {}]}}',
        json.dumps(
            {"Data": {"PodDeviceEntries": [entry("a", 1), entry("a", {"0": "b"})]}}
        ).encode(),
        json.dumps({"Data": {"PodDeviceEntries": [entry("a", [1, None, [], ""])]}}).encode(),
        b" " * ((4 << 20) + 1),
    ],
    ids=range(10),
)
def test_broken_checkpoint(dgx: Host, content: bytes) -> None:
    write_checkpoint(dgx, content)
    assert [] == devices_of_pod(POD, dgx)


def test_checkpoint_that_is_a_folder_or_a_fifo(
    dgx: Host, capfd: pytest.CaptureFixture[str]
) -> None:
    path = path_of(dgx.paths.kubelet_checkpoint)
    path.mkdir()
    assert [] == devices_of_pod(POD, dgx)
    path.rmdir()
    os.mkfifo(path)
    assert [] == devices_of_pod(POD, dgx)
    assert 2 == capfd.readouterr().err.count("it is no regular file")


@pytest.fixture
def kubelet(dgx: Host) -> Iterator[dict[str, bytes]]:
    """Return what a kubelet answers by its socket, to be filled."""
    answer = {"pods": b""}

    def serve(_request: bytes, _context: grpc.ServicerContext) -> bytes:
        return answer["pods"]

    with serving(str(path_of(dgx.paths.pod_resources)), serve):
        yield answer


def test_gpus_by_the_socket(dgx: Host, kubelet: dict[str, bytes]) -> None:
    """The runtime says no UID: the kubelet's file is of no use then."""
    ids = [uuid(gpu, dgx) for gpu in GPUS]
    checkpoint(dgx, entry("nvidia.com/gpu", {"0": [ids[3]]}))
    kubelet["pods"] = b"".join(
        (
            pod("train", "worker-1", container(devices("nvidia.com/gpu", ids[3], numa=0))),
            pod("default", "worker-0", container(devices("nvidia.com/gpu", ids[3], numa=0))),
            pod(
                "train",
                "worker-0",
                container(devices("nvidia.com/gpu", ids[1], ids[0], numa=0)),
                container(devices("nvidia.com/rail0", NIC), devices("nvidia.com/gpu", ids[2])),
            ),
        )
    )
    assert GPUS[:3] == devices_of_pod(POD.but(uid=""), dgx)
    assert GPUS[3:] == devices_of_pod(POD, dgx)


def test_socket_is_asked_where_the_checkpoint_leads_to_nothing(
    dgx: Host, kubelet: dict[str, bytes]
) -> None:
    checkpoint(dgx, entry("nvidia.com/rail0", {"0": [NIC]}))
    resources = claimed(claim("gpu.nvidia.com", "gpu-2"))
    kubelet["pods"] = pod("train", "worker-0", container(dynamic=(resources,)))
    assert [GPUS[2]] == devices_of_pod(POD, dgx)


@pytest.mark.parametrize(
    ("resource", "expected"),
    [
        (claim("gpu.nvidia.com", "gpu-1"), [GPUS[1]]),
        (claim("gpu.nvidia.com", "gpu-3-mig-19-4-1"), [GPUS[3]]),
        (claim("gpu.nvidia.com", "gpu-77"), []),
        (claim("gpu.nvidia.com", "gpu-vfio-0"), []),
        (claim("gpu.example.com", "0000-4e-00-0-0x20b0"), [GPUS[3]]),
        (claim("dra.net", "pci-0000-0c-00-0"), []),
        # Before Kubernetes 1.34 the CDI's names are all there is.
        (claim("", "", f"k8s.gpu.nvidia.com/claim={UID}-gpu-1"), [GPUS[1]]),
        (claim("", "", "k8s.gpu.nvidia.com/device=gpu-0", "example.com/x=y"), [GPUS[0]]),
    ],
    ids=range(8),
)
def test_dynamic_resources(
    dgx: Host, kubelet: dict[str, bytes], resource: bytes, expected: list[str]
) -> None:
    kubelet["pods"] = pod("train", "worker-0", container(dynamic=(claimed(resource),)))
    assert expected == devices_of_pod(POD, dgx)


def test_kubelet_that_answers_nonsense(
    dgx: Host, kubelet: dict[str, bytes], capfd: pytest.CaptureFixture[str]
) -> None:
    kubelet["pods"] = b"\x0a\xff"
    assert [] == devices_of_pod(POD, dgx)
    assert "cannot be asked for the pod's devices: it has a number" in capfd.readouterr().err


def test_answer_that_takes_too_long_to_read(
    dgx: Host,
    kubelet: dict[str, bytes],
    capfd: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    kubelet["pods"] = b"\x0a\x00" * 1000 + pod(
        "train", "worker-0", container(devices("example.com/gpu", GPUS[0]))
    )
    assert GPUS[:1] == devices_of_pod(POD, dgx)
    monkeypatch.setattr(protobuf, "time", SimpleNamespace(monotonic=lambda: float("inf")))
    assert [] == devices_of_pod(POD, dgx)
    assert "it does not answer within 1 s" in capfd.readouterr().err


def test_answer_of_a_full_node(dgx: Host, kubelet: dict[str, bytes]) -> None:
    """250 pods of four containers, each with 8 devices by long names and 64 CPUs of its own."""
    ids = [f"GPU-8d8f8a4e-1b7e-4f53-a3a2-{number:012}::7" for number in range(8)]
    cpus = field(3, b"".join(varint(each) for each in range(100, 164)))
    whole = container(devices("nvidia.com/gpu.shared", *ids, numa=1)) + cpus
    other = b"".join(pod("train", f"worker-{'x' * 240}-{n}", *[whole] * 4) for n in range(249))
    mine = pod("train", "worker-0", container(devices("example.com/gpu", GPUS[0])))
    kubelet["pods"] = other + mine
    assert 500_000 < len(kubelet["pods"]) < 4 << 20
    assert GPUS[:1] == devices_of_pod(POD, dgx)


def test_answer_that_is_too_long(
    dgx: Host, kubelet: dict[str, bytes], capfd: pytest.CaptureFixture[str]
) -> None:
    kubelet["pods"] = bytes((4 << 20) + 1)
    assert [] == devices_of_pod(POD, dgx)
    assert "its answer has more than 4194304 bytes" in capfd.readouterr().err


@pytest.mark.parametrize("kind", ["folder", "file"])
def test_socket_that_is_none(dgx: Host, kind: str, capfd: pytest.CaptureFixture[str]) -> None:
    path = path_of(dgx.paths.pod_resources)
    path.mkdir() if kind == "folder" else path.write_text("")
    assert [] == devices_of_pod(POD, dgx)
    assert "the kubelet cannot be asked for the pod's devices: " in capfd.readouterr().err


def test_function_that_is_not_there_is_none_of_the_pod(dgx: Host) -> None:
    checkpoint(dgx, entry("example.com/fpga", {"0": ["0000:fe:00.0", GPUS[0]]}))
    assert [GPUS[0]] == devices_of_pod(POD, dgx)


ALL_GPUS = {
    "dgx-a100": ["07", "0f", "47", "4e", "87", "90", "b7", "bd"],
    "aws-p5": ["53", "64", "75", "86", "97", "a8", "b9", "ca"],
}


@pytest.mark.parametrize("name", ALL_GPUS)
def test_all_gpus_of_a_machine(tmp_path: Path, name: str) -> None:
    host = machine(name, tmp_path)
    expected = [f"0000:{bus}:00.0" for bus in ALL_GPUS[name]]
    checkpoint(host, entry("nvidia.com/gpu", {"0": [uuid(gpu, host) for gpu in expected]}))
    assert expected == devices_of_pod(POD, host)


def test_all_gpus_of_an_azure_guest(tmp_path: Path) -> None:
    """Each is in a PCI domain of its own."""
    host = machine("azure-nd", tmp_path)
    domains = ["0001", "0002", "0003", "0004", "000b", "000c", "000d", "000e"]
    expected = [f"{domain}:00:00.0" for domain in domains]
    checkpoint(host, entry("nvidia.com/gpu", {"0": [uuid(gpu, host) for gpu in expected]}))
    assert expected == devices_of_pod(POD, host)


def test_gpu_of_amd_by_its_address(tmp_path: Path) -> None:
    host = machine("sriov-host", tmp_path)
    checkpoint(host, entry("amd.com/gpu", {"1": ["0000:86:00.0"]}))
    assert ["0000:86:00.0"] == devices_of_pod(POD, host)
