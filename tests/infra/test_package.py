"""Packaging: what Chalice only warns of is an error, and functions go by the names that the policies know."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from infra import deploy, package
from infra.package import PackagingFailed

TEMPLATE = {
    "Resources": {
        "APIHandler": {
            "Type": "AWS::Serverless::Function",
            "Properties": {"Handler": "app.app", "CodeUri": "./deployment.zip"},
        },
        "Deliver": {
            "Type": "AWS::Serverless::Function",
            "Properties": {"Handler": "chalicelib.delivery.jobs.deliver", "CodeUri": "./deployment.zip"},
        },
        "Role": {"Type": "AWS::IAM::Role", "Properties": {}},
    }
}


@pytest.fixture
def chalice(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """What Chalice's command line does when it is called: ``said`` and the ``files`` that it writes."""
    script: dict[str, Any] = {"said": "", "files": {"sam.json": json.dumps(TEMPLATE), "deployment.zip": "zip"}}

    def run(command: list[str], **_: Any) -> subprocess.CompletedProcess[str]:
        project = Path(command[command.index("--project-dir") + 1])
        script["copied"] = {file.name for file in project.rglob("*")}
        if script["files"]:
            Path(command[-1]).mkdir()
        for name, content in script["files"].items():
            (Path(command[-1]) / name).write_text(content)
        return subprocess.CompletedProcess(command, 0, script["said"], "")

    monkeypatch.setattr(package.subprocess, "run", run)
    return script


def test_the_package_is_written_with_functions_named_for_their_policies(
    tmp_path: Path, chalice: dict[str, Any]
) -> None:
    written = package.package("dev", tmp_path / "build")

    assert [file.name for file in written] == ["deployment.zip", "sam.json"]
    resources = json.loads((tmp_path / "build" / "sam.json").read_text())["Resources"]
    assert resources["APIHandler"]["Properties"]["FunctionName"] == "causeway-dev"
    assert resources["Deliver"]["Properties"]["FunctionName"] == "causeway-dev-deliver"
    assert "policy-dev.json" in chalice["copied"]
    assert not chalice["copied"] & {"__pycache__", "tests", "infra"}


@pytest.mark.parametrize(
    ("address", "finished"),
    [
        ("https://dev.causeway.example", False),
        ("https://causeway.example/api", False),
        ("https://hub.example.com", True),
        ("https://notcauseway.example", True),
    ],
)
def test_a_package_with_the_placeholder_for_its_address_ends_with_a_warning(
    tmp_path: Path,
    chalice: dict[str, Any],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    address: str,
    finished: bool,
) -> None:
    config = tmp_path / "config.json"
    config.write_text(json.dumps({"stages": {"dev": {"environment_variables": {"PUBLIC_URL": address}}}}))
    monkeypatch.setattr(deploy, "CONFIG", config)

    assert package.main(["dev", str(tmp_path / "build")]) == 0
    said = capsys.readouterr().err
    assert said == "" if finished else said.startswith("causeway: warning: PUBLIC_URL of the stage dev in .chalice/")


@pytest.mark.parametrize(
    ("member", "value"),
    [
        ("said", "Could not install dependencies:\nargon2-cffi==1"),
        ("files", {}),
        ("files", {"sam.json": json.dumps(TEMPLATE)}),
    ],
)
def test_an_incomplete_package_is_an_error(tmp_path: Path, chalice: dict[str, Any], member: str, value: Any) -> None:
    chalice[member] = value
    with pytest.raises(PackagingFailed):
        package.package("dev", tmp_path / "build")
