"""Updates generated files that are stored in git. Files that differ from the generated content are written, or only
listed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path


def update_files(texts: Mapping[Path, str], obsolete: Sequence[Path] = (), *, check: bool) -> list[Path]:
    """Write changed files and delete the ``obsolete`` files, unless ``check`` is true. Return both lists."""
    outdated = [file for file, text in texts.items() if not file.exists() or file.read_text("utf-8") != text]
    if not check:
        for file in outdated:
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(texts[file], encoding="utf-8")
        for file in obsolete:
            file.unlink()
    return [*outdated, *obsolete]
