"""Requests of a pod, written as its author would."""

from __future__ import annotations

from multinic_cni.requests import Asked, Requests
from multinic_ipam.networks import parse_address


def asking(*addresses: str, mac: str = "") -> Requests:
    """Return the requests of one source, args.cni."""
    return Requests(addresses=tuple(_asked(text) for text in addresses), mac=mac)


def _asked(text: str) -> Asked:
    address, _, length = text.partition("/")
    version, number = parse_address(address)
    return Asked(
        version=version,
        number=number,
        length=int(length) if length else None,
        source="args.cni.ips",
    )
