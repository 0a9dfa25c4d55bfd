"""The net conf as pydantic models: the one source of the table, the JSON Schema and `validate`.

Never imported when a runtime calls: the checker walks the table that scripts/schema.py writes from
these models. Types are strict, since a delegate in Go would refuse "9000" for 9000 too.
"""

from __future__ import annotations

from typing import Annotated, Literal, Union

from pydantic import ConfigDict, Discriminator, Field, Tag

from multinic_cni.conf.address_models import Dns, MultiNicIpam, Route
from multinic_cni.conf.model_words import (
    AbsolutePath,
    Bandwidth,
    Block,
    Cidr,
    CidrOrEmpty,
    ClassName,
    DelegateType,
    Document,
    HexId,
    NetworkName,
    NicPattern,
    OpenBlock,
    PciAddress,
    Rail,
)
from multinic_cni.conf.routing_models import LARGEST_MTU, SMALLEST_MTU, Routing, Vlan


class MultiConfigIpam(Block):
    """Another IPAM plugin with its own arguments for each master."""

    type: Literal["multi-config"]
    ipam_type: DelegateType
    args: dict[str, Document] = Field(description="from a master's name to its IPAM's keys")
    routes: list[Route] | None = Field(None, description="of every interface")


class HostDeviceIpam(Block):
    """The pod gets the NIC's own addresses."""

    type: Literal["host-device-ipam"]
    routes: list[Route] | None = Field(None, description="of every interface")


class DelegateIpam(OpenBlock):
    """Any other IPAM: the block goes to each delegate as it is. Empty: no addresses."""

    type: DelegateType | None = None


def _ipam_kind(document: object) -> str:
    kind = document.get("type") if isinstance(document, dict) else getattr(document, "type", None)
    own = {"multi-nic-ipam", "multi-config", "host-device-ipam"}
    return kind if isinstance(kind, str) and kind in own else "delegate"


Ipam = Annotated[
    Union[  # noqa: UP007 - Annotated members with tags read better so
        Annotated[MultiNicIpam, Tag("multi-nic-ipam")],
        Annotated[MultiConfigIpam, Tag("multi-config")],
        Annotated[HostDeviceIpam, Tag("host-device-ipam")],
        Annotated[DelegateIpam, Tag("delegate")],
    ],
    Discriminator(_ipam_kind),
]


class Plugin(OpenBlock):
    """A delegate's conf but for what differs from NIC to NIC; every other key goes through."""

    type: DelegateType
    cniVersion: str | None = None
    name: str | None = Field(None, description="replaced by the network's")
    master: str | None = Field(None, description="replaced by the chosen NIC")
    ipam: DelegateIpam | None = None
    capabilities: dict[str, bool] | None = None
    runtimeConfig: Document | None = None


class Args(OpenBlock):
    """The specification's `args`: what a pod asks for is in `cni`."""

    cni: Document | None = None


class DeviceKind(Block):
    """One kind of device that belongs to a class: a NIC is of it if every given key fits."""

    vendor: HexId | None = Field(None, description="PCI vendor id, such as 15b3")
    products: Annotated[list[HexId], Field(min_length=1)] | None = Field(
        None, description="PCI device ids, such as 101e"
    )
    driver: str | None = None
    minSpeed: Bandwidth | None = Field(None, description="an unknown speed does not reach it")


class AttachPolicy(Block):
    """Which and how many NICs a pod gets."""

    strategy: Literal["none", "costOpt", "perfOpt", "devClass", "topology"] = "none"
    nics: Annotated[int, Field(ge=1)] | None = Field(None, description="at most; default: all")
    minNics: Annotated[int, Field(ge=1)] = Field(1, description="fewer usable ones are an error")
    target: Bandwidth | None = Field(
        None, description="of perfOpt and costOpt: what a pod needs of all its NICs together"
    )
    class_: ClassName | None = Field(
        None, alias="class", description="NICs of other kinds do not count"
    )
    classes: dict[str, Annotated[list[DeviceKind], Field(min_length=1)]] | None = Field(
        None, description="beside those of the node's classes.d; any of a class's kinds will do"
    )
    rdma: bool | Literal["required"] = Field(
        default=False,
        description="true: a NIC without an RDMA port that is ACTIVE counts as unhealthy;"
        " required: it is refused, whatever `unhealthy` says",
    )
    unhealthy: Literal["skip", "fail", "use"] = Field(
        "skip", description="what to do with a NIC that cannot carry traffic now"
    )


