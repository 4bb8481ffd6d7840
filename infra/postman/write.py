"""Writes a Postman collection and its environment for the running stack, with its credentials, to ``build/``."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import requests

from infra import command
from infra.local import stackfile
from infra.render.openapi.__main__ import DOCUMENTS
from infra.tour.browser import NavigationFailed

TARGET = stackfile.ROOT / "build"


def write(target: Path) -> list[Path]:
    """Write both files for the running stack. Returns their paths.

    Raises:
        PreparationFailed, NavigationFailed, RequestException.
    """
    from infra.postman.collection import build, environment
    from infra.postman.fixtures import PreparationFailed, prepare

    stack = stackfile.find_running()
    if stack is None:
        raise PreparationFailed("no stack is running: make run, in another terminal")
    stackfile.point_at_stack(os.environ, stack["environment"])
    base, client_id = stack["base_url"], stack["client"]["client_id"]
    documents = {name: make() for name, make in DOCUMENTS.items()}
    credential = stack["programme"]["credentials"]["full"]
    collection = build(documents, base, client_id, prepare(stack), credential)
    made = {
        target / "causeway.postman_collection.json": collection,
        target / "causeway.postman_environment.json": environment(base, client_id),
    }
    for file, content in made.items():
        stackfile.write_private(file, json.dumps(content, indent=2, ensure_ascii=False) + "\n")
    return list(made)


def main(arguments: list[str] | None = None) -> int:
    """Run the command. Returns the exit code."""
    from infra.postman.fixtures import PreparationFailed

    command.parser("infra.postman", __doc__).parse_args(arguments)
    try:
        for file in write(TARGET):
            print(stackfile.display_path(file))
    except (PreparationFailed, NavigationFailed, requests.RequestException) as error:
        print(f"causeway: {error}.", file=sys.stderr)
        return 1
    return 0
