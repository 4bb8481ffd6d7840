"""Card activity: every network message for a card, approved or declined.

Each row has the members of the Card activity record and the Financial authorize record (specification). The row is
written to the card's list and, in a reserved position, to the sharded list of all the programme manager's cards.
Approved messages that move money, except hold releases, are also written to the card's list of financial authorizes.

DynamoDB charges a write by the kilobyte, so rows omit flags that are not set and members in ``ZEROS`` that are 0. Older
rows include these members.
"""

from __future__ import annotations

import operator
from collections.abc import Mapping, Sequence
from dataclasses import asdict, field
from datetime import UTC, datetime
from functools import cached_property, reduce
from typing import Any

from chalicelib.cards.authorization.group_rules import AUTHENTICATED, FiredRules
from chalicelib.cards.issuing.card_record import Card
from chalicelib.cards.ledger.charges import NO_CHARGE, Charge
from chalicelib.cards.ledger.transaction_attributes import TransactionAttributes
from chalicelib.cards.protocol import values
from chalicelib.cards.protocol.values import CREDIT_TYPES, INQUIRY_TYPES, SECURITY_CHECKS
from chalicelib.cards.storage.record import WriteStamp, without_none
from chalicelib.cards.storage.reserved_rows import ReservedRow
from chalicelib.cards.storage.sequences import Sequences
from chalicelib.cards.storage.time_ordered import Search, Span, Timeline, shard_of, shards
from chalicelib.foundation.dynamodb.conditions import Attr, Condition
from chalicelib.foundation.dynamodb.store import Item, Put, absent
from chalicelib.foundation.lazy_dataclasses import dataclass

ACQUIRER_ID, ACQUIRER_BIN, FORWARDER_ID = "00000100001", 400001, "00000200001"
"""The id and BIN of the sandbox merchants' acquiring bank, and the id of the forwarding network."""

_CARD_PRESENT = frozenset((2, 5, 7, 80, 90, 91))
_READ_THE_STRIPE = frozenset((2, 80, 90, 91))
_READ_THE_CHIP = frozenset((5, 7))
_ONLINE = 81
_CONDITIONS = {_ONLINE: "59", 1: "08", 10: "08"}
"""Point of service condition codes (ISO 8583, field 25) of online, mail and telephone orders, by entry mode.

All other entry modes have the code 00.
"""


@dataclass(frozen=True, kw_only=True)
class CardUse:
    """One use of a card.

    ``country`` is the merchant's numeric ISO 3166-1 code. ``checks`` has a flag for each of ``SECURITY_CHECKS``.
    """

    transaction_type: int
    entry_mode: int = 0
    eci_indicator: int | None = None
    cashback_amount: int | None = None
    mcc: str | None = None
    merchant_name: str | None = None
    merchant_id: str | None = None
    country: int | None = None
    terminal_id: str | None = None
    checks: Mapping[str, int]

    @classmethod
    def of_request(cls, request: Any) -> CardUse:
        checked = {
            "card_expiration_date_present": request.expiry_year is not None or request.expiry_month is not None,
            "online_pin": request.pin is not None,
            "3_d_secure": request.eci_indicator in AUTHENTICATED,
            "cvv_2": request.cvc2 is not None,
            "magnetic_stripe": request.entry_mode_type in _READ_THE_STRIPE,
            "chip_data": request.entry_mode_type in _READ_THE_CHIP,
        }
        return cls(
            transaction_type=request.transaction_type,
            entry_mode=request.entry_mode_type or 0,
            eci_indicator=request.eci_indicator,
            cashback_amount=request.cashback_amount,
            checks={name: int(checked.get(name, False)) for name in SECURITY_CHECKS},
            **at_merchant(request),
        )

    @property
    def as_dict(self) -> dict[str, Any]:
        return without_none(asdict(self))

    @cached_property
    def takes_money(self) -> bool:
        """Whether the transaction debits the holder."""
        return self.transaction_type not in CREDIT_TYPES

    @cached_property
    def moves_money(self) -> bool:
        """Whether the transaction moves money. An inquiry does not."""
        return self.transaction_type not in INQUIRY_TYPES

    def attributes(self, currency: int, holder_country: int | None) -> TransactionAttributes:
        """The attributes on which fees, limits, usage groups and risk rules depend."""
        mcc = None if self.mcc is None else int(self.mcc)
        return TransactionAttributes(
            self.transaction_type, currency, self.entry_mode, mcc, self.country, holder_country
        )

    def report_members(self, number: int, now: int) -> dict[str, Any]:
        """Return the members that card activity and transactions have in common. Some values can be ``None``.

        ``number`` is the id of the message or transaction. ``now`` is its time in Unix seconds.
        """
        moment = datetime.fromtimestamp(now, UTC)
        return {
            "proc_code": self.transaction_type * 10_000,
            "transaction_type": self.transaction_type,
            "entry_mode_type": self.entry_mode,
            "mcc": None if self.mcc is None else int(self.mcc),
            "merchant_name": self.merchant_name,
            "merchant_id": self.merchant_id,
            "eci_indicator": self.eci_indicator,
            "acquirer_id": ACQUIRER_ID,
            "forwarder_id": FORWARDER_ID,
            "pos_entry_mode": f"{self.entry_mode:02}{1 if self.checks['online_pin'] else 2}",
            "transaction_local_time": f"{moment:%y%m%d%H%M%S}",
            "retrieval_reference_number": f"{moment:%y%j%H}"[1:] + f"{number % 1_000_000:06}",
            "security_checks": dict(self.checks),
        }


