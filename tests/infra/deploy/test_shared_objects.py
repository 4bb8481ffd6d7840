"""Shared objects that Lambda's runtime cannot load are detected by their ELF headers."""

from pathlib import Path

import pytest

from infra.deploy import shared_objects
from tests.infra.deploy.layer_files import shared_object

LIBC = "libc.so.6"


def problems(folder: Path, content: bytes) -> list[str]:
    (folder / "module.so").write_bytes(content)
    return list(shared_objects.problems(folder, "arm64"))


@pytest.mark.parametrize(
    ("version", "loads"),
    [
        ("GLIBC_2.2.5", True),
        ("GLIBC_2.28", True),
        ("GLIBC_2.34", True),
        ("GLIBC_2.35", False),
        ("GLIBC_ABI_DT_RELR", False),
    ],
)
def test_a_shared_object_that_needs_a_newer_glibc_is_reported(tmp_path: Path, version: str, loads: bool) -> None:
    said = [] if loads else [f"module.so needs {version}, and python3.13 has glibc 2.34"]

    assert problems(tmp_path, shared_object("aarch64", {LIBC: ["GLIBC_2.17", version]})) == said


def test_weak_symbol_versions_and_symbol_versions_of_other_libraries_are_ignored(tmp_path: Path) -> None:
    needed = {LIBC: ["GLIBC_2.17", "GLIBC_2.40"], "libgcc_s.so.1": ["GCC_4.2.0"]}

    assert problems(tmp_path, shared_object("aarch64", needed, weak=["GLIBC_2.40"])) == []


def test_a_library_that_neither_the_layer_nor_the_runtime_contains_is_reported(tmp_path: Path) -> None:
    (tmp_path / "libffi-1a2b.so.8").write_bytes(shared_object("aarch64", {LIBC: []}))
    needed = {
        name: list[str]() for name in ("libffi-1a2b.so.8", "libpthread.so.0", "ld-linux-aarch64.so.1", "libX11.so.6")
    }

    assert problems(tmp_path, shared_object("aarch64", needed)) == [
        "module.so needs libX11.so.6, which neither layer nor runtime has"
    ]


def test_a_shared_object_for_another_processor_is_reported(tmp_path: Path) -> None:
    said = problems(tmp_path, shared_object("x86_64", {LIBC: ["GLIBC_2.17"]}))

    assert said == ["module.so is for EM_X86_64, and the runtime for arm64"]


def test_shared_objects_are_recognised_by_their_content(tmp_path: Path) -> None:
    (tmp_path / "text.so").write_text("no object")
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "object").write_bytes(shared_object("aarch64", {}))

    assert [each.name for each in shared_objects.find(tmp_path)] == ["object"]
