"""Writes the OpenAPI documents.

With ``--check``, lists the outdated documents instead.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path

from chalicelib.openbanking.protocol.versions import VERSIONS
from infra import command
from infra.generated_files import run, update_files
from infra.render.openapi import bank, tpp
from infra.render.openapi.cards import document as cards
from infra.render.openapi.document import ROOT
from infra.render.openapi.schemas import Json

PLACE = ROOT / "chalicelib" / "website" / "openapi"
DOCUMENTS: Mapping[str, Callable[[], Json]] = {
    "tpp": tpp.build,
    **{f"bank-v{version}": partial(bank.build, version) for version in VERSIONS.values()},
    "cards": cards.build,
}


def texts() -> dict[Path, str]:
    """The expected content of each document's file."""
    return {
        PLACE / f"{name}.json": json.dumps(build(), indent=1, ensure_ascii=False) + "\n"
        for name, build in DOCUMENTS.items()
    }


def main(arguments: list[str] | None = None) -> int:
    """Run the command. Returns the exit code."""
    return run("infra.render.openapi", __doc__, lambda check: update_files(texts(), check=check), arguments)


if __name__ == "__main__":
    command.run(main)
