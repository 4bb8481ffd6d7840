"""Writes the generated modules of the SDK: models and calls from the OpenAPI documents, and the synchronous client.

With ``--check``, the command only lists the outdated files.
"""

from __future__ import annotations

import sys
from pathlib import Path

from infra import command
from infra.local import stackfile
from infra.render.generated_files import update_files
from infra.render.sdk import modules


def main(arguments: list[str] | None = None) -> int:
    """Run the command. Returns the exit code."""
    parser = command.parser("infra.render.sdk", __doc__)
    parser.add_argument("--check", action="store_true", help="write nothing; fail when a file is out of date")
    check = parser.parse_args(arguments).check
    outdated = update(check)
    for file in outdated:
        if check:
            print(f"{stackfile.display_path(file)} is out of date: make docs", file=sys.stderr)
        else:
            print(stackfile.display_path(file))
    return 1 if outdated and check else 0


def update(check: bool) -> list[Path]:
    """Write changed files and delete files without source, unless ``check`` is true. Return both lists."""
    return update_files(modules.texts(), modules.files_without_source(), check=check)


if __name__ == "__main__":
    command.run(main)
