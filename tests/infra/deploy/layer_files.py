"""Test helpers for the Lambda layer: the imports of installed libraries, and generated shared objects."""

from __future__ import annotations

import ast
import re
import struct
import sysconfig
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from importlib.metadata import files
from pathlib import Path

from infra.deploy import layer, runtime
from tests.kit.source_code import MODULES, ROOT, parse, tree

LIBRARIES = Path(sysconfig.get_path("purelib"))
_MODULE_NAME = re.compile(r"\.?[a-z_]\w*(\.\w+)+")


@cache
def _sources() -> frozenset[str]:
    """Return the Python sources of the layer's distributions, as paths below ``site-packages``."""
    names = layer.pinned(ROOT, next(iter(runtime.MACHINES)))
    return frozenset(str(file) for name in names for file in files(name) or () if file.suffix == ".py")


@cache
def file_of(module: str) -> str | None:
    """Return the path of a module below ``site-packages``, or ``None`` if the layer does not contain it."""
    path = module.replace(".", "/")
    return next((name for name in (f"{path}/__init__.py", f"{path}.py") if name in _sources()), None)


def used_modules() -> list[str]:
    """Return the library modules that the service imports at any time, each with the package of the module."""
    return sorted({name for module in MODULES for name in imports_of(tree(module))})


def ways_to(left_out: Callable[[str], bool], modules: Iterable[str]) -> dict[str, set[str]]:
    """Map each omitted module to the modules that import the omitted module anywhere, including in functions.

    The search starts with ``modules`` and follows all imports except the imports of omitted modules.
    """
    found: dict[str, set[str]] = {}
    pending, seen = list(modules), set(modules)
    while pending:
        importer = pending.pop()
        for module in imports(importer):
            if left_out(file_of(module) or ""):
                found.setdefault(module, set()).add(importer)
            elif module not in seen:
                seen.add(module)
                pending.append(module)
    return found


@cache
def imports(module: str) -> frozenset[str]:
    """Return the library modules that a library module imports (see ``imports_of``).

    A string with a module's name counts, because libraries import by name. Imports for type checkers do not count.
    """
    file = file_of(module)
    if file is None:
        return frozenset()
    package = module if file.endswith("/__init__.py") else module.rpartition(".")[0]
    return imports_of(parse((LIBRARIES / file).read_text(encoding="utf-8")), package)


def imports_of(module: ast.Module, package: str = "") -> frozenset[str]:
    parts = (name.split(".") for name in _named(module, package))
    found = (".".join(each[:end]) for each in parts for end in range(1, len(each) + 1))
    return frozenset(name for name in found if file_of(name))


def _named(node: ast.AST, package: str) -> Iterator[str]:
    match node:
        case ast.Import(names=names):
            yield from (each.name for each in names)
        case ast.ImportFrom(module=source, names=names, level=level):
            start = [".".join(package.split(".")[: len(package.split(".")) - level + 1])] if level else []
            origin = ".".join([*start, *([source] if source else [])])
            yield from (origin, *(f"{origin}.{each.name}" for each in names))
        case ast.Constant(value=str(text)) if _MODULE_NAME.fullmatch(text) or text.startswith("."):
            yield f"{package}{text}" if text.startswith(".") else text
        case ast.If(test=ast.Name(id="TYPE_CHECKING") | ast.Attribute(attr="TYPE_CHECKING"), orelse=otherwise):
            for statement in otherwise:
                yield from _named(statement, package)
        case _:
            for each in ast.iter_child_nodes(node):
                yield from _named(each, package)


MACHINES = {"aarch64": 183, "x86_64": 62}
WEAK = 2
_STRTAB, _DYNAMIC, _VERNEED = 3, 6, 0x6FFFFFFE
_NEEDED = 1
_HEADER, _SECTION = 64, 64


class _Strings:
    """An ELF string table."""

    def __init__(self) -> None:
        self.content = b"\0"

    def add(self, text: str) -> int:
        place = len(self.content)
        self.content += text.encode() + b"\0"
        return place


def shared_object(machine: str, needed: Mapping[str, Sequence[str]], weak: Sequence[str] = ()) -> bytes:
    """Return an ELF file for ``machine`` (Linux's name) with required library versions. The versions in ``weak`` are
    optional.
    """
    strings, names = _Strings(), _Strings()
    versions = b""
    versioned = {library: wanted for library, wanted in needed.items() if wanted}
    for position, (library, wanted) in enumerate(versioned.items()):
        after = 16 + 16 * len(wanted) if position < len(versioned) - 1 else 0
        versions += struct.pack("<HHIII", 1, len(wanted), strings.add(library), 16, after)
        for index, name in enumerate(wanted):
            flags = WEAK if name in weak else 0
            last = index == len(wanted) - 1
            versions += struct.pack("<IHHII", 0, flags, index + 2, strings.add(name), 0 if last else 16)
    dynamic = b"".join(struct.pack("<QQ", _NEEDED, strings.add(library)) for library in needed) + bytes(16)
    contents = [
        (".dynstr", _STRTAB, strings.content, 0, 0),
        (".dynamic", _DYNAMIC, dynamic, 1, 16),
        (".gnu.version_r", _VERNEED, versions, 1, 0),
    ]
    headers, body = bytes(_SECTION), b""
    for name, kind, content, link, size in contents:
        count = len(versioned) if kind == _VERNEED else 0
        place = names.add(name)
        headers += struct.pack(
            "<IIQQQQIIQQ", place, kind, 0, 0, _HEADER + len(body), len(content), link, count, 1, size
        )
        body += content
    place = names.add(".shstrtab")
    headers += struct.pack("<IIQQQQIIQQ", place, _STRTAB, 0, 0, _HEADER + len(body), len(names.content), 0, 0, 1, 0)
    body += names.content
    start = _HEADER + len(body)
    identity = b"\x7fELF" + bytes([2, 1, 1]) + bytes(9)
    return (
        identity
        + struct.pack("<HHIQQQIHHHHHH", 3, MACHINES[machine], 1, 0, 0, start, 0, 64, 56, 0, 64, 5, 4)
        + body
        + headers
    )
