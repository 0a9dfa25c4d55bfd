"""What goes where in the frozen executable; both spec files use it.

PyInstaller finds the modules and libraries. They are then laid out for the plugin's start, which
every call pays: our own modules go into the executable; the encodings (the interpreter looks for
the locale's while it starts) and packages with extension modules into the folder; all else into
library.zip.
"""

from __future__ import annotations
import __future__

import ast
import zipfile
from dataclasses import dataclass
from marshal import dumps
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from PyInstaller.building.api import PYZ
from PyInstaller.building.build_main import Analysis
from PyInstaller.building.utils import compile_pymodule
from PyInstaller.config import CONF
from PyInstaller.utils.hooks import collect_submodules

if TYPE_CHECKING:
    from collections.abc import Mapping

Entry = tuple[str, str, str]  # name in the bundle, file, PyInstaller's type of it

PROJECT = Path(__file__).resolve().parent.parent
SOURCE_ROOTS = {
    "multinic_cni": PROJECT,
    "multinic_ipam": PROJECT / "ipam",
    "multinic_selectors": PROJECT / "selectors",
}
OPTIMIZE = 1  # 2 would strip the docstrings, which are the command line's help
WITHOUT_DOCSTRINGS = 2

# Reached by some import that never runs here. They are a third of the bundle.
UNUSED = [
    "_hashlib",  # hashlib falls back on built-in modules; this one needs libcrypto
    "_ssl",
    "asyncio",
    "curses",
    "distutils",
    "ftplib",
    "http",
    "lib2to3",
    "multiprocessing",
    "pydantic.mypy",
    "pydantic.v1",
    "pydoc",
    "setuptools",
    "sqlite3",
    "ssl",
    "test",
    "tkinter",
    "unittest",
    "xmlrpc",
]
FOR_PEOPLE = (
    "multinic_cni.admin",
    "multinic_cni.cli",
    "multinic_cni.conf.address_models",
    "multinic_cni.conf.model_words",
    "multinic_cni.conf.models",
    "multinic_cni.conf.routing_models",
    "multinic_ipam.preview",
)
# Imported by names that typer's shell completion computes.
COMPUTED = ["shellingham.posix"]
# rich colours JSON and tracebacks with these; pygments has five hundred more, 3 MB of them.
LEXERS = {
    "pygments.lexers",
    *(f"pygments.lexers.{name}" for name in ("_mapping", "data", "python")),
}

# For EXE's `cdict`, which lists the types of entries to compress: inflating would cost every start
# of the single file 50 ms of CPU, to save 9 MB of disk.
NOTHING: dict[str, bool] = {}


@dataclass(frozen=True)
class Parts:
    """The contents: `pyz` and `scripts` in the executable, `binaries` and `files` in its folder."""

    pyz: PYZ
    scripts: list[Entry]
    binaries: list[Entry]
    files: list[Entry]


def parts() -> Parts:
    """Find everything that the executable needs and lay it out."""
    analysis = Analysis(
        [str(PROJECT / "multinic_cni" / "__main__.py")],
        pathex=[str(root) for root in SOURCE_ROOTS.values()],
        hiddenimports=[*own_modules(), *COMPUTED, *collect_submodules("rich._unicode_data")],
        excludes=[*UNUSED, *(set(collect_submodules("pygments.lexers")) - LEXERS)],
        noarchive=True,
        optimize=OPTIMIZE,
    )
    in_folder = {"encodings"} | {
        PurePosixPath(name).parts[0]
        for name, _, kind in analysis.binaries
        if kind == "EXTENSION" and "/" in name
    }
    own, zipped, files = [], [], []
    for entry in sorted(analysis.datas):
        name = PurePosixPath(entry[0])
        package = name.parts[0].removesuffix(".pyc")
        if name.suffix != ".pyc" or package in in_folder:
            files.append(entry)
        elif package in SOURCE_ROOTS and not is_for_people(name):
            own.append(entry)
        elif package != "__future__":
            zipped.append(entry)
    files.append(("library.zip", library(zipped), "DATA"))
    return Parts(start_modules(own), analysis.scripts[-1:], analysis.binaries, files)


def is_for_people(path: PurePosixPath) -> bool:
    """Tell whether only the command line imports a module: each start reads all the others."""
    name = module_name(path)
    return any(f"{name}.".startswith(f"{each}.") for each in FOR_PEOPLE)


def own_modules() -> list[str]:
    """Name every module of ours: no analysis finds those that are imported by a computed name."""
    return [
        module_name(path.relative_to(root))
        for package, root in SOURCE_ROOTS.items()
        for path in sorted((root / package).rglob("*.py"))
    ]


def module_name(path: Path | PurePosixPath) -> str:
    """Turn a file's path below its source root into the name that is imported."""
    return ".".join(path.with_suffix("").parts).removesuffix(".__init__")


def library(entries: list[Entry]) -> str:
    """Write the modules that only the command line imports into one zip, without dates."""
    path = Path(CONF["workpath"]) / "library.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, source, _ in entries:
            archive.writestr(zipfile.ZipInfo(name), Path(source).read_bytes(), zipfile.ZIP_DEFLATED)
    return str(path)


def needed_by(source: PurePosixPath, own: Mapping[str, object]) -> tuple[str, ...]:
    """Return which modules of our own a module imports at its top, in order."""
    named: list[str] = []
    for statement in ast.parse(text_of(source)).body:
        if isinstance(statement, ast.Import):
            named += [each.name for each in statement.names]
        elif isinstance(statement, ast.ImportFrom) and statement.module:
            named.append(statement.module)
            named += [f"{statement.module}.{each.name}" for each in statement.names]
    return tuple(dict.fromkeys(name for name in named if name in own))


def code_of(source: PurePosixPath) -> bytes:
    """Compile a module of ours without docstrings, which a runtime's call would only read."""
    code = compile(
        text_of(source), str(source), "exec", dont_inherit=True, optimize=WITHOUT_DOCSTRINGS
    )
    return dumps(code)


def text_of(source: PurePosixPath) -> bytes:
    return (SOURCE_ROOTS[source.parts[0]] / source).read_bytes()


def start_modules(own: list[Entry]) -> PYZ:
    """Replace PyInstaller's import hooks by ours.

    The bootloader insists on an archive of modules, so there is an empty one. What it executes
    before the program are that archive's `dependencies`.
    """
    sources_of_own = {
        module_name(PurePosixPath(name)): PurePosixPath(name).with_suffix(".py")
        for name, _, _ in own
    }
    table = {
        name: (source.name == "__init__.py", needed_by(source, sources_of_own), code_of(source))
        for name, source in sources_of_own.items()
    }
    generated = Path(CONF["workpath"]) / "multinic_modules.py"
    generated.write_text(f"MODULES = {table!r}\n", encoding="utf-8")
    sources = {
        "__future__": __future__.__file__,
        "multinic_modules": str(generated),
        "multinic_bootstrap": str(PROJECT / "packaging" / "multinic_bootstrap.py"),
    }
    pyz = PYZ([])
    pyz.dependencies = [
        (name, compile_pymodule(name, source, CONF["workpath"], OPTIMIZE), "PYMODULE")
        for name, source in sources.items()
    ]
    return pyz
