"""Refusals that may indicate an attack. Each refusal is logged, and counted by kind in the metric ``SecurityRefusals``.

``record`` logs and counts, so alarms and logs agree. Responses contain fewer details than the log.
"""

from __future__ import annotations

from typing import Literal

from chalicelib.foundation import log
from chalicelib.foundation.metrics import Metrics

Kind = Literal[
    "misused_token",
    "replayed_proof",
    "wrong_key",
    "refused_certificate",
    "wrong_client_credentials",
    "wrong_bank_credentials",
    "wrong_card_credentials",
    "too_many_attempts",
]
"""The kind of a refusal. A misused token is a code or a refresh token that was used a second time, which ended the
consent.
"""

METRIC = "SecurityRefusals"
_metrics: Metrics | None = None


def count_with(metrics: Metrics | None) -> None:
    """Count refusals in ``metrics``. If ``metrics`` is ``None``, refusals are not counted."""
    global _metrics
    _metrics = metrics


def record(kind: Kind, event: str, **members: object) -> None:
    """Log a refused request as the warning ``event`` with ``members``, and count the refusal in the metric for
    ``kind``.
    """
    log.warning(event, **members)
    if _metrics is not None:
        _metrics.write({METRIC: 1}, Kind=kind)
