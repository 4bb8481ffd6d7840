"""Writes the contract: what each API promises, one line for each operation, member and value.

With ``--check``, lists the outdated files instead.
"""

from __future__ import annotations

import sys
from pathlib import Path

from infra import command
from infra.local import stackfile
from infra.render.contract.lines import contract
from infra.render.generated_files import update_files
from infra.render.openapi.documents import DOCUMENTS
from infra.repository import ROOT

PLACE = ROOT / "contract"
RELEASED = PLACE / "released"
"""The contract of the latest release."""


def texts(folder: Path = PLACE) -> dict[Path, str]:
    """The content of each document's file in ``folder``."""
    return {folder / f"{name}.txt": "\n".join([*contract(build()), ""]) for name, build in DOCUMENTS.items()}


def main(arguments: list[str] | None = None) -> int:
    """Run the command. Returns the exit code."""
    parser = command.parser("infra.render.contract", __doc__)
    parser.add_argument("--check", action="store_true", help="write nothing; fail when a file is out of date")
    parser.add_argument("--released", action="store_true", help=f"also write {stackfile.display_path(RELEASED)}")
    options = parser.parse_args(arguments)
    files = texts() | (texts(RELEASED) if options.released else {})
    outdated = update_files(files, check=options.check)
    for file in outdated:
        place = stackfile.display_path(file)
        print(
            f"{place} is out of date: make contract" if options.check else place,
            file=sys.stderr if options.check else sys.stdout,
        )
    return 1 if outdated and options.check else 0


if __name__ == "__main__":
    command.run(main)
