"""Test payment orders in the format of either protocol version."""

from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from causeway import tpp

_RECEIVERS = {"GBP": "GB33BUKB20201555555555", "EUR": "DE89370400440532013000"}
_RECEIVER = "Oak Street Books"
_PRICE = Decimal("12.50")
_PARTS = (Decimal("3.10"), Decimal("4.20"))


@dataclass(frozen=True, slots=True)
class Orders:
    """A single payment, a bulk payment, and a direct payment, which requires no consent."""

    single: tpp.SinglePaymentV1 | tpp.SinglePaymentV2
    bulk: tpp.BulkPaymentV1 | tpp.BulkPaymentV2
    direct: tpp.DirectPaymentV1 | tpp.DirectPaymentV2


def payment_orders(version: int, bic: str, iban: str, currency: str, callback: str) -> Orders:
    """Return orders from the account ``iban`` for a bank of protocol ``version``. ``callback`` is the redirect URL."""
    return {1: _orders_v1, 2: _orders_v2}[version](bic, iban, currency, callback)


def _orders_v1(bic: str, iban: str, currency: str, callback: str) -> Orders:
    receiver: dict[str, Any] = {"currency": currency, "receiver_name": _RECEIVER, "receiver_iban": _RECEIVERS[currency]}
    payment = {**receiver, "amount": _PRICE, "reference": "Order 1042", "callback_url": callback}
    items = [tpp.BulkItemV1(**receiver, amount=amount, reference="Order 1043") for amount in _PARTS]
    total = tpp.TotalV1(currency=currency, amount=sum(_PARTS, Decimal()))
    return Orders(
        tpp.SinglePaymentV1(**payment, sender_iban=iban),
        tpp.BulkPaymentV1(sender_iban=iban, callback_url=callback, totals=[total], payments=items),
        tpp.DirectPaymentV1(**payment, bic=bic),
    )


def _orders_v2(bic: str, iban: str, currency: str, callback: str) -> Orders:
    debtor = tpp.PaymentAccountV2(iban=iban)
    receiver: dict[str, Any] = {
        "creditor_account": tpp.PaymentAccountV2(iban=_RECEIVERS[currency]),
        "creditor_name": _RECEIVER,
    }
    payment = {
        **receiver,
        "instructed_amount": tpp.InstructedAmountV2(amount=_PRICE, currency=currency),
        "remittance_information_unstructured": "Order 1042",
        "payment_scheme": "SCTI",
        "callback_url": callback,
    }
    items = [
        tpp.TransferV2(
            **receiver,
            instructed_amount=tpp.InstructedAmountV2(amount=amount, currency=currency),
            remittance_information_unstructured="Order 1043",
        )
        for amount in _PARTS
    ]
    total = tpp.BulkTotalV2(currency=currency, amount=sum(_PARTS, Decimal()))
    return Orders(
        tpp.SinglePaymentV2(**payment, debtor_account=debtor),
        tpp.BulkPaymentV2(debtor_account=debtor, callback_url=callback, instructed_totals=total, payments=items),
        tpp.DirectPaymentV2(**payment, bic=bic),
    )
