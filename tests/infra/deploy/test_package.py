"""Packaging writes the template of a stage with all files that the template refers to. After an error, packaging writes
no
files.
"""

import copy
import json
from pathlib import Path
from typing import Any

import pytest

from infra.deploy import chalice_command, package
from infra.deploy.chalice_command import ChaliceFailed
from tests.infra.deployment import APPLICATION


@pytest.fixture
def chalice(monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """Replace the packaging command of Chalice. Return the files that the fake command writes."""
    made: dict[str, Any] = copy.deepcopy(APPLICATION)
    made["Resources"]["APIHandler"]["Properties"]["CodeUri"] = "./deployment.zip"
    files = {"sam.json": json.dumps(made), "deployment.zip": "zip"}

    def write(project: Path, stage: str, out: Path) -> None:
        out.mkdir()
        for name, content in files.items():
            (out / name).write_text(content)

    monkeypatch.setattr(chalice_command, "package", write)
    return files


@pytest.mark.usefixtures("chalice")
def test_the_package_command_writes_the_template_the_archive_and_the_sbom(tmp_path: Path) -> None:
    written = package.package("dev", tmp_path / "build")

    assert [file.name for file in written] == ["deployment.zip", "sam.json", "sbom.json"]
    resources = json.loads((tmp_path / "build" / "sam.json").read_text())["Resources"]
    assert resources["APIHandler"]["Properties"]["FunctionName"] == "causeway-dev"
    assert "ClientsTable" in resources
    packages = {each["name"] for each in json.loads((tmp_path / "build" / "sbom.json").read_text())["components"]}
    assert {"boto3", "botocore", "chalice", "cryptography"} <= packages
    assert packages.isdisjoint({"pip", "setuptools", "flask", "moto", "pytest"})


def test_packaging_without_an_archive_raises_an_error(tmp_path: Path, chalice: dict[str, str]) -> None:
    del chalice["deployment.zip"]

    with pytest.raises(ChaliceFailed, match=r"APIHandler refers to \./deployment\.zip, which was not written"):
        package.package("dev", tmp_path / "build")


def test_a_failed_package_exits_with_1_and_writes_nothing(
    tmp_path: Path, chalice: dict[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    chalice["sam.json"] = json.dumps({**APPLICATION, "Resources": {}})

    assert package.main(["dev", str(tmp_path / "build")]) == 1
    assert capsys.readouterr().err.startswith(
        "causeway: the package could not be built.\nthe queue of deliveries has 0"
    )
    assert list((tmp_path / "build").iterdir()) == []


@pytest.mark.usefixtures("chalice")
@pytest.mark.parametrize(("problem", "warned"), [("PUBLIC_URL is a placeholder", True), (None, False)])
def test_a_package_with_a_placeholder_url_prints_a_warning(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], problem: str, warned: bool
) -> None:
    monkeypatch.setattr(chalice_command, "find_placeholder", lambda stage: problem)

    assert package.main(["dev", str(tmp_path / "build")]) == 0
    said = capsys.readouterr().err
    assert said.startswith("causeway: warning: PUBLIC_URL is a placeholder;") if warned else said == ""
