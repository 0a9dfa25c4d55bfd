"""The frozen executable's first module: ours are imported from memory, the rest from a zip.

It stands in for PyInstaller's own import hooks, which cost every call 2 ms of CPU. The bootloader
executes it, after `multinic_modules` (written by freeze.py), before `multinic_cni/__main__.py`.
"""

from __future__ import annotations

import gc
import sys
from _frozen_importlib import ModuleSpec
from marshal import loads

from multinic_modules import MODULES

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import ModuleType


LIBRARY = f"{vars(sys)['_MEIPASS']}/library.zip"


class MemoryImporter:
    """Import what MODULES holds: no look-up, open and read of a file for each module."""

    @staticmethod
    def find_spec(name: str, _path: object = None, _target: object = None) -> ModuleSpec | None:
        """Say that a module is ours, or leave it to the next finder."""
        if name not in MODULES:
            return None
        is_package, _ = MODULES[name]
        spec = ModuleSpec(
            name,
            MemoryImporter,  # type: ignore[arg-type] # typeshed asks for importlib's base class
            origin=sys.executable,
            is_package=is_package,
        )
        if spec.submodule_search_locations is not None:
            # Where those of its modules are that only the command line imports.
            spec.submodule_search_locations.append(f"{LIBRARY}/{name.replace('.', '/')}")
        return spec

    @staticmethod
    def create_module(_spec: ModuleSpec) -> ModuleType | None:
        """Leave it to the import system, which needs the method to be there."""
        return None

    @staticmethod
    def exec_module(module: ModuleType) -> None:
        """Execute the module's code in it."""
        _, code = MODULES[module.__name__]
        exec(loads(code), module.__dict__)  # noqa: S102, S302 - code out of this executable


# A call of the plugin lives for milliseconds: collecting its cycles never pays.
gc.disable()
sys.frozen = True  # type: ignore[attr-defined] # what programs look for to know it
sys.meta_path.insert(0, MemoryImporter)
# Opened only when a module is found nowhere else, so that its index costs the plugin nothing.
sys.path.append(LIBRARY)
