"""Chalice runs on a complete copy of the application and changes nothing in the project."""

import json
import os
import re
import subprocess
import zipfile
from pathlib import Path
from typing import Any

import pytest

from infra.deploy import archive, chalice_command, layer, runtime
from infra.deploy.archive import CompileFailed
from infra.deploy.chalice_command import ChaliceFailed
from infra.deploy.layer import LayerFailed
from infra.deploy.lock import LockFailed

RENDERED = "chalicelib/website/rendered/openapi/tpp.json"
"""A file that git ignores and that every package contains."""


class Chalice:
    """A fake Chalice command that records its calls. The command prints ``said``, writes the files in ``wrote`` and
    returns the exit code ``code``.
    """

    def __init__(self) -> None:
        self.said, self.code, self.wrote = "", 0, {"sam.json": "{}", "deployment.zip": "zip"}
        self.calls: list[list[str]] = []
        self.environments: list[dict[str, str]] = []
        self.copied: set[str] = set()
        self.layers: list[tuple[Path, str]] = []

    def build_layer(self, file: Path, processor: str) -> None:
        self.layers.append((file, processor))
        file.touch()

    def __call__(self, command: list[str], *, env: dict[str, str], **_: Any) -> subprocess.CompletedProcess[str]:
        arguments = command[len(chalice_command.COMMAND) :]
        project = Path(arguments[1])
        self.copied = {str(file.relative_to(project)) for file in project.rglob("*")}
        self.calls.append(arguments[2:])
        self.environments.append(env)
        if arguments[2] == "package" and self.wrote:
            Path(arguments[-1]).mkdir()
            for name, content in self.wrote.items():
                (Path(arguments[-1]) / name).write_text(content)
            (project / ".chalice" / "deployments" / "built.zip").touch()
        return subprocess.CompletedProcess(command, self.code, self.said, "")


@pytest.fixture
def chalice(monkeypatch: pytest.MonkeyPatch) -> Chalice:
    """Replace Chalice's command and simulate the deployed Python version, without downloads and compilation."""
    called = Chalice()
    monkeypatch.setattr(subprocess, "run", called)
    monkeypatch.setattr(runtime, "check_python", lambda: None)
    monkeypatch.setattr(archive, "compile_modules", lambda folder, place: None)
    monkeypatch.setattr(layer, "build", lambda root, processor, file: called.build_layer(file, processor))
    return called


