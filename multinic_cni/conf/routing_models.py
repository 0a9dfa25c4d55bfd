"""The models of what an interface carries: the routing block, and a VLAN below it."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from multinic_cni.conf.model_words import Address, Block, Cidr, Mac, Rail, Sysctl

NicWord = Rail  # an entry of masterNets, masters or rails, or a NIC's own name
FEW, MANY = 256, 1024
SMALLEST_MTU, LARGEST_MTU = 68, 65535
HIGHEST_TABLE = 0xFFFF_FFFF - 999  # the former default's is 999 further


class PodRoute(Block):
    """A route in the pod; one destination twice, or by several NICs, is one multipath route."""

    dst: Cidr
    gw: Address | None = Field(None, description="default: the gateway of the NIC's pool")
    nics: Annotated[list[NicWord], Field(min_length=1, max_length=FEW)] | None = Field(
        None, description="default: every NIC that reaches the gateway"
    )
    metric: Annotated[int, Field(ge=0, le=0xFFFF_FFFF)] | None = None
    mtu: Annotated[int, Field(ge=SMALLEST_MTU, le=LARGEST_MTU)] | None = None


class CrossRail(Block):
    """How the pod reaches the networks of the rails on which it has no address."""

    supernet: Cidr | Annotated[list[Cidr], Field(min_length=1, max_length=16)] = Field(
        description="all rails of all nodes lie in it"
    )
    via: NicWord = Field(
        description="the NIC by whose gateway; all: multipath; none: unreachable, rather than by"
        " the pod's default route"
    )


class Neighbor(Block):
    """A neighbour whose MAC need not be asked for."""

    address: Address
    mac: Mac
    nics: Annotated[list[NicWord], Field(min_length=1, max_length=FEW)] | None = Field(
        None, description="default: the NIC in whose network the address is"
    )


class Routing(Block):
    """What is set in the pod beside the interfaces themselves; each key is off by default."""

    sourceRules: bool = Field(
        default=False, description="a table for each NIC, and a rule for what its addresses send"
    )
    deviceRules: bool = Field(
        default=False, description="of sourceRules: a rule for sockets bound to the interface, too"
    )
    firstTable: Annotated[int, Field(ge=256, le=HIGHEST_TABLE)] = Field(
        1000, description="the table of place 0; where it is taken, some thousand more"
    )
    routes: Annotated[list[PodRoute], Field(max_length=MANY)] | None = None
    defaultRoute: NicWord | None = Field(
        None, description="the NIC by whose gateway the pod's default route goes from now on"
    )
    keepOnPrimary: Annotated[list[Cidr], Field(max_length=FEW)] | None = Field(
        None,
        description="of defaultRoute: what stays on the former default route, such as"
        " services and pods of the cluster; also in node.json",
    )
    crossRail: CrossRail | None = None
    sysctls: dict[Sysctl, str] | None = Field(
        None, description="such as net.ipv4.conf.IFNAME.arp_ignore; IFNAME is each interface"
    )
    dad: bool = Field(
        default=True, description="false: IPv6 addresses are used at once, not asked for before"
    )
    linkLocal: bool = Field(
        default=True, description="false: the interfaces get no link-local IPv6 address"
    )
    neighbors: Annotated[list[Neighbor], Field(max_length=MANY)] | None = None
    gatewayCheck: Literal["off", "warn", "skip", "fail"] = Field(
        "off", description="ask each NIC's network for its gateway before the NIC is taken"
    )
    announce: bool = Field(
        default=True, description="tell the neighbours which MAC has the addresses now"
    )
    nodeRoutes: bool = Field(
        default=False,
        description="make sure that the node has its routes to the other nodes'"
        " pods, as `multinic-cni routes apply` does",
    )


class Vlan(Block):
    """A VLAN on each NIC: its sub-interface is made on the node, and shared by pods."""

    id: Annotated[int, Field(ge=1, le=4094)]
