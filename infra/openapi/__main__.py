"""Writes the OpenAPI documents.

With ``--check``, lists the outdated documents instead.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path

from chalicelib.openbanking.protocol.versions import VERSIONS
from infra import command
from infra.local import stackfile
from infra.openapi import bank, tpp
from infra.openapi.cards import document as cards
from infra.openapi.document import ROOT
from infra.openapi.schemas import Json

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
    parser = command.parser("infra.openapi", __doc__)
    parser.add_argument("--check", action="store_true", help="write nothing; fail when a document is out of date")
    options = parser.parse_args(arguments)
    stale = [(file, text) for file, text in texts().items() if not file.exists() or file.read_text("utf-8") != text]
    for file, text in stale:
        shown = stackfile.display_path(file)
        if options.check:
            print(f"{shown} is out of date: make docs", file=sys.stderr)
            continue
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
        print(shown)
    return 1 if stale and options.check else 0


if __name__ == "__main__":
    command.run(main)
