"""The files that ``make docs`` renders: the OpenAPI documents, and the pages of ``/docs``.

Git ignores their folder, and every deployment package contains it. ``make docs`` replaces the whole folder.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from functools import cache, wraps
from pathlib import Path
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")

FOLDER = Path(__file__).parent / "rendered"
FINGERPRINT = "fingerprint"
"""The name of the file with the fingerprint of the sources of the rendered files."""
rendering_failed = threading.Event()
"""An event that is set when the local stack's renderer has failed."""


class NotRendered(Exception):
    """A rendered file is missing because ``make docs`` was not run, or did not complete. The message is the file's
    name.
    """


def read(name: str) -> str:
    """Read the text of a rendered file. Raises: NotRendered."""
    try:
        return (FOLDER / name).read_text("utf-8")
    except FileNotFoundError:
        raise NotRendered(name) from None


def explain_missing(*, is_local: bool) -> str:
    """Return a sentence that explains what to do about missing rendered files."""
    if is_local and rendering_failed.is_set():
        return "The documents could not be rendered: `make docs` shows why."
    if is_local:
        return "The documents are being rendered: try again in a few seconds, or run `make docs`."
    return "This deployment has no rendered documents: run `make docs`, then deploy again."


def cache_until_replaced(function: Callable[P, T]) -> Callable[P, T]:
    """Cache the results of ``function``, which depend on the rendered files, until their folder is replaced."""
    seen: list[int] = []

    @cache
    def cached(_written: int, *args: P.args, **kwargs: P.kwargs) -> T:
        return function(*args, **kwargs)

    @wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> T:
        found = _stamp()
        if seen != [found]:
            cached.cache_clear()
            seen[:] = [found]
        # The stamp is part of the key: a slow reader may store an old text after another one has cleared the cache.
        return cached(found, *args, **kwargs)  # type: ignore[arg-type]  # the arguments are hashable

    return call


def _stamp() -> int:
    """Return the folder's modification time in nanoseconds. Raises: NotRendered."""
    try:
        return (FOLDER / FINGERPRINT).stat().st_mtime_ns
    except FileNotFoundError:
        raise NotRendered(FINGERPRINT) from None