def at_merchant(request: Any) -> dict[str, Any]:
    """The ``CardUse`` members that describe the merchant."""
    return {
        "mcc": request.mcc,
        "merchant_name": request.merchant_name,
        "merchant_id": request.merchant_id,
        "country": request.merchant_country_ison,
        "terminal_id": request.terminal_id,
    }


UNCHECKED: Mapping[str, int] = dict.fromkeys(SECURITY_CHECKS, 0)
"""The security checks for a message without an authorization."""


TABLE = "card-activity"
ACTIVITY, AUTHORIZES = "activity", "authorize"
"""The names of two lists of messages: all card activity, and financial authorizes."""
ZEROS: Mapping[str, int] = dict.fromkeys(
    (
        *("proc_code", "transaction_fee_amount", "reversal", "actual", "suspicious"),
        *("billing_amount", "holder_amount", "transaction_fee", "currency_conversion_fee", "blended_fee"),
        *("is_conversion_fee_blended", "card_present"),
    ),
    0,
)
"""The members that are omitted from a row if their value is 0."""
_FLAGS = ("risk_actions", "security_checks")
_DIGITS = 20


@dataclass(frozen=True, kw_only=True)
class NetworkMessage:
    """A network message and its response. Amounts are in minor units.

    Attributes:
        number: the ``authorize_id``.
        kind: the ``authorize_type``.
        amount: the amount in ``currency``.
        charge: the charge to the account, or ``None`` if it could not be computed.
        holder_currency: the account's currency.
        holds_until: the time when the hold placed by this message expires, in Unix seconds.
    """

    number: int
    kind: int
    card: Card
    trans_link: str
    use: CardUse
    code: str
    amount: int
    currency: int
    charge: Charge | None
    holder_currency: int
    auth_code: str | None = None
    fired: FiredRules = field(default_factory=FiredRules)
    holds_until: int | None = None

    @cached_property
    def is_approved(self) -> bool:
        return self.code in values.APPROVALS

    @property
    def is_held(self) -> bool:
        """Whether this message places or prolongs a hold."""
        return self.holds_until is not None

    @cached_property
    def lists(self) -> list[str]:
        """The lists that include this message: card activity and, if it is approved and moves money, financial
        authorizes.
        """
        is_financial = self.is_approved and self.use.moves_money and not self.is_reversal
        return [ACTIVITY, AUTHORIZES] if is_financial else [ACTIVITY]

    @cached_property
    def is_reversal(self) -> bool:
        return self.kind in (values.REVERSAL, values.EXPIRY)

    def members(self, now: int) -> dict[str, Any]:
        """Return the report members of a message sent at ``now`` (Unix seconds)."""
        use, moment = self.use, datetime.fromtimestamp(now, UTC)
        charge = self.charge or NO_CHARGE
        converted, stan = charge.conversion, self.number % 1_000_000
        members = {
            "authorize_id": self.number,
            "authorize_type": self.kind,
            "card_present": int(use.entry_mode in _CARD_PRESENT),
            "card_id": self.card.id,
            "trans_link": self.trans_link,
            "transmission_date": f"{moment:%Y-%m-%d}",
            "transmission_time": now,
            "billing_amount": converted.base_amount,
            "billing_currency_ison": self.holder_currency,
            "billing_conversion_rate": str(converted.base_rate),
            "holder_amount": charge.holder_amount,
            "holder_currency_ison": self.holder_currency,
            "transaction_fee": sum(fee.amount for fee in charge.fees),
            "currency_conversion_fee": converted.fee,
            "base_conversion_rate": str(converted.base_rate),
            "holder_conversion_rate": str(converted.holder_rate),
            "is_conversion_fee_blended": int(charge.blends_conversion),
            "blended_fee": charge.blended_fee,
            "stan": stan,
            "transaction_amount": self.amount,
            "transaction_currency_ison": self.currency,
            "transaction_fee_amount": 0,
            "response_code": self.code,
            "reversal": int(self.is_reversal),
            "actual": int(self.is_approved),
            "auth_code": self.auth_code,
            "country_ison": use.country,
            "terminal_id": use.terminal_id,
            "pos_condition_code": _CONDITIONS.get(use.entry_mode, "00"),
            "note": f"fired: {_join_rules(self.fired.rules, ', ', 248)}" if self.fired.rules else None,
            "trace_id": f"{int(self.trans_link):015}",
            "trace_number": f"{stan:06}",
            "advice_reason_code": values.ADVICE_REASONS.get(self.kind),
            "cashback_amount": use.cashback_amount if self.kind in (values.AUTHORIZATION, values.ADVICE) else None,
            **risk_members(self.fired),
            "date_valid": self.holds_until and f"{datetime.fromtimestamp(self.holds_until, UTC):%Y-%m-%d}",
        }
        return without_none(members | use.report_members(self.number, now))

    def put_rows(self, stamp: WriteStamp, reserved: ReservedRow) -> list[Put]:
        """Return the put operations for the message's rows, recorded at ``stamp``."""
        row = self.row(stamp)
        places = [of_card(self.card.id, name).key(stamp.at, self.number) for name in self.lists]
        return [reserved.put(row), *(Put(table, place | row, absent("owner")) for table, place in places)]

    def row(self, stamp: WriteStamp) -> Item:
        """Return the members of the message's rows, recorded at ``stamp``."""
        members = self.members(stamp.now)
        return {
            **{name: value for name, value in members.items() if value != 0 or name not in ZEROS},
            **{name: {flag: 1 for flag, is_set in members[name].items() if is_set} for name in _FLAGS},
            "at": stamp.at,
            "manager_id": self.card.manager_id,
            "access_level": self.card.access_level,
            "written_by": stamp.write_id,
        }


