"""A new virtual environment is built in a separate folder and replaces the old environment when complete."""

import fcntl
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from uv import find_uv_bin

from tests.infra.deployment import CONFIGURATIONS, PACKAGES, PASSWORD
from tests.kit.time import PATIENCE_SECONDS

ROOT = Path(__file__).parents[2]
UV = """\
#!/bin/bash
[[ $1 == --version ]] && { echo "uv ${UV_VERSION-0.13.9} (somewhere)"; exit; }
echo "${0#$HOME/} $*" >>$HOME/ran
if [[ $1 == venv ]]; then mkdir -p "${@: -1}/bin"; ln -s "$HOME/bin/python3.11" "${@: -1}/bin/python"; fi
if [[ $1 == pip ]]; then . "$HOME/installs"; fi
"""
PYTHON = """\
#!/bin/bash
case "$*" in
    "-m pip --version") exit $(cat $HOME/pip) ;;
    "-m pip install"*)
        echo "PYTHONPATH=$PYTHONPATH pip ${@:3}" >>$HOME/ran
        cat .uv.new/requirements.txt >>$HOME/ran
        mkdir .uv.new/bin
        cp $HOME/locked-uv .uv.new/bin/uv ;;
    *flock*) if [[ -e $HOME/no-locks ]]; then exec {python} "$@" 9>&-; else exec {python} "$@"; fi ;;
    *"import ensurepip"*) cat $HOME/wheel ;;
    *) exec {python} "$@" ;;
esac
"""
LOCK = (
    "chalice==1 \\\n    --hash=sha256:aa\nuv==9.1 \\\n    --hash=sha256:bb \\\n    --hash=sha256:cc\n"
    "    # via none\nwheel==1 \\\n    --hash=sha256:dd\n"
)
VENV = "uv venv --relocatable --python {python} .venv.new"
INSTALL = "uv pip install --python .venv.new/bin/python"
SDK = f"{INSTALL} --offline --no-deps --no-build-isolation --editable ./sdk"
CREATING = "Creating .venv with Python {version} and {count} packages: takes about half a minute, only once\n"


class Project:
    """A project with two locks, on a machine on which all calls of uv and Python are recorded."""

    def __init__(self, place: Path) -> None:
        self.home = place
        self.folder = place / "project"
        self.environ = {"HOME": str(place), "PATH": f"{place / 'bin'}:/usr/bin:/bin"}
        for name in ("environment.sh", "pip_settings.py"):
            (self.folder / "infra").mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / "infra" / name, self.folder / "infra")
        (self.folder / "sdk").mkdir()
        (self.folder / "sdk" / "pyproject.toml").write_text("[project]\n")
        (self.folder / "requirements-run.txt").write_text("chalice==1\n")
        (self.folder / "requirements-dev.txt").write_text(LOCK)
        (place / "bin").mkdir()
        self.program("bin/uv", UV)
        self.program("locked-uv", UV)
        self.python = place / "bin" / "python3.11"
        self.program("bin/python3.11", PYTHON.replace("{python}", sys.executable))
        self.program("project/infra/find_python.sh", f"#!/bin/sh\necho {self.python}\n")
        (place / "pip").write_text("0")
        self.installs("")

    def program(self, name: str, content: str) -> None:
        (self.home / name).write_text(content)
        (self.home / name).chmod(0o755)

    def installs(self, script: str) -> None:
        """Set the script that uv runs during installation. In the script, ``$*`` contains the arguments of uv."""
        (self.home / "installs").write_text(script)

    def start(self, packages: str = "run") -> subprocess.Popen[str]:
        return subprocess.Popen(
            ["infra/environment.sh", ".venv", packages],
            cwd=self.folder,
            env=self.environ,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )

    def make(self, packages: str = "run", code: int = 0) -> str:
        """Run the environment script. Return the standard error output."""
        process = self.start(packages)
        output, errors = process.communicate(timeout=PATIENCE_SECONDS)
        assert (process.returncode, output) == (code, ""), errors
        return errors

    def ran(self) -> list[str]:
        """Return the recorded calls of uv and pip since the last call."""
        file = self.home / "ran"
        lines = file.read_text().splitlines() if file.exists() else []
        file.unlink(missing_ok=True)
        return [line.removeprefix("bin/") for line in lines]

    def made(self) -> set[str]:
        return {file.name for file in self.folder.iterdir()} - {
            *("infra", "sdk", "requirements-run.txt", "requirements-dev.txt", ".venv.lock")
        }


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return Project(tmp_path)


def version() -> str:
    return sys.version.split()[0]


