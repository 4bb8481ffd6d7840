"""Runs Chalice's command on a clean copy of the application, so that only the application's files are packaged.

Chalice's builds and deployment records stay in the project, in ``.chalice/deployments`` and ``.chalice/deployed``.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import chalice
from chalice.deploy.packager import (
    AppOnlyDeploymentPackager,
    BaseLambdaDeploymentPackager,
    DependencyBuilder,
    LayerDeploymentPackager,
)
from chalice.utils import UI, OSUtils

from infra.deploy import archive, layer, runtime
from infra.deploy.archive import CompileFailed
from infra.deploy.layer import LayerFailed
from infra.deploy.lock import LockFailed
from infra.deploy.runtime import WrongPython
from infra.progress import Progress
from infra.repository import ROOT

REGION = "eu-west-1"
COMMAND = (sys.executable, "-B", "-c", "import sys; from chalice.cli import main; sys.exit(main())")
"""The command that runs Chalice."""
_INCLUDED = ("app.py", "chalicelib", ".chalice", "requirements.txt", "requirements.in")
_PRESERVED = ("deployments", "deployed")
_LEFT_OUT = shutil.ignore_patterns("__pycache__", "*.pyc", *_PRESERVED)
_PLACEHOLDER = "causeway.example"
_CLOSED = "disableExecuteApiEndpoint"


class ChaliceFailed(Exception):
    """Chalice failed. The message is its output."""


def stage_settings(stage: str) -> dict[str, Any]:
    """Return a stage's settings in ``.chalice/config.json``."""
    config = json.loads((ROOT / ".chalice" / "config.json").read_text(encoding="utf-8"))
    settings: dict[str, Any] = config["stages"][stage]
    return settings


def find_placeholder(stage: str) -> str | None:
    """Describe the problem with the stage's address in ``.chalice/config.json``, without a full stop. Return ``None``
    if the address is valid.
    """
    address = stage_settings(stage)["environment_variables"]["PUBLIC_URL"]
    if not f".{urlsplit(address).hostname}".endswith(f".{_PLACEHOLDER}"):
        return None
    return f"PUBLIC_URL of the stage {stage} in .chalice/config.json is still the placeholder {address}"


def is_recorded(stage: str) -> bool:
    """Return whether this machine has a record of the stage's deployment by Chalice."""
    return _record_path(stage).is_file()


def api_id(stage: str) -> str | None:
    """Return the id of the API that Chalice created, if recorded on this machine."""
    if not is_recorded(stage):
        return None
    made = json.loads(_record_path(stage).read_text(encoding="utf-8"))["resources"]
    ids: list[str] = [each["rest_api_id"] for each in made if each["resource_type"] == "rest_api"]
    return ids[0] if ids else None


def _record_path(stage: str) -> Path:
    return ROOT / ".chalice" / "deployed" / f"{stage}.json"


@contextmanager
def project_copy() -> Iterator[Path]:
    """Create a temporary copy of the application for Chalice.

    Without the copy, compiled files would be packaged, and two packages of the same sources would differ.
    """
    with tempfile.TemporaryDirectory(prefix="causeway-application-") as place:
        project = Path(place) / "causeway"
        copy(project)
        for name in _PRESERVED:
            (ROOT / ".chalice" / name).mkdir(exist_ok=True)
            (project / ".chalice" / name).symlink_to(ROOT / ".chalice" / name)
        yield project


def copy(place: Path) -> None:
    """Copy the application's own files, without Chalice's builds, into the new folder ``place``."""
    place.mkdir()
    for name in _INCLUDED:
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, place / name, ignore=_LEFT_OUT)
        else:
            shutil.copy2(ROOT / name, place / name)


