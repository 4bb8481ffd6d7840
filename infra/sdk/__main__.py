"""Writes the generated modules of the SDK: models and calls from the OpenAPI documents, and the synchronous client.

With ``--check``, lists the outdated files instead.
"""

from __future__ import annotations

from pathlib import Path

from infra import command
from infra.local import stackfile
from infra.sdk import modules


def main(arguments: list[str] | None = None) -> int:
    """Run the command. Returns the exit code."""
    parser = command.parser("infra.sdk", __doc__)
    parser.add_argument("--check", action="store_true", help="write nothing; fail when a file is out of date")
    check = parser.parse_args(arguments).check
    stale = update(check=check)
    for file in stale:
        print(f"{stackfile.display_path(file)}{' is out of date: make docs' if check else ''}")
    return 1 if stale and check else 0


def update(*, check: bool) -> list[Path]:
    """Write the files that differ and delete those without source, unless ``check``. Returns both."""
    texts, without_source = modules.texts(), modules.files_without_source()
    stale = [file for file, text in texts.items() if not file.exists() or file.read_text("utf-8") != text]
    if not check:
        for file in stale:
            file.write_text(texts[file], encoding="utf-8")
        for file in without_source:
            file.unlink()
    return [*stale, *without_source]


if __name__ == "__main__":
    command.run(main)