class ValidAttachment(OpenBlock):
    """One attachment that GC must keep (specification, GC)."""

    containerID: str
    ifname: str


class NetConf(OpenBlock):
    """The net conf, alone or as an entry of a conflist."""

    model_config = ConfigDict(title="multinic-cni net conf")

    cniVersion: str = Field(description="0.3.0, 0.3.1, 0.4.0, 1.0.0 or 1.1.0")
    name: NetworkName
    type: DelegateType
    plugin: Plugin | Annotated[list[Plugin], Field(min_length=1, max_length=16)] = Field(
        description="the delegate, or a chain of them that is executed for each NIC"
    )
    masterNets: Annotated[list[Cidr], Field(max_length=256)] | None = Field(
        None, description="a NIC with an address in one is a candidate; their order is the NICs'"
    )
    masters: Annotated[list[NicPattern], Field(max_length=256)] | None = Field(
        None, description="names, altnames or globs of NICs"
    )
    rails: (
        Annotated[int, Field(ge=1, le=256)]
        | Annotated[
            list[Rail | Annotated[list[Rail], Field(min_length=1)]],
            Field(min_length=1, max_length=256),
        ]
        | None
    ) = Field(
        None,
        description="instead of masterNets and masters: each rail's alternatives (PCI address,"
        " subnet, driver:NAME, name, altname or glob), or the number of rails in node.json",
    )
    railPciAddresses: (
        Annotated[
            list[Annotated[list[PciAddress], Field(min_length=1)]],
            Field(min_length=1, max_length=256),
        ]
        | None
    ) = Field(None, description="rails, as NVIDIA's operators name them")
    attachPolicy: AttachPolicy | None = None
    subnet: CidrOrEmpty | Annotated[list[Cidr], Field(min_length=1, max_length=2)] | None = Field(
        None, description="the pods' addresses over all nodes; a list of one per family"
    )
    hosts: dict[str, Annotated[int, Field(ge=0)]] | None = Field(
        None, description="from a node's name to its host index"
    )
    multiNICIPAM: bool | None = Field(None, description="accepted, unused: ipam.type decides")
    ipam: Ipam | None = None
    routing: Routing | None = Field(None, description="routes, rules and settings in the pod")
    mtu: Annotated[int, Field(ge=SMALLEST_MTU, le=LARGEST_MTU)] | None = Field(
        None, description="of the pod's interfaces; default: the NIC's"
    )
    vlan: Vlan | None = Field(None, description="the interfaces stand on a VLAN of the NIC")
    restore: bool = Field(
        default=False,
        description="of a delegate that takes the NIC: afterwards it gets back the addresses,"
        " routes and state that it had",
    )
    interfaceNames: Literal["spec", "rail", "indexed"] | None = Field(
        None, description="default: spec; indexed when called as multi-nic"
    )
    attach: Literal["exec", "builtin", "auto"] = "exec"
    timeout: Annotated[int, Field(ge=1, le=3600)] = Field(60, description="of a call, seconds")
    maxParallel: Annotated[int, Field(ge=1)] | None = Field(
        None, description="delegates executed at once; default: all"
    )
    dataDir: AbsolutePath = "/var/lib/cni/multinic"
    logFile: AbsolutePath | None = None
    logLevel: Literal["debug", "info", "warning", "error"] = "info"
    dns: Dns | None = None
    args: Args | None = None
    capabilities: dict[str, bool] | None = None
    runtimeConfig: Document | None = Field(None, description="set by the runtime")
    prevResult: Document | None = Field(None, description="set by the runtime")
    deviceID: str | None = Field(None, description="set by Multus")
    pciBusID: str | None = Field(None, description="set by Multus")
    deviceIDs: list[str] | None = Field(None, description="set by whoever has given out devices")
    daemonIP: str | None = Field(None, description="accepted, unused")
    daemonPort: int | None = Field(None, description="accepted, unused")
    valid_attachments: list[ValidAttachment] | None = Field(None, alias="cni.dev/valid-attachments")
    attachments: list[ValidAttachment] | None = Field(None, alias="cni.dev/attachments")
