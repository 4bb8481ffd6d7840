"""Writes the reference in ``docs/reference`` and the pages that the web interface serves at ``/docs``.

With ``--check``, lists the outdated pages instead.
"""

from __future__ import annotations

from pathlib import Path

from infra import command
from infra.docs import reference, site
from infra.local import stackfile


def main(arguments: list[str] | None = None) -> int:
    """Run the command. Returns the exit code."""
    parser = command.parser("infra.docs", __doc__)
    parser.add_argument("--check", action="store_true", help="write nothing; fail when a page is out of date")
    check = parser.parse_args(arguments).check
    # the site includes the reference, so the reference is written first
    stale = [*update(reference.FOLDER, reference.texts(), check), *update(site.TARGET, site.texts(), check)]
    for file in stale:
        print(f"{stackfile.display_path(file)}{' is out of date: make docs' if check else ''}")
    return 1 if stale and check else 0


def update(folder: Path, texts: dict[Path, str], check: bool) -> list[Path]:
    """Write ``texts`` to ``folder`` and delete other files there, unless ``check``. Returns the files that differ."""
    stale = [file for file, text in texts.items() if not file.exists() or file.read_text("utf-8") != text]
    strange = [file for file in folder.rglob("*") if file.is_file() and file not in texts]
    if not check:
        for file in stale:
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(texts[file], encoding="utf-8")
        for file in strange:
            file.unlink()
    return [*stale, *strange]


if __name__ == "__main__":
    command.run(main)
