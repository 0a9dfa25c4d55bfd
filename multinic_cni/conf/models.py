"""The net conf as pydantic models: the one source of the table, the JSON Schema and `validate`.

Never imported when a runtime calls: the checker walks the table that scripts/schema.py writes from
these models. Types are strict, since a delegate in Go would refuse "9000" for 9000 too.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal, Union

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Discriminator,
    Field,
    Tag,
    WithJsonSchema,
    model_validator,
)

from multinic_cni.conf import formats
from multinic_cni.conf.checker import near_misses


def _format(name: str) -> tuple[AfterValidator, WithJsonSchema]:
    check = formats.FORMATS[name]

    def validate(text: str) -> str:
        problem = check(text)
        if problem:
            raise ValueError(problem)
        return text

    return AfterValidator(validate), WithJsonSchema({"type": "string", "format": name})


NetworkName = Annotated[str, *_format("network-name")]
Cidr = Annotated[str, *_format("cidr")]
CidrOrEmpty = Annotated[str, *_format("cidr-or-empty")]
Address = Annotated[str, *_format("ip-address")]
CidrOrAddress = Annotated[str, *_format("cidr-or-address")]
DelegateType = Annotated[str, *_format("delegate-type")]
AbsolutePath = Annotated[str, *_format("absolute-path")]
NicPattern = Annotated[str, *_format("nic-pattern")]
Mac = Annotated[str, *_format("mac")]
Bits = Annotated[int, Field(ge=0, le=128)]
Document = dict[str, Any]


class Block(BaseModel):
    """One of our own blocks: an unknown key is a mistake."""

    model_config = ConfigDict(strict=True, extra="forbid", frozen=True)


class OpenBlock(BaseModel):
    """A block whose other keys belong to somebody else; only a wrong case of ours is a mistake.

    Go reads keys without regard to case, so "IPAM" works with Go plugins: it must not be lost here
    in silence.
    """

    model_config = ConfigDict(strict=True, extra="allow", frozen=True)

    @model_validator(mode="before")
    @classmethod
    def _refuse_near_misses(cls, document: object) -> object:
        if isinstance(document, dict):
            keys = [field.alias or name for name, field in cls.model_fields.items()]
            missed = near_misses(document, keys)
            if missed:
                raise ValueError("; ".join(f"{key}: is {known!r} meant?" for key, known in missed))
        return document


class Dns(Block):
    """The specification's `dns`, handed to the delegates and returned."""

    nameservers: list[str] | None = None
    domain: str | None = None
    search: list[str] | None = None
    options: list[str] | None = None


class Route(Block):
    """A route of every interface, as the IPAM plugins write it."""

    dst: Cidr
    gw: Address | None = None
    mtu: Annotated[int, Field(ge=0)] | None = None
    advmss: Annotated[int, Field(ge=0)] | None = None
    priority: Annotated[int, Field(ge=0)] | None = None
    table: Annotated[int, Field(ge=0)] | None = None
    scope: Annotated[int, Field(ge=0, le=255)] | None = None


class Slice(Block):
    """A run of addresses by its place in the NIC's network."""

    offset: Annotated[int, Field(ge=0)] = Field(description="of the first, from the network's own")
    length: Annotated[int, Field(ge=1)] = Field(description="how many addresses")


class Exclusion(Block):
    """Addresses that are never given out; both ends are inclusive."""

    startIP: Address
    endIP: Address


class IndexExclusion(Block):
    """As an exclusion, by place in the node's share; both ends are inclusive."""

    startIndex: Annotated[int, Field(ge=0)]
    endIndex: Annotated[int, Field(ge=0)]


class StaticAllocation(Block):
    """A network that one node has as its share; without a node it is given to none."""

    nodeName: str | None = None
    prefix: Cidr
    gateway: Address | None = None


