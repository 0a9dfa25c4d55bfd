"""The versions of the CNI specification that the plugin speaks, and what each result may hold."""

from __future__ import annotations

from multinic_cni.errors import INCOMPATIBLE_VERSION, CniError

SUPPORTED = ("0.3.0", "0.3.1", "0.4.0", "1.0.0", "1.1.0")
NEWEST = SUPPORTED[-1]
OLD = ("0.1.0", "0.2.0")  # one address, no interfaces
IMPLIED = "0.1.0"  # what a conf without cniVersion means

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection


def at_least(version: str, wanted: str) -> bool:
    """Compare two supported versions."""
    return SUPPORTED.index(version) >= SUPPORTED.index(wanted)


def require(version: str, wanted: str, verb: str) -> None:
    """Raise CniError 1 if a conf's version is older than the one that brought a verb."""
    if not at_least(version, wanted):
        message = f"{verb} needs cniVersion {wanted} or later, not {version}"
        raise CniError(INCOMPATIBLE_VERSION, message)


def newest_common(wanted: str, spoken: Collection[str]) -> str | None:
    """Return the newest version up to `wanted` that a delegate speaks; None if there is none."""
    candidates = SUPPORTED[: SUPPORTED.index(wanted) + 1]
    return next((version for version in reversed(candidates) if version in spoken), None)
