"""Writes ``infra/capacity.md`` from the counts, or prints it for other suppositions."""

from __future__ import annotations

import sys
from dataclasses import replace

from infra import command
from infra.capacity import page
from infra.capacity.costs import Suppositions
from infra.capacity.counts import load


def main(arguments: list[str] | None = None) -> None:
    """Write the page, or print it when anything else is supposed."""
    first = Suppositions()
    parser = command.parser("infra.capacity", __doc__)
    parser.add_argument("--bank-milliseconds", type=int, default=first.bank, help="what a bank takes to answer")
    parser.add_argument("--storage-milliseconds", type=int, default=first.storage, help="what a call of DynamoDB takes")
    asked = parser.parse_args(arguments)
    supposed = replace(first, bank=asked.bank_milliseconds, storage=asked.storage_milliseconds)
    if supposed == first:
        page.write()
        print("wrote infra/capacity.md")
    else:
        sys.stdout.write(page.text(load(), supposed))


if __name__ == "__main__":
    command.run(main)
