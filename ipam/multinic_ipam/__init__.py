"""Addresses for pods: the geometry of pools and the store of reservations on the node."""
