"""What a small pool gives, address by address."""

from __future__ import annotations

from typing import TYPE_CHECKING

import netaddr

if TYPE_CHECKING:
    from multinic_ipam.pools import Pool


def given(pool: Pool) -> list[str]:
    """Return every address that the pool may hand out, in order."""
    version = pool.block.version
    return [
        str(netaddr.IPAddress(number, version))
        for number in range(pool.start, pool.end + 1)
        if not pool.excludes(number)
    ]
