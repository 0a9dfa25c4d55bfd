"""Machines that nobody has: descriptions, and the trees of files that are made from them."""
