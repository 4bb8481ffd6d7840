"""Reports of a card, read page by page, and a check: opening plus credits less debits is the settled balance."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from chalicelib.cards.protocol.values import APPROVALS, CREDIT_TYPES, RESPONSE_CODES, TRANSACTION_TYPES
from infra.tour.card_calls import CardCalls
from infra.tour.guide import Guide, format_amount
from infra.tour.polling import TourFailed

_PAGE = 10
_LATEST = 99999999999


class ReportSummary:
    """The reports of a card and its account; balances are compared with those at creation of this object."""

    def __init__(self, calls: CardCalls, guide: Guide, card_id: int, account_id: int) -> None:
        self._calls = calls
        self._guide = guide
        self._card: dict[str, Any] = {"card_id": card_id}
        self._account: dict[str, Any] = {"account_id": account_id}
        self._opening = self._balances()
        self._currency: int = self._opening["currency_ison"]

    def show(self, answered: Mapping[str, int], *, held: int) -> None:
        """Print the reports. Raises: TourFailed, if they are incomplete or do not add up.

        Args:
            answered: the number of responses sent to the network, by response code.
            held: the amount still held for clearings.
        """
        self._activity(answered)
        amounts = self._transactions()
        came, went = sum(each for each in amounts if each > 0), -sum(each for each in amounts if each < 0)
        now, opening = self._balances(), self._opening["settled_balance"]
        settled, available, reserved = (now[f"{name}_balance"] for name in ("settled", "available", "reserved"))
        if opening + came - went != settled:
            raise TourFailed(
                f"the transactions add up to {opening + came - went}, but the settled balance is {settled}"
            )
        if settled - reserved - held != available:
            raise TourFailed(
                f"with {held} held, the settled balance is {settled}, but the available balance is {available}"
            )
        told = [format_amount(each, self._currency) for each in (opening, came, went, settled, held, available)]
        self._guide.print_finding(
            "It adds up: {} opening + {} in - {} out = {} booked, - {} held = {} available".format(*told)
        )

    # -- inside

    def _balances(self) -> Mapping[str, Any]:
        (account,) = self._calls.ask("getAccounts", **self._account)["data"]
        found: Mapping[str, Any] = account
        return found

    def _activity(self, answered: Mapping[str, int]) -> None:
        """Count all messages by response code. Raises: TourFailed."""
        self._guide.step("The card's activity report lists every message, approved or declined")
        rows = list(self._rows("getCardsActivity", "authorize_id", self._card))
        codes = Counter(row["response_code"] for row in rows)
        for code, count in sorted(codes.items()):
            self._guide.print_row(f"{count:>2}  {code} {RESPONSE_CODES[code]}")
        if codes != answered:
            raise TourFailed(f"the report has {dict(codes)}, but the network received {dict(answered)}")
        fired = {row["risk_rule_ids"] for row in rows if "risk_rule_ids" in row}
        self._guide.print_row(f"risk rules matched: {', '.join(sorted(fired))}")
        financial = list(self._rows("getFinancialAuthorizes", "authorize_id", self._card))
        self._guide.print_row(f"{len(financial)} of these {len(rows)} messages were approved and held an amount.")
        if any(row["response_code"] not in APPROVALS for row in financial):
            raise TourFailed("getFinancialAuthorizes contains a declined message")

    def _transactions(self) -> list[int]:
        """Print one line per transaction. Returns the signed amounts. Raises: TourFailed."""
        self._guide.step(f"The account's transactions, {_PAGE} per page, with the balance after each")
        settled, amounts = self._opening["settled_balance"], list[int]()
        for row in self._rows("getTransactions", "transaction_id", self._account):
            amounts.append(_signed_amount(row))
            settled += amounts[-1]
            amount, after = (
                format_amount(amounts[-1], self._currency, signed=True),
                format_amount(settled, self._currency),
            )
            self._guide.print_row(f"{amount:>14}  {self._title(row):<48} {after:>14}")
        return amounts

    def _title(self, row: Mapping[str, Any]) -> str:
        """A transaction's description, with its original amount if the currency is not the account's."""
        kind = TRANSACTION_TYPES[row["transaction_type"]]
        what = f"{kind}: {row['description']}" if "description" in row else kind
        amount, currency = row["transaction_amount"], row["transaction_currency_ison"]
        return what if currency == self._currency else f"{what} ({format_amount(amount, currency)})"

    def _rows(self, action: str, name: str, members: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
        """The rows of a report, from all pages."""
        last: dict[str, Any] = {}
        while True:
            page = self._calls.ask(action, **members, **last, date_from=0, date_to=_LATEST, item_count=_PAGE)
            yield from page["data"]
            if page["has_more_records"] == "N":
                return
            last = {"last_id": page["data"][-1][name]}


def _signed_amount(row: Mapping[str, Any]) -> int:
    """The signed amount of a transaction, per docs/concepts/card-network.md."""
    amount = row["holder_amount"] if row["transaction_type"] in CREDIT_TYPES else -row["holder_amount"]
    return int(amount - (0 if row["is_conversion_fee_blended"] else row.get("currency_conversion_fee", 0)))
