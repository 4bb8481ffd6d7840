"""Report rows as response data. Members without a value are omitted."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any, TypeVar, cast

from chalicelib.cards.authorization.activity_record import ZEROS
from chalicelib.cards.protocol import values
from chalicelib.cards.protocol.message import Answer
from chalicelib.cards.protocol.report_messages import (
    AddendumRecord,
    CardActivityRecord,
    FinancialAuthorizeRecord,
    TransactionRecord,
)
from chalicelib.cards.storage.record import without_none
from chalicelib.foundation import jsontext
from chalicelib.foundation.dynamodb.store import Item
from chalicelib.foundation.fields.registries import country_letters

A = TypeVar("A", bound=Answer)
_RATES = ("billing_conversion_rate", "settlement_conversion_rate", "base_conversion_rate", "holder_conversion_rate")
_FLAGS: Mapping[str, Sequence[str]] = {"risk_actions": values.RISK_ACTIONS, "security_checks": values.SECURITY_CHECKS}
_BY_CARD = frozenset((values.PRESENTMENT, values.CHARGEBACK))
_MTI_OF_TYPE = dict.fromkeys(values.EXTERNAL_TYPES, values.EXTERNAL_PAYMENT) | {values.FEE: values.FEE_COLLECTION}
_UNCHECKED: Mapping[str, Any] = {"suspicious": 0, "risk_actions": {}, "security_checks": {}}
"""The values of the risk and security members for transactions that the network did not check."""


def activity(row: Item) -> CardActivityRecord:
    """Serialize a row of card activity, with the record's member names."""
    return _record(CardActivityRecord, {**ZEROS, **row})


def financial_authorize(row: Item) -> FinancialAuthorizeRecord:
    """Serialize a row of card activity as a financial authorize.

    ``currency_conversion_fee`` is present unless ``holder_amount`` includes this fee. ``transaction_fee`` is present
    unless this fee is a separate transaction.
    """
    row = {**ZEROS, **row}
    apart = None if row["is_conversion_fee_blended"] else row["currency_conversion_fee"] or None
    fees: FinancialAuthorizeRecord = {
        "transaction_fee": row["blended_fee"] or None,
        "currency_conversion_fee": apart,
        "currency_convertion_fee": apart,
    }
    return _record(FinancialAuthorizeRecord, {**row, **fees})


def transaction(row: Item) -> TransactionRecord:
    """Serialize a transaction with the network's data and the account's booking.

    The network's data have the record's member names, for example mcc, merchant, acquirer, security checks, risk
    actions and rules, and ``auth_code``. The booking contains the amounts and rates of the conversion, the fees
    included in ``holder_amount`` (in the account's currency), and the day of recording, which is also the day of
    settlement.
    """
    network: Mapping[str, Any] = row.get("network") or {}
    books = _identification(row) | _amounts(row) | _reconciliation(row)
    members = {**_UNCHECKED, **network, **_merchant(row, network), **without_none(books), **row.get("counterparty", {})}
    null = ("card_id",) if row["transaction_type"] in values.EXTERNAL_TYPES else ()
    return _record(TransactionRecord, members, null)


