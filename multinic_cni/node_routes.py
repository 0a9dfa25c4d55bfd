"""What a network needs of routes to the other nodes' pods on this node, and that it is there."""

from __future__ import annotations

from multinic_cni.addressing import OWN, uses_store
from multinic_cni.choosing import all_of_network
from multinic_cni.errors import BAD_CONF, ROUTING_FAILED, CniError, join_errors
from multinic_cni.host_index import ThisNode
from multinic_cni.log import log
from multinic_cni.netlink import Netlink, NetlinkError
from multinic_cni.node_tables import difference, settle, standing
from multinic_cni.peers import wanted_routes
from multinic_cni.reservations import with_store

TYPE_CHECKING = False
if TYPE_CHECKING:
    from multinic_cni.conf.netconf import NetConf
    from multinic_cni.host import Host
    from multinic_cni.node_tables import Difference
    from multinic_cni.peers import Wanted, WantedRoutes


def wanted_on(conf: NetConf, host: Host) -> Wanted:
    """Return the routes that a network needs on this node; raises CniError."""
    if not uses_store(conf):
        message = f"which node has which addresses is known of ipam.type {OWN} alone"
        raise CniError(BAD_CONF, message)
    choices, missing = all_of_network(conf, host)
    node = ThisNode(conf.hosts, lambda: host.file, lambda: host.name)
    wanted = wanted_routes(conf, choices, node, host.file.peers)
    absent = [f"{entry}: {why}: it has no routes to other nodes" for entry, why in missing]
    return wanted.but(left_out=(*absent, *wanted.left_out))


def make_sure(conf: NetConf, host: Host, deadline: float) -> None:
    """Put in place what a pod of a network needs; raises CniError.

    What is there beyond it stays: another net conf may have the same subnet, and what is stale is
    the business of `multinic-cni routes apply`. In the usual case there are only two dumps.
    """
    wanted = wanted_on(conf, host)
    for note in wanted.left_out:
        log.warning(note)
    netlink = Netlink()
    try:
        if _lacking(netlink, wanted):
            with_store(conf.data_dir, deadline, lambda _: _add_lacking(netlink, wanted))
    except NetlinkError as error:
        raise not_listed(error) from error
    finally:
        netlink.close()


def _lacking(netlink: Netlink, wanted: Wanted) -> list[tuple[WantedRoutes, Difference]]:
    families = [each for each in wanted.families if each.routes]
    found = [(each, difference(each, standing(netlink, each))) for each in families]
    return [(each, lack) for each, lack in found if lack.but(surplus=()).count]


def _add_lacking(netlink: Netlink, wanted: Wanted) -> None:
    errors: list[CniError] = []
    try:
        # Once more: another call may have been here before the lock was ours.
        for each, lack in _lacking(netlink, wanted):
            errors += settle(netlink, each, lack.but(surplus=()))
            log.info(
                "routes to other nodes",
                network=each.network,
                table=lack.table,
                added=len(lack.missing),
                replaced=len(lack.replaced),
            )
    except NetlinkError as error:
        raise not_listed(error) from error
    if errors:
        raise join_errors(errors)


def not_listed(error: NetlinkError) -> CniError:
    """Word that the kernel does not even tell what is in place."""
    return CniError(ROUTING_FAILED, f"cannot list the node's routes: {error.strerror}")
