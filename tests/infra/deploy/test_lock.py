"""The lock of requirements: every distribution with its version and hashes, for every supported version of Python."""

from __future__ import annotations

import re
import subprocess
import zipfile
from pathlib import Path
from typing import Any

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from infra.deploy import lock
from infra.deploy.lock import LockFailed
from tests.documents import ROOT

each_lock = pytest.mark.parametrize("name", lock.LOCKS)


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


def test_tests_and_make_run_use_what_is_deployed() -> None:
    locks = [lock.read(ROOT / f"{name}.txt") for name in lock.LOCKS]
    runtime, run, development = ({pin.name: (pin.version, pin.hashes) for pin in pins.values()} for pins in locks)

    assert run.items() >= runtime.items()
    assert development.items() >= run.items()


def test_a_lock_names_no_index(tmp_path: Path) -> None:
    for name in lock.LOCKS:
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


@pytest.fixture
def index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """All distributions that uv finds: ``service`` 1, which needs ``shared``, and two versions of ``shared``."""
    folder = tmp_path / "index"
    folder.mkdir()
    for name, version, needs in (("service", 1, "Requires-Dist: shared\n"), ("shared", 1, ""), ("shared", 2, "")):
        metadata = f"{name}-{version}.dist-info"
        with zipfile.ZipFile(folder / f"{name}-{version}-py3-none-any.whl", "w") as wheel:
            wheel.writestr(f"{metadata}/METADATA", f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n{needs}")
            wheel.writestr(f"{metadata}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
            wheel.writestr(f"{metadata}/RECORD", "")
    monkeypatch.setenv("UV_OFFLINE", "1")
    monkeypatch.setenv("UV_FIND_LINKS", str(folder))


def requirements(folder: Path, runtime: str, development: str) -> Path:
    """A project with these requirements, in ``folder``."""
    project = folder / "project"
    project.mkdir()
    (project / f"{lock.RUNTIME}.in").write_text(f"{runtime}\n", "utf-8")
    (project / f"{lock.RUN}.in").write_text(f"-r {lock.RUNTIME}.in\n", "utf-8")
    (project / f"{lock.DEVELOPMENT}.in").write_text(f"-r {lock.RUN}.in\n{development}\n", "utf-8")
    return project


@pytest.mark.usefixtures("index")
def test_a_version_that_development_requires_is_deployed_too(tmp_path: Path) -> None:
    project = requirements(tmp_path, "service==1", "shared==1")

    lock.write(project)

    runtime, run, development = (lock.read(project / f"{name}.txt") for name in lock.LOCKS)
    assert {name: pin.version for name, pin in runtime.items()} == {"service": "1", "shared": "1"}
    assert development == run == runtime


@pytest.mark.usefixtures("index")
def test_versions_are_the_newest_that_the_requirements_allow(tmp_path: Path) -> None:
    project = requirements(tmp_path, "service==1", "")
    lock.write(project)
    for name in lock.LOCKS:
        (project / f"{name}.txt").write_text("shared==1\n", "utf-8")

    lock.write(project)

    assert [lock.read(project / f"{name}.txt")["shared"].version for name in lock.LOCKS] == ["2"] * 3


@pytest.mark.usefixtures("index")
@pytest.mark.parametrize(
    ("runtime", "development"), [("service==1", "shared==3"), ("service==1\nunknown==1", ""), ("a package", "")]
)
def test_all_locks_stay_as_they_were_if_requirements_have_no_solution(
    tmp_path: Path, runtime: str, development: str
) -> None:
    project = requirements(tmp_path, runtime, development)
    for name in lock.LOCKS:
        (project / f"{name}.txt").write_text("as it was\n", "utf-8")

    with pytest.raises(LockFailed, match=r"uv could not lock requirements-dev\.in"):
        lock.write(project)

    assert [(project / f"{name}.txt").read_text("utf-8") for name in lock.LOCKS] == ["as it was\n"] * 3


@pytest.mark.usefixtures("index")
def test_all_locks_stay_as_they_were_if_only_the_second_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    project = requirements(tmp_path, "service==1", "shared==1")
    for name in lock.LOCKS:
        (project / f"{name}.txt").write_text("as it was\n", "utf-8")
    runs, run = [], subprocess.run

    def stop_second(*arguments: Any, **options: Any) -> subprocess.CompletedProcess[str]:
        runs.append(arguments)
        return (
            run(*arguments, **options) if len(runs) == 1 else subprocess.CompletedProcess([], 1, "", "uv was stopped")
        )

    monkeypatch.setattr(subprocess, "run", stop_second)
    with pytest.raises(LockFailed, match="uv was stopped"):
        lock.write(project)

    assert [(project / f"{name}.txt").read_text("utf-8") for name in lock.LOCKS] == ["as it was\n"] * 3
