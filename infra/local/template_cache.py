"""Stores the compiled templates of pages, so that several stacks share them."""

from __future__ import annotations

from contextlib import suppress
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import jinja2

from chalicelib.foundation.http.pages import Templates
from infra.repository import ROOT

if TYPE_CHECKING:
    from jinja2.bccache import Bucket

FOLDER = ROOT / ".local" / "templates"


class TemplateCache(jinja2.FileSystemBytecodeCache):
    """Compiled templates in ``folder``. A template that cannot be stored, for example on a full disk, is compiled
    again.

    A change to a file in ``code`` also invalidates the templates, because filters that are applied to constants are
    evaluated at compile time.
    """

    def __init__(self, folder: Path = FOLDER, code: Path = ROOT / "chalicelib") -> None:
        self._code = code
        with suppress(OSError):
            for each in (folder.parent, folder):
                each.mkdir(mode=0o700, exist_ok=True)
        super().__init__(str(folder))

    def get_source_checksum(self, source: str) -> str:
        """Return a digest of the template and all inputs of its compiled form."""
        return super().get_source_checksum(f"{source}{self._state_of_code}")

    def load_bytecode(self, bucket: Bucket) -> None:
        """Load a stored compiled template."""
        with suppress(OSError):
            super().load_bytecode(bucket)

    def dump_bytecode(self, bucket: Bucket) -> None:
        """Store a compiled template."""
        with suppress(OSError):
            super().dump_bytecode(bucket)

    @cached_property
    def _state_of_code(self) -> str:
        times = sorted((str(file), file.stat().st_mtime_ns) for file in self._code.rglob("*.py"))
        return f"{jinja2.__version__}{times}"


def preload_pages() -> None:
    """Load the parts of pages in advance, so that the first page is as fast as later pages."""
    from chalicelib.website import pages, site  # noqa: F401 - its first request would import it

    Templates.compiled = TemplateCache()
    pages.preload()
