"""What a new stack begins with: tests wait for it, since others play cards on the same stack."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from infra.local import stackfile
from infra.local.first_data import COMPLETE
from tests.patience import wait_for


def wait_for_card_month(stack: Mapping[str, Any]) -> None:
    """Wait until the month of card use has been played, as the stack's file says."""
    file = Path(stack["log"]).with_name("stack.json")

    def is_complete() -> bool:
        return ((stackfile.read(file) or {}).get("first_data") or {}).get("state") == COMPLETE

    wait_for(is_complete, "the month of card use has not been played")
