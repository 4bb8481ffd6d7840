"""``.local/stack.json``: what a running one-machine stack tells the tools beside it, while it runs.

The file holds a password and credentials, and is readable by its owner only. Its members:

``pid``             the stack's process
``engine``          ``emulator``, ``dynamodb-local``, ``localstack`` or ``endpoint``
``dynamodb_engine`` ``dynamodb-local`` or ``endpoint`` when DynamoDB is apart from the other services, else ``null``
``base_url``        where the service answers
``user``            ``email`` and ``password`` of the seeded user
``client``          ``client_id``, ``client_secret`` (``null`` when it has none), ``title`` and ``callback_url``
``banks``           a list of ``bic``, ``name``, ``api_version``, ``domain`` and ``authorization_url``
``programme``       the programme manager of the card API: ``manager_id``, ``name``, and ``credentials`` by name
                    (``full``, ``support``, ``encrypted``), each with ``access_key``, ``access_api_id`` and
                    ``access_api_key``
``other_programme`` another programme manager, in the same form; its credential is ``other``
``log``             the file that everything the service logs is written to (see ``logfile``)
``environment``     the variables that let another process work on this stack: endpoints, region, stage
"""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

VARIABLE = "CAUSEWAY_STACK_FILE"
ROOT = Path(__file__).resolve().parents[2]


def location(environ: Mapping[str, str] = os.environ) -> Path:
    """Where the file is: ``CAUSEWAY_STACK_FILE``, else ``.local/stack.json`` in the repository."""
    return Path(environ.get(VARIABLE) or ROOT / ".local" / "stack.json")


def read(path: Path | None = None) -> dict[str, Any] | None:
    """What the file says, whether or not that stack still runs; ``None`` without a usable file."""
    try:
        content = json.loads((path or location()).read_text(encoding="utf-8"))
    except (FileNotFoundError, ValueError):
        return None
    return content if isinstance(content, dict) else None


def running(path: Path | None = None) -> dict[str, Any] | None:
    """What the file says of a stack that runs now, else ``None``."""
    content = read(path)
    return content if content and _alive(content.get("pid")) else None


def write_private(path: Path, text: str) -> None:
    """Replace a file in one step, readable by its owner only."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    with os.fdopen(handle, "w", encoding="utf-8") as file:
        file.write(text)
    Path(name).replace(path)


def write(path: Path, content: Mapping[str, Any]) -> None:
    """Write the stack's file."""
    write_private(path, json.dumps(content, indent=2) + "\n")


def leave(path: Path) -> None:
    """What a stack does with its file when it ends: remove it, unless it is another stack's."""
    content = read(path)
    if content and content.get("pid") == os.getpid():
        path.unlink(missing_ok=True)


def shown(path: Path) -> str:
    """A path as a person in the repository writes it."""
    return str(path.relative_to(ROOT) if path.is_relative_to(ROOT) else path)


def _alive(pid: Any) -> bool:
    if not isinstance(pid, int):
        return False
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
