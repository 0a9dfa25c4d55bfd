"""The models of addresses from our own store: `ipam` of type multi-nic-ipam."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from multinic_cni.conf.model_words import Address, Bits, Block, Cidr, CidrOrAddress, Mac


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
