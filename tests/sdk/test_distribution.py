"""The wheel and the sdist of `make sdk`: their content, and the use of the wheel outside the repository."""

import email
import json
import os
import re
import subprocess
import sys
import sysconfig
import tarfile
import tomllib
import zipfile
from pathlib import Path
from typing import NamedTuple

import pytest

import causeway
from tests.kit.documents import releases
from tests.kit.processes import SDK_SOURCE

SDK = SDK_SOURCE.parent


class Built(NamedTuple):
    wheel: Path
    sdist: Path
    installed: Path
    """A folder in which the wheel is installed, without its dependencies."""


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Built:
    folder, installed = tmp_path_factory.mktemp("dist"), tmp_path_factory.mktemp("installed")
    build(SDK, folder)
    (wheel,), (sdist,) = folder.glob("*.whl"), folder.glob("*.tar.gz")
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-index", "--target", str(installed)]
    subprocess.run([*pip, str(wheel)], check=True)
    return Built(wheel, sdist, installed)


def build(source: Path, folder: Path, *options: str) -> None:
    """Build the distributions as `make sdk` does, with the installed build backend and without network access."""
    command = [sys.executable, "-m", "build", "--no-isolation", *options, "--outdir", str(folder), str(source)]
    subprocess.run(command, check=True, capture_output=True)


def run(built: Built, *arguments: str, dependencies: bool = False) -> str:
    """Run a program with the installed package, and with its dependencies if required. Return the output.

    Without ``site`` (option ``-S``), Python ignores the file through which the environment finds the repository.
    """
    path = [str(built.installed), *([sysconfig.get_path("purelib")] if dependencies else [])]
    environment = {"PYTHONPATH": os.pathsep.join(path), "PYTHONSAFEPATH": "1"}
    command = [sys.executable, "-S", *arguments]
    done = subprocess.run(
        command, env=environment, cwd=built.installed.parent, capture_output=True, text=True, check=True
    )
    return done.stdout


def test_the_installed_package_works_outside_the_repository(built: Built) -> None:
    program = (
        "import json, sys, causeway; from causeway.tpp import SinglePaymentV2, Tpp; from causeway.bank import Bank;"
        " client = repr(Tpp('https://hub.example', client_id='client'));"
        " print(json.dumps([causeway.__file__, causeway.__version__, client, sys.path]))"
    )
    file, version, client, path = json.loads(run(built, "-c", program, dependencies=True))

    assert Path(file) == built.installed / "causeway" / "__init__.py"
    assert version == causeway.__version__
    assert client == "Tpp('https://hub.example', client_id='client')"
    assert not {str(SDK_SOURCE), str(SDK), str(SDK.parent)} & set(path)


def test_importing_the_client_and_the_messages_requires_only_the_standard_library(built: Built) -> None:
    program = "from causeway.tpp import *; from causeway.bank import AccountV1, Refused; print(Tpp, AccountV1)"

    assert "causeway.tpp._generated.sync.client.Tpp" in run(built, "-c", program)


def test_the_causeway_command_is_installed(built: Built) -> None:
    command = built.installed / "bin" / "causeway"

    assert os.access(command, os.X_OK)
    assert "listen" in run(built, str(command), "--help")
    assert run(built, str(command), "--version").strip() == causeway.__version__


def test_the_wheel_contains_every_module_and_py_typed(built: Built) -> None:
    files = {
        file.relative_to(SDK_SOURCE).as_posix() for file in SDK_SOURCE.rglob("*") if file.suffix in {".py", ".typed"}
    }
    with zipfile.ZipFile(built.wheel) as wheel:
        assert {name for name in wheel.namelist() if ".dist-info/" not in name} == files
    assert "causeway/py.typed" in files
    assert (built.installed / "causeway" / "py.typed").is_file()


def test_the_wheel_metadata_contains_name_version_readme_and_extras(built: Built) -> None:
    with zipfile.ZipFile(built.wheel) as wheel:
        (name,) = [each for each in wheel.namelist() if each.endswith(".dist-info/METADATA")]
        metadata = email.message_from_string(wheel.read(name).decode())

    assert (metadata["Name"], metadata["Version"]) == ("causeway", causeway.__version__)
    assert str(metadata.get_payload()).strip() == (SDK / "README.md").read_text("utf-8").strip()
    assert {"crypto", "bank", "all"} == set(metadata.get_all("Provides-Extra", []))


def test_the_sdist_contains_readme_changelog_and_license_and_builds_the_same_wheel(
    built: Built, tmp_path: Path
) -> None:
    with tarfile.open(built.sdist) as sdist:
        for name in ("README.md", "CHANGELOG.md", "LICENSE"):
            file = sdist.extractfile(f"{built.sdist.name.removesuffix('.tar.gz')}/{name}")
            assert file is not None
            assert file.read() == (SDK / name).read_bytes()

    build(SDK, tmp_path, "--wheel")
    (wheel,) = tmp_path.iterdir()
    assert (wheel.name, wheel.read_bytes()) == (built.wheel.name, built.wheel.read_bytes())


def test_changelog_project_file_and_package_have_the_same_version() -> None:
    project = tomllib.loads((SDK / "pyproject.toml").read_text("utf-8"))
    source = (SDK / project["tool"]["hatch"]["version"]["path"]).read_text("utf-8")
    newest, _ = releases((SDK / "CHANGELOG.md").read_text("utf-8"))[0]

    assert project["project"]["dynamic"] == ["version"]
    assert re.findall(r'^__version__ = "(.+)"$', source, re.MULTILINE) == [newest]
    assert causeway.__version__ == newest
