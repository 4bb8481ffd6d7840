"""Reads the requirements of a layer's shared objects (libraries and glibc versions) from their ELF headers."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from elftools.elf.dynamic import DynamicSection
from elftools.elf.elffile import ELFFile
from elftools.elf.gnuversions import GNUVerNeedSection

from infra.deploy import runtime

_MAGIC = b"\x7fELF"
_MACHINES = {"aarch64": "EM_AARCH64", "x86_64": "EM_X86_64"}
_WEAK = 2
"""The flag ``VER_FLG_WEAK``: the loader accepts a library that lacks the version."""
_SYSTEM = re.compile(r"(libc|libm|libpthread|libdl|librt|libutil|libgcc_s|ld-linux-[\w-]+)\.so\.\d")
"""The libraries of the Lambda runtime that a layer may use: the libraries of glibc and of GCC."""


def find(folder: Path) -> list[Path]:
    """Find all shared objects below ``folder``, identified by their content."""
    return [path for path in sorted(folder.rglob("*")) if path.is_file() and _is_elf(path)]


def _is_elf(path: Path) -> bool:
    with path.open("rb") as file:
        return file.read(len(_MAGIC)) == _MAGIC


def problems(folder: Path, processor: str) -> Iterator[str]:
    """Return the reasons why shared objects below ``folder`` would not load in Lambda, as sentences without full stops.

    Args:
        processor: ``arm64`` or ``x86_64``.
    """
    objects = find(folder)
    glibc = ".".join(map(str, runtime.GLIBC))
    there = {path.name for path in objects}
    for path in objects:
        name = path.relative_to(folder).as_posix()
        with path.open("rb") as file:
            elf = ELFFile(file)
            if elf["e_machine"] != _MACHINES[runtime.MACHINES[processor]]:
                yield f"{name} is for {elf['e_machine']}, and the runtime for {processor}"
            for library in needed_libraries(elf):
                if library not in there and not _SYSTEM.fullmatch(library):
                    yield f"{name} needs {library}, which neither layer nor runtime has"
            for version in needed_glibc(elf):
                if not _has(version):
                    yield f"{name} needs {version}, and python{runtime.PYTHON} has glibc {glibc}"


def needed_libraries(elf: ELFFile) -> list[str]:
    """Return the libraries with which a shared object is linked (``DT_NEEDED``)."""
    sections = [section for section in elf.iter_sections() if isinstance(section, DynamicSection)]
    tags: list[Any] = [tag for section in sections for tag in section.iter_tags("DT_NEEDED")]
    return [tag.needed for tag in tags]


def needed_glibc(elf: ELFFile) -> list[str]:
    """Return the glibc versions that a shared object requires (``.gnu.version_r``), without weak requirements."""
    sections = [section for section in elf.iter_sections() if isinstance(section, GNUVerNeedSection)]
    needed = [each for section in sections for _, versions in section.iter_versions() for each in versions]
    return sorted({each.name for each in needed if each.name.startswith("GLIBC_") and not each["vna_flags"] & _WEAK})


def _has(version: str) -> bool:
    """Return whether the runtime's glibc has a symbol version. ``GLIBC_ABI_DT_RELR`` is a feature of glibc 2.36."""
    found = re.fullmatch(r"GLIBC_(\d+)\.(\d+)(?:\.\d+)?", version)
    return found is not None and (int(found[1]), int(found[2])) <= runtime.GLIBC
