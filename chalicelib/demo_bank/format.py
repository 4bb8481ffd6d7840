"""Formats: what a version of the protocol changes at a demonstration bank (``format_v1``, ``format_v2``).

The rest of the bank does not ask which version it speaks. What the protocol says stands in the version
(``Profile.protocol``); what these banks make of it stands in the format.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from chalicelib.demo_bank.refusals import OwnRefusal
from chalicelib.openbanking.protocol.errors import Fault
from chalicelib.openbanking.protocol.payment_enumerations import Kind
from chalicelib.openbanking.protocol.payment_statuses import Status

if TYPE_CHECKING:
    from chalicelib.demo_bank.calls import Call
    from chalicelib.demo_bank.instructions import Instruction
    from chalicelib.demo_bank.orders import Order
    from chalicelib.demo_bank.profiles import Profile

Step = Literal[
    "received", "checked", "confirmed", "undecided", "uncertain", "settled", "credited", "rejected", "cancelled"
]


@dataclass(frozen=True, slots=True, eq=False)
class Format:
    """How a demonstration bank speaks one version.

    Attributes:
        statuses: what a step of a payment is called. ``undecided`` is a confirmed payment that may still be rejected.
        answers: make the members of the answer to a relayed question, by the name of the call.
        instruction_readers: read a checked payment request into the neutral form. Raise: Refusal, Unpayable.
        payment_answer: makes the answer to a new payment of its order and its confirmation address.
        own_code: the code of a refusal for which the protocol has none.
        token_fault: what a token is refused with that is not in force.
        reference_members: which members of a payment may carry a test reference, in words.
    """

    statuses: Mapping[Step, Status]
    answers: Mapping[str, Callable[[Call], dict[str, Any]]]
    instruction_readers: Mapping[Kind, Callable[[Profile, Kind, Any], Instruction]]
    payment_answer: Callable[[Order, str], dict[str, Any]]
    own_code: Callable[[OwnRefusal], int | str]
    token_fault: Fault
    reference_members: str