def test_packages_with_hashes_and_the_sdk_are_installed_only_once(project: Project) -> None:
    project.installs("[[ $* != *--offline*--require-hashes* ]]")
    said = project.make()

    assert said == CREATING.format(version=version(), count=1)
    packages = PACKAGES.format(set="run")
    venv = VENV.format(python=project.python)
    assert project.ran() == [venv, f"{INSTALL} --offline {packages}", f"{INSTALL} {packages}", SDK]
    assert project.made() == {".venv"}
    (project.home / "bin" / "uv").unlink()
    assert project.make() == ""
    assert project.ran() == []


def test_cached_packages_are_installed_without_network(project: Project) -> None:
    project.make()

    assert all("--offline" in command for command in project.ran()[1:])


def test_only_the_download_lines_of_the_output_of_uv_are_printed(project: Project) -> None:
    project.installs("echo Resolved 9 packages >&2; echo 'Downloading botocore (16.1MiB)' >&2")

    assert "Downloading botocore (16.1MiB)\n" in project.make()
    assert "Resolved" not in project.make("dev")


def test_development_packages_include_the_run_packages(project: Project) -> None:
    project.make("run")
    project.ran()
    assert project.make("dev") == CREATING.format(version=version(), count=3)
    assert f"{INSTALL} --offline {PACKAGES.format(set='dev')}" in project.ran()

    assert project.make("run") == project.make("dev") == ""
    (project.folder / "requirements-run.txt").write_text("chalice==2\n")
    project.make("run")
    assert f"{INSTALL} --offline {PACKAGES.format(set='dev')}" in project.ran()
    assert project.make("run") == project.make("dev") == ""


@pytest.mark.parametrize("changed", ["requirements-run.txt", "sdk/pyproject.toml"])
def test_changed_requirements_rebuild_the_environment_with_the_same_python_interpreter(
    project: Project, changed: str
) -> None:
    project.make()
    project.ran()
    (project.folder / ".venv" / "pip.conf").touch()
    (project.folder / ".venv" / "used").touch()
    (project.folder / changed).write_text("# changed\n")
    project.program("bin/python3.11", "#!/bin/sh\nexit 1\n")
    (project.folder / ".venv" / "bin" / "python").unlink()
    (project.folder / ".venv" / "bin" / "python").symlink_to(sys.executable)

    project.make()

    assert project.ran()[0] == VENV.format(python=".venv/bin/python")
    assert not (project.folder / ".venv" / "used").exists()
    assert (project.folder / ".venv" / "pip.conf").exists()
    assert project.made() == {".venv"}


def test_an_environment_is_not_rebuilt_if_path_contains_another_python_interpreter(project: Project) -> None:
    project.make()
    project.ran()
    (project.folder / ".venv" / "bin" / "python").unlink()
    (project.folder / ".venv" / "bin" / "python").symlink_to(sys.executable)
    project.program("bin/python3.11", "#!/bin/sh\nexit 1\n")

    assert project.make() == ""
    assert project.ran() == []


def test_an_environment_moved_with_the_repository_is_rebuilt(project: Project) -> None:
    """An environment that moves with the repository still refers to the SDK of the previous repository folder."""
    project.make()
    project.ran()
    moved = project.folder.with_name("moved")
    project.folder.rename(moved)
    project.folder = moved

    assert project.make() != ""
    assert SDK in project.ran()
    assert project.make() == ""


def test_a_link_to_the_virtual_environment_of_another_repository_is_not_replaced(project: Project) -> None:
    project.make()
    project.ran()
    other = project.folder.with_name("other")
    shutil.copytree(project.folder, other, ignore=shutil.ignore_patterns(".venv"))
    (other / ".venv").symlink_to(project.folder / ".venv")
    project.folder = other

    assert project.make() == ""
    assert project.ran() == []


@pytest.mark.parametrize("name", [".venv", ".venv-3.13"])
def test_git_ignores_environments_links_and_lock_files(tmp_path: Path, name: str) -> None:
    shutil.copy(ROOT / ".gitignore", tmp_path)
    git = ["git", "-C", str(tmp_path)]
    subprocess.run([*git, "init", "--quiet"], check=True)
    (tmp_path / name).symlink_to(tmp_path.parent)
    for suffix in (".new", ".old"):
        (tmp_path / f"{name}{suffix}").mkdir()
        (tmp_path / f"{name}{suffix}" / "file").touch()
    (tmp_path / f"{name}.lock").touch()
    done = subprocess.run([*git, "status", "--porcelain"], check=True, capture_output=True, text=True)

    assert done.stdout == "?? .gitignore\n"


