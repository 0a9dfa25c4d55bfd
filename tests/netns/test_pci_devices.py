"""The pod's devices and the NICs' functions, as seen through the executable.

The test's rails are veths. A mount namespace gives the plugin a sysfs in which they are functions
of a machine, and a GPU and virtual functions are beside them.
"""

from __future__ import annotations

import json
import socket
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pytest

from tests.netns.confs import masters_of, ranges
from tests.netns.trees import mount_sysfs
from tests.unit.kubelets import container, devices, pod, serving

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.netns.delegates import Delegates
    from tests.netns.mounts import Mounts
    from tests.netns.state import State
    from tests.pytest_netns import Document, Namespace, Node, Runtime

NO_NICS = 100
MACHINE = """\
node pretended
root 0000:00 numa=0
  bridge 00:01.0
    nic 01:00.0 id=15b3:101d driver=mlx5_core name=rail1 speed=100000 rdma=mlx5_0
  bridge 00:02.0
    nic 02:00.0 id=15b3:101d driver=mlx5_core name=pf speed=100000
      vf 02:00.2 id=15b3:101e driver=mlx5_core name=rail2 rdma=mlx5_2
      vf 02:00.3 id=15b3:101e driver=vfio-pci
root 0000:80 numa=1
  bridge 80:01.0
    bridge 81:00.0
      bridge 82:00.0
        gpu 83:00.0 id=10de:20b0
      bridge 82:01.0
        nic 84:00.0 id=15b3:101d driver=mlx5_core name=rail4 speed=100000
"""
FUNCTIONS = {1: "0000:01:00.0", 2: "0000:02:00.2", 4: "0000:84:00.0"}
GPU = "0000:83:00.0"
UID = "8d8f8a4e-1b7e-4f53-a3a2-3d7a3b5c0f11"
ARGS = f"IgnoreUnknown=1;K8S_POD_NAMESPACE=train;K8S_POD_NAME=worker-0;K8S_POD_UID={UID}"
NEAR = {"attachPolicy": {"strategy": "topology", "nics": 1}}
ALL = ["rail*"]


@dataclass(frozen=True)
class Kubelet:
    """The files and the socket of a kubelet that node.json names, and where information goes."""

    runtime: Runtime
    checkpoint: Path
    socket: Path
    information: Path
    pods: dict[str, bytes] = field(default_factory=dict)

    def give(self, *ids: str) -> None:
        entry = {"PodUID": UID, "ResourceName": "example.com/gpu", "DeviceIDs": {"1": ids}}
        self.checkpoint.write_text(json.dumps({"Data": {"PodDeviceEntries": [entry]}}))


@pytest.fixture
def kubelet(
    runtime: Runtime,
    node: Node,
    mounts: Mounts,
    tmp_path: Path,
    tmp_path_factory: pytest.TempPathFactory,
) -> Kubelet:
    """Return the kubelet of a node whose sysfs is the machine's, but for the links' indexes."""
    mount_sysfs(MACHINE, tmp_path / "machine", mounts, node.links())
    short = tmp_path_factory.mktemp("k")  # a socket's path has at most 107 bytes
    found = Kubelet(
        runtime.but(wrapper=mounts.wrapper),
        short / "checkpoint",
        short / "kubelet.sock",
        tmp_path / "devinfo",
    )
    paths = {
        "kubeletCheckpoint": str(found.checkpoint),
        "podResources": str(found.socket),
        "deviceInfo": str(found.information),
    }
    mounts.mount_tmpfs("/etc/cni")
    mounts.seen("/etc/cni/multinic").mkdir()
    mounts.seen("/etc/cni/multinic/node.json").write_text(json.dumps({"paths": paths}))
    return found


def added(kubelet: Kubelet, pod: Namespace, **keys: Any) -> tuple[Document, str]:  # noqa: ANN401
    """Attach, and return the result and the log."""
    conf = kubelet.runtime.conf(masters=ALL, **keys)
    answer = kubelet.runtime.attachment(pod, conf, cni_args=ARGS).call("ADD")
    return answer.result(), answer.stderr


def functions_in(result: Document) -> list[str]:
    return [each.get("pciID", "") for each in result["interfaces"]]


