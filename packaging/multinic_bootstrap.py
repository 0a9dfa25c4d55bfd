"""The frozen executable's first module: ours are imported from memory, the rest from a zip.

It stands in for PyInstaller's own import hooks, which cost every call 2 ms of CPU, and for most of
importlib's work: a call imports about eighty modules of ours. The bootloader executes it, after
`multinic_modules` (written by freeze.py), before `multinic_cni/__main__.py`.
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
Module = type(sys)


class MemoryImporter:
    """Import what MODULES holds: no look-up, open and read of a file for each module."""

    @staticmethod
    def find_spec(name: str, _path: object = None, _target: object = None) -> ModuleSpec | None:
        """Say that a module is ours, or leave it to the next finder."""
        if name not in MODULES:
            return None
        is_package, _, _ = MODULES[name]
        return spec_of(name, is_package=is_package)

    @staticmethod
    def create_module(_spec: ModuleSpec) -> ModuleType | None:
        """Leave it to the import system, which needs the method to be there."""
        return None

    @staticmethod
    def exec_module(module: ModuleType) -> None:
        """Execute the module's code in it, after what it imports at its top."""
        _, needed, code = MODULES[module.__name__]
        for name in needed:
            provide(name)
        exec(loads(code), module.__dict__)  # noqa: S102, S302 - code out of this executable


def spec_of(name: str, *, is_package: bool) -> ModuleSpec:
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


def provide(name: str) -> None:
    """Do what `import` would, without locks, specs and finders: an eighth of an ADD's CPU.

    There is one thread, and our modules do not import each other in circles (import-linter's
    layers); the import statement finds them in sys.modules and asks no more.
    """
    if name in sys.modules:
        return
    parent, _, child = name.rpartition(".")
    if parent:
        provide(parent)
    is_package, needed, code = MODULES[name]
    for other in needed:
        provide(other)
    if name in sys.modules:
        return
    module = Module(name)
    module.__package__ = name if is_package else parent
    if is_package:
        module.__spec__ = spec_of(name, is_package=True)
        module.__path__ = module.__spec__.submodule_search_locations or []
    sys.modules[name] = module
    try:
        exec(loads(code), module.__dict__)  # noqa: S102, S302 - code out of this executable
    except BaseException:
        del sys.modules[name]
        raise
    if parent:
        setattr(sys.modules[parent], child, module)


# A call of the plugin lives for milliseconds: collecting its cycles never pays.
gc.disable()
sys.frozen = True  # type: ignore[attr-defined] # what programs look for to know it
sys.meta_path.insert(0, MemoryImporter)
# Opened only when a module is found nowhere else, so that its index costs the plugin nothing.
sys.path.append(LIBRARY)
