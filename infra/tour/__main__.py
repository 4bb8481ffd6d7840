"""``python -m infra.tour``: a TPP and a PSU on their way through both demonstration banks, with all that is said."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Any

import requests

from infra.tour.browser import Stuck
from infra.tour.guide import Guide
from infra.tour.journey import Tour, TourFailed


def run(stack: Mapping[str, Any]) -> None:
    """Play the tour against a stack. Raises: TourFailed, Stuck."""
    guide = Guide()
    client = stack["client"]
    tour = Tour(stack["base_url"], client["client_id"], client["callback_url"], guide)
    for bank in stack["banks"]:
        tour.bank(bank["bic"], bank["name"], bank["api_version"])
    print(f"\n{guide.colour('green', 'Both banks done.')}")


def main() -> int:
    """The running stack if there is one, else one of its own."""
    from infra.local import background, stackfile

    try:
        running = stackfile.running()
        if running is not None:
            run(running)
            return 0
        print("No stack is running: starting one for the tour.")
        with background.started() as own:
            run(own)
    except (TourFailed, Stuck, requests.RequestException) as error:
        print(f"The tour ended early: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