def test_nic_at_the_gpus_switch_by_the_checkpoint(
    kubelet: Kubelet, node: Node, pod: Namespace
) -> None:
    kubelet.give(GPU)
    result, log = added(kubelet, pod, **NEAR)
    assert ["rail4"] == masters_of(pod, node)
    assert [FUNCTIONS[4]] == functions_in(result)
    assert f"the pod's devices devices={GPU}" in log


def test_nic_at_the_gpus_switch_by_the_socket(kubelet: Kubelet, node: Node, pod: Namespace) -> None:
    given = pod_of(devices("example.com/gpu", GPU))
    with serving(str(kubelet.socket), lambda _request, _context: given):
        added(kubelet, pod, **NEAR)
    assert ["rail4"] == masters_of(pod, node)


def pod_of(*given: bytes) -> bytes:
    return pod("default", "worker-0", container()) + pod("train", "worker-0", container(*given))


def test_nobody_knows_the_pods_devices(kubelet: Kubelet, node: Node, pod: Namespace) -> None:
    _, log = added(kubelet, pod, **NEAR)
    assert ["rail1"] == masters_of(pod, node)
    assert "warning" not in log


@pytest.fixture
def silent(kubelet: Kubelet) -> Iterator[None]:
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(kubelet.socket))
        listener.listen()
        yield


@pytest.mark.usefixtures("silent")
def test_kubelet_that_does_not_answer_fails_no_pod(
    kubelet: Kubelet, node: Node, pod: Namespace
) -> None:
    _, log = added(kubelet, pod, **NEAR)
    assert ["rail1"] == masters_of(pod, node)
    assert "the kubelet cannot be asked for the pod's devices: it does not answer within 1 s" in log


def test_each_interface_of_a_new_result_says_its_nics_function(
    kubelet: Kubelet, pod: Namespace, other_pod: Namespace
) -> None:
    result, _ = added(kubelet, pod)
    assert [FUNCTIONS[1], FUNCTIONS[2], "", FUNCTIONS[4]] == functions_in(result)
    old, _ = added(kubelet, other_pod, cniVersion="1.0.0")
    assert ["", "", "", ""] == functions_in(old)


def test_function_of_a_nic_that_goes_into_the_pod(kubelet: Kubelet, pod: Namespace) -> None:
    """Nobody sees it on the node any more when the result is written."""
    path = kubelet.information / "cni/net1"
    result, _ = added(
        kubelet,
        pod,
        plugin={"type": "host-device"},
        deviceID=FUNCTIONS[2],
        runtimeConfig={"CNIDeviceInfoFile": str(path)},
    )
    assert [FUNCTIONS[2]] == functions_in(result)
    assert {
        "type": "pci",
        "version": "1.1.0",
        "pci": {
            "pci-address": FUNCTIONS[2],
            "rdma-device": "mlx5_2",
            "pf-pci-address": "0000:02:00.0",
        },
    } == json.loads(path.read_text())


def test_no_information_without_a_function(kubelet: Kubelet, pod: Namespace) -> None:
    path = kubelet.information / "net1"
    runtime_config = {"CNIDeviceInfoFile": str(path)}
    conf = kubelet.runtime.conf(masters=["rail3"], runtimeConfig=runtime_config)
    kubelet.runtime.attachment(pod, conf).add()
    assert not kubelet.information.exists()


def test_information_outside_of_its_folder_is_not_written(
    kubelet: Kubelet, pod: Namespace, tmp_path: Path
) -> None:
    path = tmp_path / "elsewhere"
    _, log = added(kubelet, pod, runtimeConfig={"CNIDeviceInfoFile": str(path)})
    assert f"CNIDeviceInfoFile is not below {kubelet.information}" in log
    assert not path.exists()


@pytest.mark.parametrize("end", [("exit 1", "1"), ("", "-")], ids=["delegate fails", "not heard"])
def test_failed_add_leaves_no_information(
    kubelet: Kubelet, pod: Namespace, delegates: Delegates, state: State, end: tuple[str, str]
) -> None:
    deed, stdout = end
    delegates.write_failing(deed, nic="rail1")
    wrapper = (*kubelet.runtime.wrapper, "sh", "-c", f'exec "$0" >&{stdout}')
    runtime = delegates.used_by(kubelet.runtime).but(wrapper=wrapper)
    path = kubelet.information / "net1"
    conf = runtime.conf(masters=["rail1"], runtimeConfig={"CNIDeviceInfoFile": str(path)})
    assert 1 == runtime.attachment(pod, conf).call("ADD").status
    assert ({}, []) == (pod.links(), state.left())
    assert not kubelet.information.exists()


