"""What is known of single types of delegates, by their executables' names."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

# The key by which the first delegate of a chain learns its NIC: `master` but for these. None: it
# has no NIC of the node below it. A deviceID is a PCI address.
NIC_KEYS: Mapping[str, str | None] = {
    "host-device": "device",
    "sriov": "deviceID",
    "sriov-cni": "deviceID",
    "ib-sriov": "deviceID",
    "ib-sriov-cni": "deviceID",
    "bridge": None,
    "ptp": None,
    "loopback": None,
    "dummy": None,
    "tap": None,
}
# host-device names its NIC by any of these; what the template says already is kept.
DEVICE_KEYS = frozenset({"device", "hwaddr", "kernelpath", "pciBusID"})

# They find the NIC's PCI function by deviceID, too, wherever they stand in the chain. By the MAC
# alone rdma does not find a NIC that is in the pod already, nor one of InfiniBand.
FIND_THE_FUNCTION = frozenset({"rdma"})

# They take the size of the frames, `mtu`, for the interface that they make. Of the others, the
# interface gets it when they have ended.
TAKE_AN_MTU = frozenset({"macvlan", "ipvlan", "aws-ipvlan", "vlan", "bridge", "ptp"})

# They move the NIC itself into the pod, and set it up there.
TAKE_THE_NIC = frozenset({"host-device", "sriov", "sriov-cni", "ib-sriov", "ib-sriov-cni"})
# Of these, a NIC that they have left in the pod is ours to bring back. The others remember where
# it is, and their next DEL fails if it is not.
LEAVE_THE_NIC = frozenset({"host-device"})

# One global lock in the plugin serialises these anyway, and rebinding devices side by side fails
# (ib-sriov-cni PR 21, rdma-cni PR 21). vrf looks for its VRF and then makes it, and the last that
# leaves deletes it: two of one pod fail on each other's. (sbr takes a lock by itself.)
ONE_AFTER_ANOTHER = frozenset({"ib-sriov", "ib-sriov-cni", "rdma", "vrf"})

# Its DEL returns before the IPAM's DEL when the netns is gone (plugins, host-device cmdDel).
FORGETS_IPAM_WITHOUT_NETNS = frozenset({"host-device"})

# Types that keep nothing outside the pod's netns: once their link is gone, an error of their DEL
# is history. vlan fails for ever when its master has vanished, sbr when the netns has.
LEAVE_NOTHING = frozenset(
    {"macvlan", "ipvlan", "vlan", "host-device", "loopback", "dummy", "tuning", "sbr", "vrf"}
)

# Types that make a link in the pod which has their own name as its kind.
MAKE_A_LINK = frozenset({"macvlan", "ipvlan", "vlan"})

# IPAM types that keep nothing outside the pod: nothing leaks if their DEL cannot be executed.
STATELESS_IPAM = frozenset({"", "static"})

# Types whose interfaces cannot have a MAC of their own, whatever comes behind them in the chain.
NEVER_A_MAC: Mapping[str, str] = {
    "ipvlan": "its interfaces share the NIC's MAC",
    "aws-ipvlan": "its interfaces share the NIC's MAC",
    "ib-sriov": "InfiniBand has no MACs",
    "ib-sriov-cni": "InfiniBand has no MACs",
}
# Types that have no word for a MAC; a delegate behind them, such as tuning, can set one.
NO_MAC_THEMSELVES: Mapping[str, str] = {
    "vlan": "its interfaces have the NIC's MAC",
    "host-device": "the interface is the NIC, with a MAC of its own",
    "ptp": "it lets the kernel choose the MAC",
    "dummy": "it lets the kernel choose the MAC",
}

# Requests of the pod that one interface can have: N delegates must not share an address or a MAC.
# They go, as a Wanted, to the one that they are for.
PER_INTERFACE_ARGS = frozenset({"IP", "MAC", "GATEWAY"})
PER_INTERFACE_CAPABILITIES = frozenset(
    {"ips", "mac", "ipRanges", "infinibandGUID", "deviceID", "CNIDeviceInfoFile"}
)
