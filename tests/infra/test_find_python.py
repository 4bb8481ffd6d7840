"""An interpreter of a Python version is found by running each candidate. Otherwise, the error explains the
installation.
"""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from infra.deploy import runtime

ROOT = Path(__file__).parents[2]
SCRIPT = ROOT / "infra" / "find_python.sh"
VERSION = "3.99"
SHIM = "#!/bin/sh\nexit 127\n"
"""A shim that pyenv adds to PATH for a version that is installed but not selected."""
GOOD = "#!/bin/sh\necho {}\n"
HOW = (
    f"install it with `apt install python{VERSION}-venv` (Debian 13), `brew install python@{VERSION}` (macOS) or "
    f"`pyenv install {VERSION}`, or set CAUSEWAY_PYTHON to its path"
)


class Machine:
    def __init__(self, place: Path) -> None:
        self.home, self.path = place / "home", [place / "tools"]
        self.variables: dict[str, str] = {}
        for program in ("bash", "dirname", "env", "cat", "cmp"):
            self.add(place / "tools" / program).symlink_to(shutil.which(program) or "")

    @staticmethod
    def add(file: Path) -> Path:
        file.parent.mkdir(parents=True, exist_ok=True)
        return file

    def interpreter(self, file: Path, content: str = GOOD) -> Path:
        self.add(file).write_text(content.format(file))
        file.chmod(0o755)
        return file

    def on_path(self, folder: str, name: str = f"python{VERSION}", content: str = GOOD) -> Path:
        """Add an interpreter in a folder at the end of PATH."""
        place = self.home.parent / folder
        self.path.append(place)
        return self.interpreter(place / name, content)

    def of_pyenv(self, version: str, content: str = GOOD) -> Path:
        name = f"python{'.'.join(version.split('.')[:2])}"
        return self.interpreter(self.home / ".pyenv" / "versions" / version / "bin" / name, content)

    def run(self, *command: str | Path, folder: Path = ROOT) -> subprocess.CompletedProcess[str]:
        environ = {"PATH": os.pathsep.join(map(str, self.path)), "HOME": str(self.home), **self.variables}
        return subprocess.run(command, cwd=folder, env=environ, capture_output=True, text=True, check=False)

    def find(self, *arguments: str) -> str:
        done = self.run(SCRIPT, *arguments)
        assert (done.returncode, bool(done.stdout), bool(done.stderr)) in ((0, True, False), (1, False, True))
        return (done.stdout or done.stderr).rstrip("\n")


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


def test_a_pyenv_shim_that_cannot_run_is_skipped(machine: Machine) -> None:
    machine.on_path("shims", content=SHIM)
    found = machine.on_path("bin")

    assert machine.find(VERSION) == str(found)


def test_a_pyenv_version_is_found_if_path_has_only_the_pyenv_shim(machine: Machine) -> None:
    machine.on_path("shims", content=SHIM)
    machine.of_pyenv("3.9.1")
    machine.of_pyenv("3.99.0", content=SHIM)
    found = machine.of_pyenv("3.99.1")

    assert machine.find(VERSION) == str(found)


def test_causeway_python_has_precedence_over_path_and_path_has_precedence_over_pyenv(machine: Machine) -> None:
    machine.of_pyenv("3.99.1")
    on_path = machine.on_path("bin")
    assert machine.find(VERSION) == str(on_path)

    machine.variables["CAUSEWAY_PYTHON"] = str(machine.interpreter(machine.home / "own"))
    assert machine.find(VERSION) == machine.variables["CAUSEWAY_PYTHON"]


def test_an_interpreter_of_another_version_is_refused(machine: Machine) -> None:
    machine.on_path("bin", content=f'#!/bin/sh\nexec {sys.executable} "$@"\n')

    assert machine.find(VERSION) == f"causeway: Python {VERSION} is needed: {HOW}."


def test_the_error_for_an_unsuitable_causeway_python_names_the_interpreter(machine: Machine) -> None:
    machine.on_path("bin")
    machine.variables["CAUSEWAY_PYTHON"] = "/opt/python"

    said = machine.find(VERSION, "it is deployed")

    assert said == (
        f"causeway: Python {VERSION} is needed, because it is deployed: {HOW} "
        f"(now /opt/python, which is not Python {VERSION})."
    )


def test_any_supported_python_is_found_if_no_version_is_requested(machine: Machine) -> None:
    machine.on_path("old", "python3", SHIM)
    assert machine.find() == "causeway: Python 3.11 or later is needed, and there is none on this machine."

    later = machine.on_path("bin", "python3.12", f'#!/bin/sh\nexec {sys.executable} "$@"\n')
    assert later.is_file()
    assert machine.find() == sys.executable


@pytest.mark.parametrize("target", ["bench", "deploy", "package", "rehearse", "stage-python"])
def test_a_make_target_without_the_deployed_python_version_ends_with_a_one_sentence_error(
    machine: Machine, tmp_path: Path, target: str
) -> None:
    project = tmp_path / "project"
    made_of = ("Makefile", "infra/environment.sh", "infra/find_python.sh")
    for name in made_of:
        shutil.copy2(ROOT / name, machine.add(project / name))

    done = machine.run(shutil.which("make") or "", "-s", target, folder=project)

    sentence, of_make = done.stderr.splitlines()
    assert (done.returncode, done.stdout) == (2, "")
    assert of_make.startswith("make: ***")
    assert sentence == (
        f"causeway: Python {runtime.PYTHON} is needed, because Chalice names the runtime in Lambda after the Python "
        f"that runs it, and compiled modules belong to one version: {HOW.replace(VERSION, runtime.PYTHON)}."
    )
    assert {file.name for file in project.rglob("*")} == {"infra", *(Path(name).name for name in made_of)}


def test_a_localstack_target_without_python_3_13_ends_with_a_one_sentence_error(
    machine: Machine, tmp_path: Path
) -> None:
    project = tmp_path / "project"
    for name in ("infra/local/localstack/start.sh", "infra/find_python.sh"):
        shutil.copy2(ROOT / name, machine.add(project / name))

    done = machine.run(project / "infra/local/localstack/start.sh", folder=project)

    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == (
        "causeway: Python 3.13 is needed, because LocalStack's pinned packages fit no other version: "
        f"{HOW.replace(VERSION, '3.13')}.\n"
    )
    assert {file.name for file in project.rglob("*")} == {"infra", "local", "localstack", "start.sh", "find_python.sh"}


def test_the_makefile_has_the_deployed_python_version() -> None:
    assert re.findall(r"^DEPLOYED := (.*)$", (ROOT / "Makefile").read_text(), re.MULTILINE) == [runtime.PYTHON]
