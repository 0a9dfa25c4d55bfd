"""Everything that is known of a node's NICs, for people: the slow way, each fact of each NIC."""

from __future__ import annotations

from multinic_cni.errors import CniError
from multinic_cni.jsontext import decode
from multinic_cni.values import Value
from multinic_ipam.networks import Network
from multinic_selectors.candidates import NIC_KINDS, SelectionError
from multinic_selectors.health import Health
from multinic_selectors.loads import NONE
from multinic_selectors.nics import natural_order
from multinic_selectors.rails import find_rails

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from multinic_cni.host import Host
    from multinic_selectors.loads import Load
    from multinic_selectors.locations import Location
    from multinic_selectors.nics import Nic
    from multinic_selectors.rdma import RdmaPort


class PciFacts(Value):
    """A PCI function: what it is, where it is, and whose virtual functions hang on it.

    `numa` is None where nobody knows; `physical` and the keys of `virtual` are addresses, its
    values the NICs that a virtual function has here.
    """

    address: str
    vendor: str
    product: str
    device_class: str
    driver: str
    location: Location | None
    physical: str
    virtual: Mapping[str, Sequence[str]]


class NicFacts(Value):
    """A NIC and what belongs to it.

    `trouble` is why it cannot carry traffic, by a prober's word or else the kernel's; `denied` is
    what the kernel says of one that a prober calls healthy. `ports` are the links whose bridge,
    bond or team it is; `rail` is its number by node.json; `auxiliary` the device that it is on
    below its function, such as a scalable function.
    """

    nic: Nic
    pci: PciFacts | None
    auxiliary: str
    driver: str
    speed: int | None
    duplex: str
    rdma: Sequence[RdmaPort]
    trouble: str
    denied: str
    ports: Sequence[str]
    rail: int | None
    load: Load

    @property
    def is_ordinary(self) -> bool:
        """Tell whether people mean it when they say NIC, or a pod or the node works by it."""
        made_for_others = self.nic.loopback or self.nic.kind not in NIC_KINDS
        used = self.load.attachments or self.nic.uplink or self.rail is not None
        return bool(used) or not made_for_others


class Facts(Value):
    """A node's NICs in natural order; `notes` say what could not be told."""

    nics: Sequence[NicFacts]
    notes: Sequence[str] = ()


def facts_of(host: Host, loads: Mapping[str, Load]) -> Facts:
    """Gather what is known of each NIC; raises CniError for an inventory that cannot be read."""
    rails, notes = _rails(host)
    health = Health(host.paths.health, _decoded)
    ports: dict[str, list[str]] = {}
    for nic in host.nics:
        if nic.enslaved_to:
            ports.setdefault(nic.enslaved_to, []).append(nic.name)
    words = {nic.name: health.word_on(nic.name) for nic in host.nics}
    found = [
        NicFacts(
            nic=nic,
            pci=pci_facts(host, host.sysfs.pci_address(nic.name)),
            auxiliary=host.sysfs.auxiliary_device(nic.name),
            driver=host.sysfs.driver(nic.name),
            speed=host.speed(nic),
            duplex=host.sysfs.duplex(nic.name),
            rdma=host.sysfs.rdma_ports(nic.name),
            trouble=trouble_of(nic, words[nic.name]),
            denied=nic.trouble if words[nic.name] == "" else "",
            ports=sorted(ports.get(nic.name, ()), key=natural_order),
            rail=rails.get(nic.name),
            load=loads.get(nic.name, NONE),
        )
        for nic in sorted(host.nics, key=lambda nic: natural_order(nic.name))
    ]
    return Facts(nics=found, notes=notes)


def trouble_of(nic: Nic, word: str | None) -> str:
    """Return why a NIC cannot carry traffic: a prober's word goes before the kernel's."""
    return nic.trouble if word is None else word


def _decoded(content: bytes) -> object:
    try:
        return decode(content, "a prober's file")
    except CniError:
        return None


def pci_facts(host: Host, address: str) -> PciFacts | None:
    """Return what sysfs says of a function; None without one."""
    if not address:
        return None
    sysfs = host.sysfs
    return PciFacts(
        address=address,
        vendor=sysfs.vendor(address),
        product=sysfs.product(address),
        device_class=sysfs.device_class(address),
        driver=sysfs.driver_of(address),
        location=sysfs.location(address),
        physical=sysfs.physical_function(address),
        virtual={each: sysfs.nics(each) for each in sysfs.virtual_functions(address)},
    )


def _rails(host: Host) -> tuple[Mapping[str, int], list[str]]:
    """Return each NIC's rail by node.json, and what is wrong with them there."""
    if not host.file.rails:
        return {}, []
    try:
        rails = find_rails(host.file.rails, host.nics, host.sysfs, Network.parse)
    except SelectionError as error:
        return {}, [f"rails of node.json: {error}"]
    return rails.places, [f"{rail}: {why}" for rail, why in rails.missing]
