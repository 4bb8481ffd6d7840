"""What a stack costs while nobody uses it. Reads Linux's ``/proc``."""

from __future__ import annotations

import os
import time
from pathlib import Path

_SETTLED, _WATCHED = 5, 30


def share_of_a_core(pid: int) -> float:
    """The share of a processor core that a process and all below it use in half a minute."""
    time.sleep(_SETTLED)
    before = _processor_seconds(pid)
    time.sleep(_WATCHED)
    return (_processor_seconds(pid) - before) / _WATCHED


def _processor_seconds(pid: int) -> float:
    times: dict[int, tuple[int, float]] = {}
    for file in Path("/proc").glob("[0-9]*/stat"):
        try:
            parts = file.read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
        except OSError:  # it has ended meanwhile
            continue
        times[int(file.parent.name)] = int(parts[1]), (int(parts[11]) + int(parts[12])) / os.sysconf("SC_CLK_TCK")
    below = {pid}
    while more := {each for each, (parent, _) in times.items() if parent in below} - below:
        below |= more
    return sum(times[each][1] for each in below)
