"""Strategies that choose by more than order, a file each."""
