"""Writes the generated modules of the SDK: models and calls from the OpenAPI documents, and the synchronous client.

With ``--check``, lists the outdated files instead.
"""

from __future__ import annotations

from pathlib import Path

from infra import command
from infra.generated_files import run, update_files
from infra.render.sdk import modules


def main(arguments: list[str] | None = None) -> int:
    """Run the command. Returns the exit code."""
    return run("infra.render.sdk", __doc__, update, arguments)


def update(check: bool) -> list[Path]:
    """Write the files that differ and delete those without source, unless ``check``. Returns both."""
    return update_files(modules.texts(), modules.files_without_source(), check=check)


if __name__ == "__main__":
    command.run(main)