def test_an_environment_with_a_broken_python_interpreter_is_rebuilt(project: Project) -> None:
    project.make()
    project.ran()
    (project.folder / ".venv" / "bin" / "python").unlink()
    project.make()

    assert project.ran()[0] == VENV.format(python=project.python)


@pytest.mark.parametrize("failing", ["*--require-hashes*", "*--editable*"])
def test_a_failed_installation_does_not_replace_the_old_virtual_environment(project: Project, failing: str) -> None:
    project.make()
    (project.folder / "requirements-run.txt").write_text("chalice==2\n")
    project.installs(f"if [[ $* == {failing} ]]; then echo what uv says >&2; exit 2; fi")

    said = project.make(code=1)

    assert said.endswith("what uv says\ncauseway: the packages could not be installed.\n")
    assert (project.folder / ".venv" / "causeway" / "requirements-run.txt").read_text() != "chalice==2\n"
    assert project.made() == {".venv"}
    project.installs("")
    assert project.make() != ""
    assert project.make() == ""


def test_an_interruption_prints_one_line_and_leaves_no_partial_environment(project: Project) -> None:
    project.installs("echo Downloading botocore >&2; exec sleep 60")
    process = project.start()
    assert process.stderr is not None
    lines = [process.stderr.readline() for _ in range(2)]
    os.killpg(process.pid, signal.SIGINT)
    _, errors = process.communicate(timeout=PATIENCE_SECONDS)

    assert lines[1] == "Downloading botocore\n"
    assert (process.returncode, errors) == (130, "causeway: interrupted.\n")
    assert project.made() == set()


def test_an_environment_that_a_killed_process_has_renamed_is_restored(project: Project) -> None:
    project.make()
    project.ran()
    (project.folder / ".venv").rename(project.folder / ".venv.old")

    assert project.make() == ""
    assert project.ran() == []
    assert project.made() == {".venv"}


def test_a_restored_environment_has_the_same_interpreter_and_the_development_packages(project: Project) -> None:
    project.make("dev")
    project.ran()
    python = project.folder / ".venv" / "bin" / "python"
    python.unlink()
    python.symlink_to(sys.executable)
    (project.folder / ".venv").rename(project.folder / ".venv.old")
    project.program("project/infra/find_python.sh", "#!/bin/sh\nexit 1\n")

    assert project.make() == ""
    (project.folder / ".venv").rename(project.folder / ".venv.old")
    (project.folder / "requirements-run.txt").write_text("chalice==2\n")
    project.make()
    venv, packages, *_ = project.ran()
    assert venv == VENV.format(python=".venv/bin/python")
    assert packages == f"{INSTALL} --offline {PACKAGES.format(set='dev')}"
    assert project.made() == {".venv"}


