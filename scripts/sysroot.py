"""Write the tree of a machine that is described in a file of tests/machines.

python scripts/sysroot.py DESCRIPTION DIR    DIR gets sys/, proc/, ip-link.json and so on, as
                                             `multinic-cni nics --sysroot DIR` reads them

The language stands in scripts/machines/description.py, its words in scripts/machines/model.py.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

PROJECT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(PROJECT)]

from scripts.machines import kernel  # noqa: E402 - the path must be set first
from scripts.machines.description import DescriptionError, parse  # noqa: E402 - the same
from scripts.machines.model import Machine  # noqa: E402 - the same
from scripts.machines.tree import Tree  # noqa: E402 - the same


def write_sysroot(description: str, folder: Path) -> Machine:
    """Write a machine's files below a folder; raises DescriptionError."""
    machine = Machine(parse(description))
    Tree(folder).write(machine)
    kernel.write(machine, folder)
    nodename = folder / "proc/sys/kernel/hostname"
    nodename.parent.mkdir(parents=True, exist_ok=True)
    nodename.write_text(f"{machine.name}\n")
    return machine


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else "")
    parser.add_argument("description", type=Path, help="such as tests/machines/laptop.machine")
    parser.add_argument("folder", type=Path, help="a folder that is empty or not there yet")
    arguments = parser.parse_args()
    if arguments.folder.exists() and any(arguments.folder.iterdir()):
        print(f"sysroot: {arguments.folder} is not empty", file=sys.stderr)
        return 1
    try:
        write_sysroot(arguments.description.read_text(), arguments.folder)
    except (DescriptionError, OSError, UnicodeDecodeError) as error:
        print(f"sysroot: {arguments.description}: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