class Share(Block):
    """How a node's share is cut from the NIC's network; the same words for all NICs or for one."""

    perNodeBlockSize: Annotated[int, Field(ge=1)] | None = Field(
        None, description="a flat network: each node has so many addresses of it"
    )
    perNodeNetworkPrefix: Annotated[int, Field(ge=1, le=128)] | None = Field(
        None, description="a routed network: each node has a network of that length"
    )
    gatewayIndex: Annotated[int, Field(ge=0)] | None = Field(
        None, description="the gateway's place in the network whose length the address carries"
    )
    slice: Slice | None = Field(
        None, description="every node gives the same part of its NIC's network"
    )
    exclusions: Annotated[list[Exclusion], Field(max_length=1024)] | None = Field(
        None, description="never given out"
    )
    perNodeExclusions: Annotated[list[IndexExclusion], Field(max_length=1024)] | None = Field(
        None, description="never given out, by place in the node's share: its first address is 0"
    )
    staticAllocations: Annotated[list[StaticAllocation], Field(max_length=4096)] | None = Field(
        None, description="shares that do not follow from the node's index"
    )


class AddressRange(Share):
    """A run of addresses in host-local's words, or a network to be shared; ends are inclusive."""

    subnet: Cidr | None = Field(None, description="default: the masterNet that the range is for")
    rangeStart: Address | None = Field(None, description="default: the first usable address")
    rangeEnd: Address | None = Field(None, description="default: the last usable address")
    gateway: Address | None = Field(None, description="returned with the address; never given out")


class MultiNicIpam(Share):
    """Addresses from the store on the node."""

    type: Literal["multi-nic-ipam"]
    interfaceBlock: Bits = Field(0, description="bits of `subnet` that number the interface")
    hostBlock: Bits = Field(0, description="bits that number the node")
    excludeCIDRs: Annotated[list[CidrOrAddress], Field(max_length=1024)] | None = Field(
        None, description="never given out"
    )
    ranges: dict[str, Annotated[list[AddressRange], Field(min_length=1, max_length=64)]] | None = (
        Field(
            None,
            description="from an entry of masterNets or masters to its ranges; instead of subnet",
        )
    )
    probe: Literal["off", "warn", "next", "fail"] = Field(
        "off", description="ask the NICs' networks whether somebody else has the addresses"
    )
    proxyMACs: Annotated[list[Mac], Field(max_length=256)] | None = Field(
        None, description="they answer for all addresses: what they say proves nothing"
    )
    cooldown: Annotated[int, Field(ge=0, le=604800)] = Field(
        0, description="seconds before a freed address is given again"
    )
    sticky: bool = Field(False, description="a pod of the same name gets its last address if free")
    routes: list[Route] | None = Field(None, description="of every interface")
    dns: Dns | None = None
    vlanMode: Literal["", "l2", "l3", "l3s"] | None = Field(None, description="accepted, unused")
    daemonIP: str | None = Field(None, description="accepted, unused")
    daemonPort: int | None = Field(None, description="accepted, unused")


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


class AttachPolicy(Block):
    """Which and how many NICs a pod gets."""

    strategy: Literal["none", "costOpt", "perfOpt", "devClass", "topology"] = "none"
    nics: Annotated[int, Field(ge=1)] | None = Field(None, description="at most; default: all")
    minNics: Annotated[int, Field(ge=1)] = Field(1, description="fewer usable ones are an error")
    target: str | None = None
    class_: str | None = Field(None, alias="class")
    classes: Document | None = None
    unhealthy: Literal["skip", "fail", "use"] = Field(
        "skip", description="what to do with a NIC that is down or has no carrier"
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
    attachPolicy: AttachPolicy | None = None
    subnet: CidrOrEmpty | Annotated[list[Cidr], Field(min_length=1, max_length=2)] | None = Field(
        None, description="the pods' addresses over all nodes; a list of one per family"
    )
    hosts: dict[str, Annotated[int, Field(ge=0)]] | None = Field(
        None, description="from a node's name to its host index"
    )
    multiNICIPAM: bool | None = Field(None, description="accepted, unused: ipam.type decides")
    ipam: Ipam | None = None
    routing: Document | None = None
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
    daemonIP: str | None = Field(None, description="accepted, unused")
    daemonPort: int | None = Field(None, description="accepted, unused")
    valid_attachments: list[ValidAttachment] | None = Field(None, alias="cni.dev/valid-attachments")
    attachments: list[ValidAttachment] | None = Field(None, alias="cni.dev/attachments")
