"""Packages a stage: ``python -m infra.package dev build`` writes the template and the zip files that it refers to.

Chalice does the work, for the processor and the Python of the stage's functions. It only warns when a package has no
wheel for them; here that is an error, since the result would fail at its first request.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from infra.deploy import STAGES, unfinished

ROOT = Path(__file__).resolve().parents[1]
REGION = "eu-west-1"
_INCLUDED = ("app.py", "chalicelib", ".chalice", "requirements.txt")
_INCOMPLETE = "Could not install dependencies"
_LEFT_OUT = shutil.ignore_patterns("__pycache__", "deployments", "deployed", "*.pyc")


class PackagingFailed(Exception):
    """Chalice could not make a complete package; the message is what it said."""


def package(stage: str, target: Path) -> list[Path]:
    """Write the package of ``stage`` into the folder ``target``; answers its files. Raises: PackagingFailed."""
    target.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="causeway-package-") as place:
        project = Path(place) / "causeway"
        project.mkdir()
        for name in _INCLUDED:
            _copy(ROOT / name, project / name)
        _chalice(project, stage, Path(place) / "out")
        made = sorted((Path(place) / "out").iterdir())
        for file in (file for file in made if file.suffix == ".json"):
            template = json.loads(file.read_text(encoding="utf-8"))
            _check(template, file.parent)
            file.write_text(json.dumps(named(template, stage), indent=2) + "\n", encoding="utf-8")
        return [Path(shutil.move(file, target / file.name)) for file in made]


def _copy(source: Path, destination: Path) -> None:
    """Packaging from a copy keeps compiled files and earlier packages out of the result, and the tree clean."""
    if source.is_dir():
        shutil.copytree(source, destination, ignore=_LEFT_OUT)
    else:
        shutil.copy2(source, destination)


def _chalice(project: Path, stage: str, out: Path) -> None:
    command = [sys.executable, "-B", "-c", "from chalice.cli import main; main()", "--project-dir", str(project)]
    result = subprocess.run(
        [*command, "package", "--stage", stage, str(out)],
        env={"AWS_DEFAULT_REGION": REGION, **os.environ},  # Chalice asks for one, the result depends on none
        capture_output=True,
        text=True,
        check=False,
    )
    said = (result.stdout + result.stderr).strip()
    if result.returncode or _INCOMPLETE in said or not out.is_dir():
        raise PackagingFailed(said)


def _check(template: dict[str, Any], folder: Path) -> None:
    """Every file that the template refers to was written."""
    for name, resource in template["Resources"].items():
        place = resource["Properties"].get("CodeUri") or resource["Properties"].get("ContentUri")
        if isinstance(place, str) and not (folder / place).is_file():
            raise PackagingFailed(f"{name} refers to {place}, which was not written")


def named(template: dict[str, Any], stage: str) -> dict[str, Any]:
    """The template with its functions named as ``chalice deploy`` names them, since the policies go by these names."""
    for resource in template["Resources"].values():
        if resource["Type"] == "AWS::Serverless::Function":
            handler = resource["Properties"]["Handler"]
            name = "" if handler == "app.app" else f"-{handler.rpartition('.')[2]}"
            resource["Properties"]["FunctionName"] = f"causeway-{stage}{name}"
    return template


def main(arguments: list[str] | None = None) -> int:
    """The command; answers its exit code."""
    parser = argparse.ArgumentParser(prog="python -m infra.package", description=__doc__)
    parser.add_argument("stage", choices=STAGES)
    parser.add_argument("target", type=Path, nargs="?", default=Path("build"))
    options = parser.parse_args(arguments)
    try:
        written = package(options.stage, options.target)
    except PackagingFailed as error:
        print(f"causeway: the package could not be made.\n{error}", file=sys.stderr)
        return 1
    for file in written:
        print(f"{file}  {file.stat().st_size / 1e6:.1f} MB")
    if problem := unfinished(options.stage):
        print(
            f"causeway: warning: {problem}; all addresses that leave the service are built from it. "
            "Put the stage's address there, and package again, before you deploy.",
            file=sys.stderr,
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())
