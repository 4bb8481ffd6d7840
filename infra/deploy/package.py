"""Packages a stage: writes one template for all of it, and its zip files, into a folder."""

from __future__ import annotations

import json
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Any

from infra import command
from infra.deploy import chalice_command, combined_template, template
from infra.deploy.chalice_command import ChaliceFailed

_TEMPLATE = "sam.json"


def package(stage: str, target: Path) -> list[Path]:
    """Write the package of ``stage`` into the folder ``target``; answers its files. Raises: ChaliceFailed."""
    target.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="causeway-package-") as place, chalice_command.copied() as project:
        out = Path(place) / "out"
        chalice_command.package(project, stage, out)
        made = json.loads((out / _TEMPLATE).read_text(encoding="utf-8"))
        _check(made, out)
        whole = combined_template.one_stack(made, template.load(), stage)
        (out / _TEMPLATE).write_text(json.dumps(whole, indent=1) + "\n", encoding="utf-8")
        return [Path(shutil.move(file, target / file.name)) for file in sorted(out.iterdir())]


def _check(made: dict[str, Any], folder: Path) -> None:
    """Every file that the template refers to was written."""
    for name, resource in made["Resources"].items():
        place = resource["Properties"].get("CodeUri") or resource["Properties"].get("ContentUri")
        if isinstance(place, str) and not (folder / place).is_file():
            raise ChaliceFailed(f"{name} refers to {place}, which was not written")


def main(arguments: list[str] | None = None) -> int:
    """The command; answers its exit code."""
    parser = command.parser("infra.deploy.package", __doc__)
    parser.add_argument("stage", choices=chalice_command.STAGES)
    parser.add_argument("target", type=Path, nargs="?", default=Path("build"))
    options = parser.parse_args(arguments)
    try:
        written = package(options.stage, options.target)
    except (ChaliceFailed, combined_template.NotMergeable) as error:
        print(f"causeway: the package could not be made.\n{error}", file=sys.stderr)
        return 1
    for file in written:
        print(f"{file}  {file.stat().st_size / 1e6:.1f} MB")
    if problem := chalice_command.unfinished(options.stage):
        print(
            f"causeway: warning: {problem}; all addresses that leave the service are built from it. "
            "Put the stage's address there, and package again, before you deploy.",
            file=sys.stderr,
        )
    return 0


if __name__ == "__main__":
    command.run(main)