def test_a_second_process_waits_until_the_first_process_has_built_the_environment(project: Project) -> None:
    with (project.folder / ".venv.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        second = project.start()
        assert second.stderr is not None
        assert second.stderr.readline() == "Waiting for another process that is creating an environment\n"
        assert project.ran() == []
    second.communicate(timeout=PATIENCE_SECONDS)

    assert second.returncode == 0
    assert project.made() == {".venv"}


def test_a_file_system_without_locks_is_reported_as_a_one_line_error_message(project: Project) -> None:
    (project.home / "no-locks").touch()

    assert project.make(code=1) == (
        "causeway: this folder's file system has no locks: move the repository to another file system.\n"
    )


@pytest.mark.parametrize(
    ("problem", "sentence"),
    [
        (
            "error: Failed to write: No space left on device (os error 28)",
            "the disk is full: make room, and start again",
        ),
        (
            "cause: Failed to fetch: https://me:secret@index.example/simple/six/; cause: client error (Connect)",
            "https://index.example cannot be reached: connect to the network, or set an index or a proxy for pip",
        ),
        (
            "cause: Failed to fetch: https://index.example/; client error (Connect): invalid peer certificate: Unknown",
            "https://index.example has a certificate that this machine does not trust: set `cert` for pip",
        ),
        (
            "Failed to fetch: https://index.example/; cause: HTTP status client error (429 Too Many Requests) for url",
            "https://index.example refuses the request (429): check its address and credentials",
        ),
        (
            "Failed to fetch: https://index.example/; HTTP status server error (503 Service Unavailable): timed out",
            "https://index.example cannot answer (503): start again later",
        ),
        (
            "hint: An index (https://index.example/simple) returned a 403 Forbidden error. Check that the index URL is",
            "https://index.example refuses the request (403): check its address and credentials",
        ),
        (
            "An index URL (https://index.example/simple) could not be queried: no authentication (401 Unauthorized)",
            "https://index.example refuses the request (401): check its address and credentials",
        ),
        (
            "ERROR: HTTP error 403 while getting https://index.example/uv.whl (from https://index.example/simple/uv/)",
            "https://index.example refuses the request (403): check its address and credentials",
        ),
    ],
)
def test_an_installation_problem_is_reported_as_a_one_line_error_message(
    project: Project, problem: str, sentence: str
) -> None:
    project.installs(f"echo '{problem}' >&2; exit 2")

    assert project.make(code=1) == f"{CREATING.format(version=version(), count=1)}causeway: {sentence}.\n"


def configure(project: Project, configuration: str) -> None:
    """Install an invalid pip configuration on a machine with the real uv."""
    file = project.home / "pip.conf"
    file.write_text(CONFIGURATIONS[configuration], "latin-1")
    project.environ |= {"PIP_CONFIG_FILE": str(file), "UV_CACHE_DIR": str(project.home / "cache"), "UV_OFFLINE": "1"}
    (project.home / "bin" / "uv").unlink()
    (project.home / "bin" / "uv").symlink_to(find_uv_bin())


@pytest.mark.parametrize("configuration", CONFIGURATIONS)
def test_installation_errors_contain_no_index_password(project: Project, configuration: str) -> None:
    configure(project, configuration)
    said = project.make(code=1)

    assert PASSWORD not in said
    assert said.count("\n") > 1


def test_pip_configuration_errors_contain_no_password(project: Project) -> None:
    """On a machine without uv, pip installs uv."""
    configure(project, "no-section")
    (project.home / "bin" / "uv").unlink()
    project.program("bin/python3.11", f'#!/bin/sh\nexec {sys.executable} "$@"\n')
    said = project.make(code=1)

    assert "Getting uv with pip\n" in said
    assert PASSWORD not in said
    assert "no section headers" in said


def test_an_offline_installation_that_fails_on_a_full_disk_is_not_attempted_again(project: Project) -> None:
    """A second attempt would report the files that remain from the first attempt."""
    project.installs(
        "if [[ $* == *--offline* ]]; then echo 'No space left on device' >&2; else echo half >&2; fi; exit 2"
    )

    assert project.make(code=1).endswith("causeway: the disk is full: make room, and start again.\n")
    assert len(project.ran()) == 2


@pytest.mark.parametrize("pip", ["", "/wheels/pip.whl"])
@pytest.mark.parametrize("uv", [None, "0.4.30"])
def test_pip_installs_the_locked_uv_if_path_has_no_uv_or_an_old_uv(project: Project, pip: str, uv: str | None) -> None:
    """If Python has no pip, the pip wheel of venv is used."""
    if uv:
        project.program("bin/uv", UV.replace("${UV_VERSION-0.13.9}", uv))
    else:
        (project.home / "bin" / "uv").unlink()
    (project.home / "pip").write_text("1" if pip else "0")
    (project.home / "wheel").write_text(pip)

    said = project.make()
    getting, *rest = project.ran()

    assert said.splitlines()[1:] == ["Getting uv with pip"]
    assert getting == (
        f"PYTHONPATH={pip} pip install --no-input --disable-pip-version-check --retries 2 --require-hashes --no-deps "
        "--only-binary :all: --target .uv.new --requirement .uv.new/requirements.txt"
    )
    assert rest[:3] == ["uv==9.1 \\", "    --hash=sha256:bb \\", "    --hash=sha256:cc"]
    assert rest[3].startswith(".uv/bin/uv venv")
    assert project.made() == {".uv", ".venv"}


def test_a_python_without_pip_and_venv_is_reported_with_the_package_to_install(project: Project) -> None:
    (project.home / "bin" / "uv").unlink()
    (project.home / "pip").write_text("1")

    assert project.make(code=1).splitlines()[2:] == [
        "causeway: this Python has neither pip nor venv: install them (Debian, Ubuntu: `apt install python3-venv`)."
    ]
    assert project.made() == set()


def test_uv_downloads_no_python_and_uses_the_settings_of_pip(project: Project) -> None:
    project.environ |= {"PIP_INDEX_URL": "https://index.example/simple", "PIP_CONFIG_FILE": os.devnull}
    project.installs('echo "$UV_PYTHON_DOWNLOADS $UV_DEFAULT_INDEX" >>$HOME/ran')
    project.make()

    assert "never https://index.example/simple" in project.ran()
