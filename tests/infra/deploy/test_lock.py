"""The lock files contain every distribution with version and hashes, for every supported Python version."""

import shutil
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import pytest

from infra.deploy import lock
from infra.deploy.lock import LockFailed
from tests.infra.deployment import CONFIGURATIONS, PACKAGES, PASSWORD, pinned_versions
from tests.kit.documents import ROOT

HASHED = (lock.RUNTIME, lock.DEVELOPMENT)


def locked(name: str, folder: Path = ROOT) -> dict[str, str]:
    file = folder / f"{name}.txt"
    return {pin.name: pin.version for pin in lock.read(file).values()} if name in HASHED else pinned_versions(file)


@pytest.mark.parametrize("name", lock.LOCKS)
def test_every_requirement_is_locked_at_the_pinned_version(name: str) -> None:
    required = pinned_versions(ROOT / f"{name}.in")

    assert required.items() <= locked(name).items()


@pytest.mark.parametrize("name", HASHED)
def test_every_distribution_in_a_lock_file_has_hashes(name: str) -> None:
    assert all(pin.hashes for pin in lock.read(ROOT / f"{name}.txt").values())


def test_the_run_and_development_locks_contain_the_deployed_versions() -> None:
    runtime, run, development = map(locked, lock.LOCKS)
    deployed, tested = ({pin.name: pin.hashes for pin in lock.read(ROOT / f"{name}.txt").values()} for name in HASHED)

    assert run.items() >= runtime.items()
    assert development.items() >= run.items()
    assert tested.items() >= deployed.items()


def test_a_lock_file_contains_no_index_url(tmp_path: Path) -> None:
    for name in lock.LOCKS:
        assert "://" not in (ROOT / f"{name}.txt").read_text("utf-8")


@pytest.mark.parametrize("line", ["requests==2.0", "requests>=2", "-r other.txt"])
def test_a_requirement_line_without_a_version_and_hashes_is_refused(tmp_path: Path, line: str) -> None:
    file = tmp_path / "requirements.txt"
    file.write_text(f"{line}\n", "utf-8")

    with pytest.raises(LockFailed, match="run `make lock`"):
        lock.read(file)


def test_lock_read_selects_the_version_for_this_python(tmp_path: Path) -> None:
    file, digest = tmp_path / "requirements.txt", "0" * 64
    here, later = "python_full_version >= '3.11'", "python_full_version >= '4'"
    pins = [
        f"sample=={version} ; {marker} \\\n    --hash=sha256:{digest}\n" for version, marker in ((1, here), (2, later))
    ]
    file.write_text("".join(pins), "utf-8")

    assert lock.read(file)["sample"].version == "1"


@pytest.fixture
def index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
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
    project = folder / "project"
    project.mkdir()
    (project / f"{lock.RUNTIME}.in").write_text(f"{runtime}\n", "utf-8")
    (project / f"{lock.RUN}.in").write_text(f"-r {lock.RUNTIME}.in\n", "utf-8")
    (project / f"{lock.DEVELOPMENT}.in").write_text(f"-r {lock.RUN}.in\n{development}\n", "utf-8")
    return project


@pytest.mark.usefixtures("index")
def test_a_version_required_for_development_is_also_deployed(tmp_path: Path) -> None:
    project = requirements(tmp_path, "service==1", "shared==1")

    lock.write(project)

    assert [locked(name, project) for name in lock.LOCKS] == [{"service": "1", "shared": "1"}] * 3
    assert lock.read(project / f"{lock.DEVELOPMENT}.txt") == lock.read(project / f"{lock.RUNTIME}.txt")


@pytest.mark.usefixtures("index")
def test_lock_write_selects_the_newest_allowed_versions(tmp_path: Path) -> None:
    project = requirements(tmp_path, "service==1", "")
    lock.write(project)
    for name in lock.LOCKS:
        (project / f"{name}.txt").write_text("shared==1\n", "utf-8")

    lock.write(project)

    assert [locked(name, project)["shared"] for name in lock.LOCKS] == ["2"] * 3


@pytest.mark.usefixtures("index")
def test_make_run_refuses_a_package_without_a_matching_hash_in_the_development_lock(tmp_path: Path) -> None:
    project = requirements(tmp_path, "service==1", "")
    lock.write(project)
    development = project / f"{lock.DEVELOPMENT}.txt"
    whole = development.read_text("utf-8")
    (digest,) = lock.read(development)["shared"].hashes

    assert install(project) == ""
    development.write_text(whole.replace(digest, "0" * 64), "utf-8")
    assert f"sha256:{digest}" in install(project)
    development.write_text(whole[: whole.index("shared==")], "utf-8")
    assert "must have a hash, but none were provided for: shared==2" in install(project)


def install(project: Path) -> str:
    """Install the packages of ``make run``. Return the error message of uv, or an empty string on success."""
    packages = PACKAGES.format(set="run").split()
    command = [sys.executable, "-m", "uv", "pip", "install", "--quiet", "--target", "packages", *packages]
    done = subprocess.run(command, cwd=project, capture_output=True, text=True, check=False)
    assert (done.returncode == 0) == (done.stderr == "") == (project / "packages" / "shared-2.dist-info").exists()
    shutil.rmtree(project / "packages", ignore_errors=True)
    return " ".join(done.stderr.split())


@pytest.mark.usefixtures("index")
@pytest.mark.parametrize(
    ("runtime", "development"), [("service==1", "shared==3"), ("service==1\nunknown==1", ""), ("a package", "")]
)
def test_requirements_that_cannot_be_satisfied_leave_all_lock_files_unchanged(
    tmp_path: Path, runtime: str, development: str
) -> None:
    project = requirements(tmp_path, runtime, development)
    for name in lock.LOCKS:
        (project / f"{name}.txt").write_text("as it was\n", "utf-8")

    with pytest.raises(LockFailed, match=r"uv could not lock requirements-dev\.in"):
        lock.write(project)

    assert [(project / f"{name}.txt").read_text("utf-8") for name in lock.LOCKS] == ["as it was\n"] * 3


@pytest.mark.usefixtures("index")
def test_lock_write_uses_no_index_with_pip_no_index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("UV_OFFLINE")
    monkeypatch.setenv("PIP_NO_INDEX", "1")

    with pytest.raises(LockFailed, match="not found in the provided package locations"):
        lock.write(requirements(tmp_path, "unknown==1", ""))


@pytest.mark.usefixtures("index")
@pytest.mark.parametrize("configuration", CONFIGURATIONS)
def test_lock_errors_contain_no_index_password(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, configuration: str
) -> None:
    project = requirements(tmp_path, "unknown==1", "")
    file = tmp_path / "pip.conf"
    file.write_text(CONFIGURATIONS[configuration], "latin-1")
    monkeypatch.setenv("PIP_CONFIG_FILE", str(file))

    with pytest.raises(LockFailed) as failed:
        lock.write(project)

    assert PASSWORD not in str(failed.value)


@pytest.mark.usefixtures("index")
def test_a_failure_to_write_the_second_lock_file_leaves_all_lock_files_unchanged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
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
