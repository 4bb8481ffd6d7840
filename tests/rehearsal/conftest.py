"""Fixtures for deployment tests: an empty emulator account, and both stages deployed to the account."""

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from infra.deploy import runtime
from infra.deploy.runtime import STAGES
from infra.local.process import ChildProcess, python_command
from tests.rehearsal.project import Project


@pytest.fixture(scope="session", autouse=True)
def deployed_python(rendered: None) -> None:
    """Check that this Python has the deployed version, because this Python compiles the deployed modules."""
    runtime.check_python()


@pytest.fixture(scope="session")
def emulator() -> Iterator[None]:
    """Start an emulator with an empty account. All AWS clients of this process and its children use the emulator."""
    child = ChildProcess(python_command("tests.rehearsal.emulator"), output=subprocess.PIPE)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("AWS_ENDPOINT_URL", child.first_line())
        yield
    child.stop()


def say(request: pytest.FixtureRequest, step: str) -> None:
    """Print the name of a slow step to the terminal, even while pytest captures output."""
    with request.config.pluginmanager.getplugin("capturemanager").global_and_fixture_disabled():
        print(f"\n{step}", flush=True)


@pytest.fixture(scope="session")
def project(tmp_path_factory: pytest.TempPathFactory) -> Project:
    return Project(tmp_path_factory.mktemp("rehearsal") / "causeway")


@pytest.fixture(scope="session")
def deployed(emulator: None, project: Project, request: pytest.FixtureRequest) -> Project:
    for stage in STAGES:
        say(request, f"Deploying the stage {stage} to the emulator")
        project.deploy(stage)
    return project


@pytest.fixture(scope="session")
def packaged(tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest) -> Path:
    from infra.deploy import chalice_command, package

    place = tmp_path_factory.mktemp("packaged")
    project = Project(place / "causeway", "arm64")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(chalice_command, "ROOT", project.root)
        patch.setattr(package, "ROOT", project.root)
        for stage in STAGES:
            say(request, f"Packaging the stage {stage}")
            package.package(stage, place / stage)
    return place