@pytest.mark.parametrize("key", ["deviceIDs", "runtime's deviceIDs"])
def test_several_devices_give_several_nics(
    kubelet: Kubelet, node: Node, pod: Namespace, key: str
) -> None:
    ids = [FUNCTIONS[4], FUNCTIONS[1]]
    words = {"deviceIDs": ids} if key == "deviceIDs" else {"runtimeConfig": {"deviceIDs": ids}}
    conf = kubelet.runtime.conf(**ranges(1, 2, 4), **words)
    kubelet.runtime.attachment(pod, conf).add()
    assert ["rail1", "rail4"] == masters_of(pod, node)


REFUSED = {
    "0000:02:00.3": "its driver is vfio-pci",
    "0000:0f:00.0": "there is no such device",
    FUNCTIONS[2]: "the runtime has given the pod NIC rail2, which this network does not allow",
}


@pytest.mark.parametrize("device", REFUSED)
@pytest.mark.parametrize("key", ["deviceID", "pciBusID", "runtime's deviceID"])
def test_device_that_cannot_be_had(
    kubelet: Kubelet, pod: Namespace, state: State, device: str, key: str
) -> None:
    by_runtime = key.startswith("runtime")
    words: dict[str, Any] = {"runtimeConfig": {"deviceID": device}} if by_runtime else {key: device}
    conf = kubelet.runtime.conf(masters=["rail1"], **words)
    assert REFUSED[device] in kubelet.runtime.attachment(pod, conf).call("ADD").error(NO_NICS)
    assert [] == state.left()


def sriov(delegates: Delegates, tmp_path: Path) -> Path:
    """Make an sriov that notes its conf, and return where."""
    noted = tmp_path / "conf"
    delegates.write(
        "sriov",
        f'printf %s "$conf" >{noted}\n'
        'echo \'{"cniVersion": "1.1.0", "interfaces":'
        ' [{"name": "\'$CNI_IFNAME\'", "sandbox": "\'$CNI_NETNS\'"}]}\'',
    )
    return noted


def test_sriov_gets_the_virtual_functions_address(
    kubelet: Kubelet, pod: Namespace, delegates: Delegates, tmp_path: Path
) -> None:
    noted = sriov(delegates, tmp_path)
    runtime = delegates.used_by(kubelet.runtime)
    conf = runtime.conf(plugin={"type": "sriov", "vlan": 7}, masters=["rail2"])
    runtime.attachment(pod, conf).call("ADD")
    told = json.loads(noted.read_text())
    assert (FUNCTIONS[2], 7) == (told["deviceID"], told["vlan"])
    assert "master" not in told


def test_sriov_takes_no_physical_function(
    kubelet: Kubelet, pod: Namespace, delegates: Delegates, tmp_path: Path
) -> None:
    noted = sriov(delegates, tmp_path)
    runtime = delegates.used_by(kubelet.runtime)
    conf = runtime.conf(plugin={"type": "sriov"}, masters=["rail1"])
    message = runtime.attachment(pod, conf).call("ADD").error(NO_NICS)
    assert "rail1: it is no virtual function, and plugin sriov takes no other NICs" in message
    assert not noted.exists()
    # Where the network has others, they are taken instead.
    runtime.attachment(pod, conf | {"masters": ["rail*"]}).call("ADD")
    assert FUNCTIONS[2] == json.loads(noted.read_text())["deviceID"]


def test_topology_file_is_read_by_the_executable(
    kubelet: Kubelet, mounts: Mounts, node: Node, pod: Namespace, tmp_path: Path
) -> None:
    """It says that rail1 is at the GPU's switch, whatever sysfs says."""
    file = tmp_path / "topology.xml"
    file.write_text(
        '<system><cpu numaid="1"><pci busid="ffff:ff:01.0">'
        f'<pci busid="{GPU}"/><pci busid="{FUNCTIONS[1]}"/></pci></cpu></system>'
    )
    seen = mounts.seen("/etc/cni/multinic/node.json")
    words = json.loads(seen.read_text())
    words["paths"]["ncclTopology"] = str(file)
    seen.write_text(json.dumps(words))
    kubelet.give(GPU)
    added(kubelet, pod, **NEAR)
    assert ["rail1"] == masters_of(pod, node)
