# Written by packaging/freeze.py into the frozen executable.
MODULES: dict[str, tuple[bool, tuple[str, ...], bytes]]
