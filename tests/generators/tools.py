"""The code generators, with their versions. Each version is installed once, to ``build/generators``.

A generator makes a client from a document, checks a program that uses the client, and runs the program.
"""

import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from tests.kit.documents import ROOT
from tests.kit.time import PATIENCE_SECONDS

VERSIONS: Mapping[str, str] = {
    "openapi-python-client": "0.29.0",
    "github.com/oapi-codegen/oapi-codegen/v2": "v2.8.0",
    "github.com/oapi-codegen/runtime": "v1.9.0",
    "openapi-typescript": "7.13.0",
    "openapi-fetch": "0.17.0",
    "typescript": "5.9.3",
    "@stoplight/spectral-cli": "6.16.3",
}
"""The versions of the generators, and of what their clients need."""
FOLDER = ROOT / "build" / "generators"
DOWNLOAD_SECONDS = 5 * PATIENCE_SECONDS
"""The maximum time of a command, which may download packages."""


def run(command: Sequence[str | Path], folder: Path, **environ: str) -> str:
    """Run a command and return its output. Raises: AssertionError: the command has failed."""
    done = subprocess.run(
        [*map(str, command)],
        cwd=folder,
        env={**os.environ, "NO_PROXY": "127.0.0.1", **environ},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=DOWNLOAD_SECONDS,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-5000:]
    return done.stdout


class PythonClient:
    """openapi-python-client, checked with mypy."""

    name, programs, ending = "openapi-python-client", (), "py"
    version = VERSIONS["openapi-python-client"]

    def __init__(self) -> None:
        package = f"{self.name}=={self.version}"
        self._folder = FOLDER / package
        self._python = self._folder / "bin" / "python"
        if not (self._folder / "bin" / self.name).exists():
            run([sys.executable, "-m", "venv", self._folder], ROOT)
            run([self._python, "-m", "pip", "install", "--quiet", package], ROOT)

    def generate(self, document: Path, folder: Path) -> None:
        tool = self._folder / "bin" / self.name
        printed = run(
            [tool, "generate", "--path", document, "--output-path", folder / "client", "--meta", "none"], folder
        )
        assert "Endpoint will not be generated" not in printed

    def check(self, folder: Path) -> None:
        options = ["--config-file=", f"--python-executable={self._python}", f"--cache-dir={FOLDER / 'mypy'}"]
        run([sys.executable, "-m", "mypy", *options, "program.py", "client"], folder)

    def call(self, folder: Path, **environ: str) -> str:
        return run([self._python, "program.py"], folder, **environ)


class GoClient:
    """oapi-codegen, checked with go build."""

    name, programs, ending = "oapi-codegen", ("go",), "go"
    module = "github.com/oapi-codegen/oapi-codegen/v2"
    version = VERSIONS[module]

    def __init__(self) -> None:
        self._bin = FOLDER / f"{self.name}@{self.version}"
        self._bin.mkdir(parents=True, exist_ok=True)
        if not (self._bin / self.name).exists():
            run(["go", "install", f"{self.module}/cmd/{self.name}@{self.version}"], ROOT, GOBIN=str(self._bin))

    def generate(self, document: Path, folder: Path) -> None:
        (folder / "client").mkdir()
        options = ["-generate", "types,client", "-package", "client", "-o", "client/client.go"]
        run([self._bin / self.name, *options, document], folder)

    def check(self, folder: Path) -> None:
        runtime = "github.com/oapi-codegen/runtime"
        run(["go", "mod", "init", "example"], folder)
        run(["go", "get", f"{runtime}@{VERSIONS[runtime]}"], folder)
        run(["go", "build", "-o", "program", "."], folder)

    def call(self, folder: Path, **environ: str) -> str:
        return run([folder / "program"], folder, **environ)


class TypescriptClient:
    """openapi-typescript with openapi-fetch, checked with tsc."""

    name, programs, ending = "openapi-typescript", ("npm",), "ts"
    version = VERSIONS["openapi-typescript"]

    def __init__(self) -> None:
        self._bin = install_npm(self.name, "openapi-fetch", "typescript")

    def generate(self, document: Path, folder: Path) -> None:
        (folder / "node_modules").symlink_to(self._bin.parent)
        run([self._bin / self.name, document, "-o", "client.d.ts"], folder)

    def check(self, folder: Path) -> None:
        (folder / "package.json").write_text('{"type": "module"}', "utf-8")
        (folder / "process.d.ts").write_text("declare const process: { env: Record<string, string> };", "utf-8")
        options = ["--strict", "--target", "es2022", "--module", "nodenext", "--lib", "es2022,dom"]
        run([self._bin / "tsc", *options, "program.ts", "process.d.ts"], folder)

    def call(self, folder: Path, **environ: str) -> str:
        return run(["node", "program.js"], folder, **environ)


def install_npm(*packages: str) -> Path:
    """Install packages in a folder of their own, if they are not there. Return the folder of their commands."""
    named = [f"{name}@{VERSIONS[name]}" for name in packages]
    folder = FOLDER / "+".join(named).replace("/", "-")
    if not (folder / "installed").exists():
        folder.mkdir(parents=True, exist_ok=True)
        run(["npm", "install", "--prefix", folder, "--no-audit", "--no-fund", "--silent", *named], folder)
        (folder / "installed").touch()
    return folder / "node_modules" / ".bin"


TOOLS = (PythonClient, GoClient, TypescriptClient)
