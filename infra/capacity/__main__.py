"""``python -m infra.capacity``: writes ``infra/capacity.md`` from the counts, or prints it for other suppositions."""

from __future__ import annotations

import argparse
import sys
from dataclasses import replace

from infra.capacity import page
from infra.capacity.costs import Suppositions
from infra.capacity.counts import load


def main() -> None:
    """Write the page, or print it when anything else is supposed."""
    first = Suppositions()
    parser = argparse.ArgumentParser(prog="python -m infra.capacity", description=__doc__)
    parser.add_argument("--bank-milliseconds", type=int, default=first.bank, help="what a bank takes to answer")
    parser.add_argument("--storage-milliseconds", type=int, default=first.storage, help="what a call of DynamoDB takes")
    asked = parser.parse_args()
    supposed = replace(first, bank=asked.bank_milliseconds, storage=asked.storage_milliseconds)
    if supposed == first:
        page.write()
        print("wrote infra/capacity.md")
    else:
        sys.stdout.write(page.text(load(), supposed))


if __name__ == "__main__":
    main()
