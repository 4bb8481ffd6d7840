"""Static files under names that change with their content, so that browsers may keep them for good."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from chalice.app import Response

from chalicelib.foundation.http.web import text_answer
from chalicelib.foundation.identifiers import digest

TYPES: Mapping[str, str] = {
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
}
"""What a room may have in its folder, all of it text, by suffix."""
_FOR_GOOD = "public, max-age=31536000, immutable"


@dataclass(frozen=True)
class StaticFiles:
    """The files in some folders, the first of which wins, and single ``files`` from elsewhere; read when asked for."""

    folders: Sequence[Path]
    files: Sequence[Path] = ()

    def name(self, file: str) -> str:
        """The name that ``file`` is served under: ``style.css`` is ``style.0123456789ab.css``. Raises: KeyError."""
        return self._files_by_name[file]

    def answer(self, name: str) -> Response | None:
        """The file that is served under ``name``; ``None`` when there is none."""
        file = self._files.get(name)
        if file is None:
            return None
        text = file.read_text(encoding="utf-8")
        return text_answer(text, TYPES[file.suffix], headers={"Cache-Control": _FOR_GOOD})

    @cached_property
    def _files(self) -> Mapping[str, Path]:
        """The files by the names that they are served under."""
        found = {file.name: file for file in self.files}
        for folder in reversed(self.folders):
            found |= {file.name: file for file in folder.iterdir() if file.suffix in TYPES}
        return {_hashed_name(file): file for file in found.values()}

    @cached_property
    def _files_by_name(self) -> Mapping[str, str]:
        return {file.name: served for served, file in self._files.items()}


def _hashed_name(file: Path) -> str:
    return f"{file.stem}.{digest(file.read_bytes())[:12]}{file.suffix}"