def of_card(card_id: int, name: str = ACTIVITY) -> Timeline:
    """Return all messages for a card. With ``AUTHORIZES``, return only approved messages, without inquiries and hold
    releases.
    """
    return Timeline(TABLE, f"card#{card_id}", name, _DIGITS)


def of_manager(manager_id: int) -> Sequence[Timeline]:
    """Return all messages for a programme manager's cards, as one timeline per shard."""
    return [Timeline(TABLE, shard, ACTIVITY, _DIGITS) for shard in shards(manager_id)]


def shard_with(manager_id: int, number: int) -> Timeline:
    """Return the shard of the programme manager's list of all cards that contains the message with the given number."""
    return Timeline(TABLE, shard_of(manager_id, number), ACTIVITY, _DIGITS)


def new_entry(manager_id: int, sequences: Sequences) -> tuple[Timeline, int]:
    """Return the timeline and the number of a new message in the list of all the programme manager's cards."""
    number = sequences.next("authorization")
    return shard_with(manager_id, number), number


def search(timeline: Timeline, span: Span, approved: int | None, kind: int | None) -> Search:
    """Return a search for messages in a list, by time, approval and ``authorize_type``."""
    conditions: list[Condition] = []
    if approved is not None:
        is_approved = Attr("response_code").is_in(list(values.APPROVALS))
        conditions.append(is_approved if approved else ~is_approved)
    if kind is not None:
        conditions.append(Attr("authorize_type").eq(kind))
    condition = reduce(operator.and_, conditions) if conditions else None
    return Search(condition, timeline.first_part(span), timeline.last_part(span))


def risk_members(fired: FiredRules) -> dict[str, Any]:
    """Return the report members for the risk rules that fired."""
    return {
        "suspicious": int(values.SUSPICIOUS in fired.actions),
        "risk_actions": risk_action_flags(fired),
        "risk_rule_ids": _join_rules(fired.rules, ",") or None,
    }


def _join_rules(rules: Sequence[str], between: str, room: int = 255) -> str:
    listed = ""
    for rule in rules:
        longer = f"{listed}{between}{rule}" if listed else rule
        if len(longer) > room:
            break
        listed = longer
    return listed


def risk_action_flags(fired: FiredRules) -> dict[str, int]:
    """Return a flag, 0 or 1, for each risk action."""
    return {name: int(name in fired.actions) for name in values.RISK_ACTIONS}
