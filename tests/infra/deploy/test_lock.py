"""The lock of requirements: every distribution with its version and hashes, for every supported version of Python."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from infra.deploy import lock
from infra.deploy.lock import LockFailed
from tests.documents import ROOT

LOCKS = [lock.RUNTIME, lock.DEVELOPMENT]
each_lock = pytest.mark.parametrize("name", LOCKS)


def required(name: str) -> dict[str, str]:
    """The requirements of an ``.in`` file, by normalised name, with their versions."""
    lines = [line for line in (ROOT / f"{name}.in").read_text("utf-8").splitlines() if re.match(r"\w", line)]
    return {canonicalize_name(each.name): str(each.specifier)[2:] for each in map(Requirement, lines)}


@each_lock
def test_every_requirement_is_locked_in_its_version(name: str) -> None:
    pins = lock.read(ROOT / f"{name}.txt")

    assert {each: pins[each].version for each in required(name)} == required(name)


@each_lock
def test_every_distribution_of_a_lock_has_hashes(name: str) -> None:
    assert all(pin.hashes for pin in lock.read(ROOT / f"{name}.txt").values())


def test_tests_run_with_what_is_deployed() -> None:
    runtime, development = (lock.read(ROOT / f"{name}.txt") for name in LOCKS)

    assert {name: development[name] for name in runtime} == runtime


def test_a_lock_names_no_index(tmp_path: Path) -> None:
    for name in LOCKS:
        assert "://" not in (ROOT / f"{name}.txt").read_text("utf-8")


@pytest.mark.parametrize("line", ["requests==2.0", "requests>=2", "-r other.txt"])
def test_a_line_without_a_version_and_hashes_is_refused(tmp_path: Path, line: str) -> None:
    file = tmp_path / "requirements.txt"
    file.write_text(f"{line}\n", "utf-8")

    with pytest.raises(LockFailed, match="run `make lock`"):
        lock.read(file)


def test_of_two_versions_the_one_for_this_python_is_read(tmp_path: Path) -> None:
    file, digest = tmp_path / "requirements.txt", "0" * 64
    here, later = "python_full_version >= '3.11'", "python_full_version >= '4'"
    pins = [
        f"sample=={version} ; {marker} \\\n    --hash=sha256:{digest}\n" for version, marker in ((1, here), (2, later))
    ]
    file.write_text("".join(pins), "utf-8")

    assert lock.read(file)["sample"].version == "1"


def test_a_requirement_that_cannot_be_locked_is_told(tmp_path: Path) -> None:
    (tmp_path / f"{lock.RUNTIME}.in").write_text("a package\n", "utf-8")

    with pytest.raises(LockFailed, match=r"uv could not lock requirements\.in"):
        lock.write(tmp_path)
    assert not (tmp_path / f"{lock.RUNTIME}.txt").exists()