def addendum(row: Item) -> AddendumRecord:
    """Serialize an addendum without changing its data."""
    members = {**row, "date_imported": row["at"] // 1000, "data": jsontext.read_stored(row["data"])}
    return _record(AddendumRecord, members)


# -- transactions


def _type(row: Item) -> int:
    """Return the transaction's type. The type of a return is derived from its direction, because older rows do not
    distinguish the two types.
    """
    kind = int(row["transaction_type"])
    return values.RETURN_TYPES[row["direction"]] if kind in values.RETURNS else kind


def _mti(row: Item) -> int:
    return int(row.get("mti", _MTI_OF_TYPE.get(row["transaction_type"], values.PRESENTMENT)))


def _identification(row: Item) -> TransactionRecord:
    """Return the ids of a transaction. ``transaction_log_id`` is the authorization's id."""
    return {
        "transaction_id": row["id"],
        "mti": _mti(row),
        "account_id": row["account_id"],
        "proc_code": _type(row) * 10_000,
        "trans_link": row["trans_link"],
        "transaction_type": _type(row),
        "entry_mode_type": row["entry_mode"],
        "description": row.get("description"),
        "card_id": row.get("card_id"),
        "parent_transaction_id": row.get("parent_id"),
        "transaction_log_id": row.get("authorization_id"),
        "reason_code": row.get("reason_code"),
        "function_code": row.get("function_code"),
        "reference_number": row.get("reference"),
        "epm_transaction_id": row.get("epm_transaction_id"),
        "epm_mandate_id": row.get("epm_mandate_id"),
    }


def _amounts(row: Item) -> TransactionRecord:
    """Return the amounts booked on the account. ``holder_billing_amount`` is at the base rate, without fees.

    The ``holder_amount`` of a return always includes the conversion fee, because a return also refunds this fee.
    """
    conversion_fee, is_return = row["conversion_fee"], row["transaction_type"] in values.RETURNS
    # what came in bears its cost, and so does its return: in both the amount is less than what was paid in
    sign = 1 if (row["direction"] == "debit") != is_return else -1
    blended = row["conversion_fee_blended"] or is_return
    holder_amount = row["holder_amount"] + (0 if row["conversion_fee_blended"] == blended else sign * conversion_fee)
    return {
        "base_conversion_rate": row["base_rate"],
        "holder_conversion_rate": row["holder_rate"],
        "is_conversion_fee_blended": int(blended),
        "transaction_amount": row["amount"],
        "transaction_currency_ison": row["currency"],
        "holder_billing_amount": holder_amount - sign * (row["fee"] + (conversion_fee if blended else 0)),
        "holder_billing_currency_ison": row["holder_currency"],
        "holder_amount": holder_amount,
        "holder_currency_ison": row["holder_currency"],
        "currency_convertion_fee": conversion_fee or None,
        "currency_conversion_fee": conversion_fee or None,
        "transaction_fee": row["fee"] or None,
        "settlement_date": _day(row),
    }


def _reconciliation(row: Item) -> TransactionRecord:
    """Return the amount to reconcile with the network or the provider, in the transaction's currency, without fees.

    A return always has the full original amount.
    """
    if _mti(row) == values.FEE_COLLECTION:
        return {}
    reconciled: TransactionRecord = {
        "reconciliation_amount": row["amount"],
        "reconciliation_currency_ison": row["currency"],
        "reconciliation_date": _day(row),
    }
    if row["transaction_type"] in values.RETURNS:
        reconciled["transaction_original_amount"] = reconciled["reconciliation_original_amount"] = row["amount"]
    return reconciled


def _day(row: Item) -> int:
    """Return the day of recording (UTC) as ``YYMMDD``."""
    return int(f"{datetime.fromtimestamp(row['at'] // 1000, UTC):%y%m%d}")


def _merchant(row: Item, network: Mapping[str, Any]) -> TransactionRecord:
    """Return the alphabetic country code, and the name and place in one line, as on statements (ISO 8583, field 43)."""
    number = network.get("merchant_country", row.get("country") if _mti(row) in _BY_CARD else None)
    country = None if number is None else country_letters()[number]
    if "merchant_name" not in network:
        return {"merchant_country": country}
    parts = (network["merchant_name"], network.get("merchant_city"), country)
    return {"merchant_country": country, "merchant": " ".join(filter(None, parts))}


# -- records


def _record(model: type[A], members: Mapping[str, Any], null: Collection[str] = ()) -> A:
    """Return the members of a record in order. Nullable members without a value are ``null``."""
    found = ((name, members.get(name)) for name in model.__annotations__)
    named: dict[str, Any] = {name: value for name, value in found if value is not None or name in null}
    rates = {name: Decimal(named[name]) for name in _RATES if name in named}
    flags = {
        name: [{flag: named[name].get(flag, 0) for flag in every}] for name, every in _FLAGS.items() if name in named
    }
    return cast(A, named | rates | flags)