def package(project: Path, stage: str, out: Path) -> None:
    """Write the template and the zip files of ``stage`` to the folder ``out`` with Chalice.

    The zip files are put into Chalice's cache first, under the names that Chalice computes.

    Raises:
        ChaliceFailed: the packages could not be built, or are incomplete.
    """
    with Progress(sys.stderr) as progress:
        try:
            runtime.check_python()
            _build_packages(project, stage, progress)
        except (WrongPython, LayerFailed, LockFailed, CompileFailed) as error:
            raise ChaliceFailed(str(error)) from error
        progress.step("writing the template")
        environ = {"AWS_DEFAULT_REGION": REGION, **os.environ}  # it asks for one, the result depends on none
        result = _run_chalice(project, "package", "--stage", stage, str(out), environ=environ, capture_output=True)
    if result.returncode or not out.is_dir():
        raise ChaliceFailed((result.stdout + result.stderr).strip())


def _build_packages(project: Path, stage: str, progress: Progress) -> None:
    processor = stage_processor(stage)
    built, layer_file = (
        _cached(kind, project, processor) for kind in (AppOnlyDeploymentPackager, LayerDeploymentPackager)
    )
    progress.step(f"building the layer for {processor}; takes a minute if pip has to download the packages")
    layer.build(ROOT, processor, layer_file)
    progress.step("compiling the function")
    for file in built.parent.glob("appcode-*.zip"):  # known by the files' contents, and not by their names
        file.unlink()
    build_function(project, built)


def stage_processor(stage: str) -> str:
    """Return Lambda's name for the processor of a stage: ``arm64`` or ``x86_64``."""
    config = json.loads((ROOT / ".chalice" / "config.json").read_text(encoding="utf-8"))
    settings: dict[str, str] = {**config, **config["stages"][stage]}
    return settings["lambda_architecture"]


def _cached(kind: type[BaseLambdaDeploymentPackager], project: Path, processor: str) -> Path:
    packager = kind(OSUtils(), DependencyBuilder(OSUtils()), UI(), processor)
    return Path(packager.deployment_package_filename(str(project), f"python{runtime.PYTHON}"))


def build_function(project: Path, file: Path) -> None:
    """Write the function's zip file: the application, and the two Chalice modules needed at run time."""
    with tempfile.TemporaryDirectory(prefix="causeway-function-") as place:
        folder = Path(place)
        shutil.copy2(project / "app.py", folder / "app.py")
        shutil.copytree(project / "chalicelib", folder / "chalicelib")
        (folder / "chalice").mkdir()
        for module in ("__init__.py", "app.py"):
            shutil.copy2(Path(chalice.__file__).with_name(module), folder / "chalice" / module)
        archive.compile_modules(folder, "/var/task")
        archive.write_zip(folder, file)


def deploy(project: Path, stage: str) -> None:
    """Deploy ``stage`` with Chalice, and print Chalice's output. Raises: ChaliceFailed."""
    with tempfile.TemporaryDirectory(prefix="causeway-package-") as place:
        package(project, stage, Path(place) / "out")  # complete, or nothing is touched; deploying takes what this built
    result = _run_chalice(project, "deploy", "--stage", stage, environ=os.environ, capture_output=False)
    if result.returncode:
        raise ChaliceFailed(f"`chalice deploy --stage {stage}` ended with exit code {result.returncode}")


def _run_chalice(
    project: Path, command: str, *arguments: str, environ: Mapping[str, str], capture_output: bool
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*COMMAND, "--project-dir", str(project), command, *arguments],
        env=environ,
        capture_output=capture_output,
        text=True,
        check=False,
    )


@contextmanager
def keep_endpoint_closed(client: Any, interface: str | None, stage: str) -> Iterator[None]:
    """If the default endpoint of the API is disabled, disable it again after deployment, because Chalice enables it.

    Args:
        client: a boto3 client of API Gateway.
        interface: the id of the API, if known.
    """
    if not _is_closed(client, interface):
        yield
        return
    try:
        yield
    finally:
        close = {"op": "replace", "path": f"/{_CLOSED}", "value": "true"}
        client.update_rest_api(restApiId=interface, patchOperations=[close])
        client.create_deployment(restApiId=interface, stageName=stage)


def _is_closed(client: Any, interface: str | None) -> bool:
    if interface is None:
        return False
    try:
        return bool(client.get_rest_api(restApiId=interface).get(_CLOSED))
    except client.exceptions.NotFoundException:  # deleted by hand: Chalice makes another
        return False
