"""How a machine is wired: NUMA nodes, root complexes, switches, and what is plugged in there."""

from __future__ import annotations

from multinic_cni.admin.nic_facts import pci_facts
from multinic_cni.nearness import Nearness
from multinic_cni.pod_devices.nvidia import NvidiaGpus
from multinic_cni.values import Value
from multinic_selectors.devices import is_pci_address

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from multinic_cni.admin.nic_facts import Facts, NicFacts, PciFacts
    from multinic_cni.host import Host
    from multinic_selectors.locations import Location
    from multinic_selectors.rdma import RdmaPort

# PCI classes (pci.ids): display controllers, processing accelerators; network controllers.
ACCELERATORS = ("03", "12")
NETWORK = "02"

# Kinds of places: a NUMA node has root complexes; a switch shares its upstream link among devices,
# a port is where the functions of one card are.
NUMA, ROOT, SWITCH, PORT = "NUMA node", "root complex", "switch", "port"
GPU, NIC = "GPU", "NIC"


class Device(Value):
    """A function that is a GPU or a NIC, and where it is for the strategy topology.

    `nics` are its network interfaces here: none for a GPU, for EFA, or where a pod has them. `rdma`
    are its RDMA ports if no interface tells them.
    """

    kind: str
    pci: PciFacts
    location: Location | None
    nics: Sequence[NicFacts] = ()
    rdma: Sequence[RdmaPort] = ()
    model: str = ""


class Place(Value):
    """A part of the machine; bridges with a single device behind them are left out."""

    kind: str
    name: str
    inside: Sequence[Place | Device]


class Machine(Value):
    """The whole: the places by their names, and the NICs that are plugged in nowhere."""

    places: Sequence[Place]
    elsewhere: Sequence[NicFacts]


def machine_of(host: Host, facts: Facts) -> Machine:
    """Find out where the GPUs and NICs of a node are."""
    devices = list(_devices(host, facts))
    by_root: dict[str, list[Device]] = {}
    for device in devices:
        root = device.location.root if device.location else ""
        by_root.setdefault(root, []).append(device)
    by_numa: dict[int | None, list[Place]] = {}
    for root in sorted(by_root, key=_order):
        place = Place(kind=ROOT, name=root or "unknown", inside=_wired(by_root[root], 0))
        by_numa.setdefault(_numa_of(by_root[root]), []).append(place)
    elsewhere = [each for each in facts.nics if each.pci is None and each.is_ordinary]
    if set(by_numa) <= {None}:  # a machine that tells nothing of NUMA: a level of "unknown" is none
        return Machine(places=by_numa.get(None, []), elsewhere=elsewhere)
    order = sorted(by_numa, key=lambda node: (node is None, node or 0))
    places = [
        Place(kind=NUMA, name="unknown" if node is None else str(node), inside=by_numa[node])
        for node in order
    ]
    return Machine(places=places, elsewhere=elsewhere)


def _devices(host: Host, facts: Facts) -> Iterable[Device]:
    """Walk GPUs and NICs by address; a VF without a NIC here is told by its PF."""
    near = Nearness(host)
    nvidia = NvidiaGpus(host.paths.nvidia)
    by_address: dict[str, list[NicFacts]] = {}
    for each in facts.nics:
        if each.pci is not None:
            by_address.setdefault(each.pci.address, []).append(each)
    for address in sorted({*host.sysfs.functions(), *by_address}):
        nics = by_address.get(address, [])
        kind = host.sysfs.device_class(address)
        is_gpu = kind.startswith(ACCELERATORS)
        if not (nics or is_gpu or kind.startswith(NETWORK)):
            continue
        pci = nics[0].pci if nics else pci_facts(host, address)
        if pci is None or (pci.physical and not nics and not is_gpu):
            continue
        location = next(iter(near.locations([address])), None)
        if nics or not is_gpu:
            rdma = [] if nics else host.sysfs.rdma_ports_of(address)
            yield Device(kind=NIC, pci=pci, location=location, nics=nics, rdma=rdma)
        else:
            model = nvidia.model_of(address)
            yield Device(kind=GPU, pci=pci, location=location, model=model)


def _numa_of(devices: Iterable[Device]) -> int | None:
    """Return the NUMA node of a root complex: the smallest that a device below it knows."""
    known = (each.location.numa for each in devices if each.location)
    return min((node for node in known if node is not None), default=None)


def _wired(devices: Sequence[Device], depth: int) -> Sequence[Place | Device]:
    """Return what hangs below a bridge, or a root, at that depth, in the order of addresses."""
    below: dict[str, list[Device]] = {}
    for device in devices:
        bridges = device.location.bridges if device.location else ()
        behind = bridges[depth] if len(bridges) > depth else device.pci.address
        below.setdefault(behind, []).append(device)
    return [_behind(address, below[address], depth) for address in sorted(below, key=_order)]


def _order(name: str) -> str:
    """Return what sorts bridges and roots; NCCL's file has no addresses, but an order."""
    return name if is_pci_address(name) or name.startswith("pci") else ""


def _behind(address: str, devices: Sequence[Device], depth: int) -> Place | Device:
    """Return a device itself, or the bridge that several are behind."""
    if len(devices) == 1:
        return devices[0]
    inside = _wired(devices, depth + 1)
    if len(inside) == 1:
        return inside[0]
    buses = {each.pci.address.rpartition(":")[0] for each in devices}
    return Place(kind=PORT if len(buses) == 1 else SWITCH, name=address, inside=inside)
