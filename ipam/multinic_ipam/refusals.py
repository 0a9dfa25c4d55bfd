"""Why the store does not give an address."""

from __future__ import annotations


class StoreError(Exception):
    """The store cannot do what is asked; the message says what to do."""


class BlockInUseError(StoreError):
    """A pool's block overlaps another one, which has addresses in use."""


class NoAddressError(StoreError):
    """No address can be given, or not the one that is asked for."""


class TakenError(NoAddressError):
    """Somebody has the address that is asked for."""


class PoolExhaustedError(NoAddressError):
    """No address of a pool is free."""
