"""Writes the reference in ``docs/reference`` and the pages that the web interface serves at ``/docs``.

With ``--check``, lists the outdated pages instead.
"""

from __future__ import annotations

from pathlib import Path

from infra import command
from infra.generated_files import run, update_folder
from infra.render.docs import reference, site


def main(arguments: list[str] | None = None) -> int:
    """Run the command. Returns the exit code."""
    return run("infra.render.docs", __doc__, _update, arguments)


def _update(check: bool) -> list[Path]:
    # the site includes the reference, so the reference is written first
    outdated = update_folder(reference.FOLDER, reference.texts(), check=check)
    return [*outdated, *update_folder(site.TARGET, site.texts(), check=check)]


if __name__ == "__main__":
    command.run(main)
