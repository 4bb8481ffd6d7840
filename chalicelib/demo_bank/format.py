"""Formats, the version-specific part of a demonstration bank (``format_v1``, ``format_v2``).

All versions share the rest of the bank. ``Profile.protocol`` defines the protocol; the format and the ``WebhookFormat``
define how the bank uses the protocol.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Literal

from chalicelib.demo_bank.refusals import OwnRefusal
from chalicelib.foundation.lazy_dataclasses import dataclass
from chalicelib.openbanking.protocol.errors import Fault
from chalicelib.openbanking.protocol.payment_statuses import Status

PaymentStep = Literal[
    "received",
    "checked",
    "confirmed",
    "undecided",
    "uncertain",
    "pending",
    "settled",
    "credited",
    "rejected",
    "cancelled",
]


@dataclass(frozen=True, slots=True, eq=False)
class Format:
    """The values of one protocol version.

    Attributes:
        statuses: the statuses by payment step. ``undecided`` is a confirmed payment that may still be rejected, and
            ``pending`` a payment that is never settled.
        own_code: the code of a refusal that the protocol does not define.
        token_fault: the fault for an ended or expired token.
        reference_members: the payment members that may contain a test reference, as text.
    """

    statuses: Mapping[PaymentStep, Status]
    own_code: Callable[[OwnRefusal], int | str]
    token_fault: Fault
    reference_members: str
