"""What the processor time of a request goes to: the stack is looked at every millisecond of it."""

from __future__ import annotations

import signal
import time
from collections import Counter
from collections.abc import Callable, Mapping
from types import FrameType

PARTS: Mapping[str, tuple[str, ...]] = {
    "log lines": ("chalicelib/foundation/log.py",),
    "RSA signature": ("chalicelib/foundation/crypto/signatures.py",),
    "encryption, tokens": ("chalicelib/foundation/crypto/", "chalicelib/foundation/identifiers.py"),
    "AWS: signature": ("botocore/", "chalicelib/foundation/aws/signing.py"),
    "AWS: the rest": ("chalicelib/foundation/aws/",),
    "DynamoDB's items and conditions": ("chalicelib/foundation/dynamodb/items.py", "dynamodb/conditions.py"),
    "HTTP, to AWS and to the bank": ("chalicelib/foundation/http/", "http/client.py", "email/"),
    "models and JSON": ("pydantic/", "chalicelib/foundation/jsontext.py", "chalicelib/foundation/fields/"),
    "measurements": ("chalicelib/statistics/",),
    "Causeway, the rest": ("chalicelib/",),
    "Chalice": ("chalice/",),
}
"""Parts, and the code that is theirs. A sample belongs to the part of the innermost code that is in any."""
_INTERVAL = 0.001


def shares(call: Callable[[], None], times: int) -> dict[str, float]:
    """The milliseconds of processor time per call of each part that takes any, the largest first."""
    counts: Counter[str] = Counter()
    before = signal.signal(signal.SIGPROF, lambda _, frame: counts.update([_part(frame)]))
    signal.setitimer(signal.ITIMER_PROF, _INTERVAL, _INTERVAL)
    started = time.process_time()
    try:
        for _ in range(times):
            call()
        each = (time.process_time() - started) * 1000 / times
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)
    return {part: each * count / counts.total() for part, count in counts.most_common()}


def _part(frame: FrameType | None) -> str:
    while frame:
        file = frame.f_code.co_filename
        for part, own in PARTS.items():
            if any(f"/{each}" in file for each in own):
                return part
        frame = frame.f_back
    return "the benchmark itself"
