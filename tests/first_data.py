"""What a new stack begins with: tests wait for it, since others play cards on the same stack."""

from __future__ import annotations

import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from infra.local import stackfile
from infra.local.first_data import COMPLETE

_SECONDS = 60


def wait_for_card_month(stack: Mapping[str, Any]) -> None:
    """Wait until the month of card use has been played, as the stack's file says."""
    file = Path(stack["log"]).with_name("stack.json")
    deadline = time.monotonic() + _SECONDS
    while (state := ((stackfile.read(file) or {}).get("first_data") or {}).get("state")) != COMPLETE:
        assert time.monotonic() < deadline, f"the month of card use is still {state}"
        time.sleep(0.05)