@pytest.fixture(autouse=True)
def root(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """Create a project with files to copy and files to omit."""
    place = tmp_path / "project"
    names = (
        "app.py",
        "chalicelib/a.py",
        "chalicelib/__pycache__/a.pyc",
        RENDERED,
        ".chalice/policy-dev.json",
        "infra/b.py",
    )
    for name in names:
        (place / name).parent.mkdir(parents=True, exist_ok=True)
        (place / name).touch()
    for name in ("requirements.txt", "requirements.in"):
        (place / name).touch()
    config = {"lambda_architecture": "arm64", "stages": {"dev": {}, "prod": {"lambda_architecture": "x86_64"}}}
    (place / ".chalice" / "config.json").write_text(json.dumps(config))
    monkeypatch.setattr(chalice_command, "ROOT", place)
    return place


def test_the_project_copy_has_only_application_files_and_is_removed(chalice: Chalice, tmp_path: Path) -> None:
    with chalice_command.project_copy() as project:
        chalice_command.package(project, "dev", tmp_path / "out")

    files = {name for name in chalice.copied if "." in Path(name).name and name != ".chalice"}
    included = {"app.py", "requirements.txt", "requirements.in", "chalicelib/a.py", RENDERED}
    assert files == included | {".chalice/policy-dev.json", ".chalice/config.json"}
    assert not project.exists()


def test_chalice_build_and_deployment_files_are_stored_in_the_original_project(
    chalice: Chalice, root: Path, tmp_path: Path
) -> None:
    with chalice_command.project_copy() as project:
        chalice_command.package(project, "dev", tmp_path / "out")
        (project / ".chalice" / "deployed" / "dev.json").write_text("{}")

    assert (root / ".chalice" / "deployments" / "built.zip").is_file()
    assert chalice_command.is_recorded("dev")
    assert not chalice_command.is_recorded("prod")


def test_api_id_returns_the_rest_api_id_recorded_by_chalice(root: Path) -> None:
    deployed = root / ".chalice" / "deployed"
    deployed.mkdir()
    made = [{"resource_type": "lambda_function"}, {"resource_type": "rest_api", "rest_api_id": "abc"}]
    for stage, resources in (("dev", made), ("prod", made[:1])):
        (deployed / f"{stage}.json").write_text(json.dumps({"resources": resources}))

    assert chalice_command.api_id("dev") == "abc"
    assert chalice_command.api_id("prod") is None
    assert chalice_command.api_id("test") is None


def test_the_function_and_the_layer_are_built_for_the_processor_of_the_stage(
    chalice: Chalice, root: Path, tmp_path: Path
) -> None:
    built = root / ".chalice" / "deployments"
    built.mkdir()
    (built / "appcode-1.zip").touch()
    with chalice_command.project_copy() as project:
        for stage in ("dev", "prod"):
            chalice_command.package(project, stage, tmp_path / stage)

    ((layer_file, processor), (_, other)) = chalice.layers
    assert (processor, other) == ("arm64", "x86_64")
    assert (built / layer_file.name).is_file()
    assert re.fullmatch(r"managed-layer-[0-9a-f]+-python3\.13-arm64\.zip", layer_file.name)
    (function,) = built.glob("appcode-*.zip")
    with zipfile.ZipFile(function) as file:
        assert file.namelist() == ["app.py", "chalice/__init__.py", "chalice/app.py", "chalicelib/a.py", RENDERED]


@pytest.mark.parametrize(("said", "code", "wrote"), [("an error", 2, {"sam.json": "{}"}), ("", 0, {})])
def test_packaging_raises_an_error_if_chalice_fails_or_writes_no_template(
    chalice: Chalice, tmp_path: Path, said: str, code: int, wrote: dict[str, str]
) -> None:
    chalice.said, chalice.code, chalice.wrote = said, code, wrote

    with pytest.raises(ChaliceFailed, match=said or None), chalice_command.project_copy() as project:
        chalice_command.package(project, "dev", tmp_path / "out")


@pytest.mark.parametrize("error", [LayerFailed, LockFailed, CompileFailed])
def test_a_failed_layer_build_raises_an_error_before_chalice_starts(
    chalice: Chalice, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: type[Exception]
) -> None:
    def fail(*_: object) -> None:
        raise error("no wheel")

    monkeypatch.setattr(layer, "build", fail)

    with pytest.raises(ChaliceFailed, match="no wheel"), chalice_command.project_copy() as project:
        chalice_command.package(project, "dev", tmp_path / "out")
    assert chalice.calls == []


def test_packaging_with_another_python_version_is_refused(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(runtime, "PYTHON", "3.9")

    with pytest.raises(ChaliceFailed, match=r"stages run on Python 3\.9.*use `make package`"):
        chalice_command.package(tmp_path, "dev", tmp_path / "out")


def test_an_incomplete_package_is_not_deployed(chalice: Chalice) -> None:
    chalice.wrote = {}

    with pytest.raises(ChaliceFailed), chalice_command.project_copy() as project:
        chalice_command.deploy(project, "dev")
    assert [call[0] for call in chalice.calls] == ["package"]


def test_deploy_uses_the_region_of_the_operator_and_package_uses_a_fixed_region(
    chalice: Chalice, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("AWS_DEFAULT_REGION")
    with chalice_command.project_copy() as project:
        chalice_command.deploy(project, "prod")

    assert [call[:3] for call in chalice.calls] == [["package", "--stage", "prod"], ["deploy", "--stage", "prod"]]
    assert [given.get("AWS_DEFAULT_REGION") for given in chalice.environments] == [chalice_command.REGION, None]
    assert chalice.environments[1] == dict(os.environ)


def test_a_failed_deployment_raises_chalice_failed(chalice: Chalice, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chalice_command, "package", lambda *_: None)
    chalice.code = 2

    with pytest.raises(ChaliceFailed, match="ended with exit code 2"), chalice_command.project_copy() as project:
        chalice_command.deploy(project, "dev")


@pytest.mark.parametrize(
    ("address", "finished"),
    [
        ("https://dev.causeway.example", False),
        ("https://causeway.example/dev", False),
        ("https://hub.example.com", True),
        ("https://notcauseway.example", True),
    ],
)
def test_placeholder_public_urls_are_recognised(root: Path, address: str, finished: bool) -> None:
    stages = {"dev": {"environment_variables": {"PUBLIC_URL": address}}}
    (root / ".chalice" / "config.json").write_text(json.dumps({"stages": stages}))

    problem = chalice_command.find_placeholder("dev")
    assert problem is None if finished else str(problem).endswith(address)
