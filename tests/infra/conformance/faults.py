"""Test banks with one fault each in the authentication of the hub or in lists."""

import json
from typing import Any

from chalicelib.foundation import jsontext
from chalicelib.openbanking.protocol.webhooks import Webhook
from tests.infra.conformance.bank_reads import DAYS
from tests.infra.conformance.small_bank import API_KEY, Members, SmallBank


class AcceptsAnySignature(SmallBank):
    def accepts_signature(self, body: bytes, given: str) -> bool:
        return True


class AcceptsSignaturesOfOtherBytes(SmallBank):
    """A bank that accepts signatures over the body, with or without an additional line break at the end."""

    def accepts_signature(self, body: bytes, given: str) -> bool:
        return super().accepts_signature(body, given) or super().accepts_signature(body + b"\n", given)


class VerifiesJsonWrittenAgain(SmallBank):
    """A bank that verifies signatures over the re-serialised JSON body."""

    def accepts_signature(self, body: bytes, given: str) -> bool:
        try:
            written = json.dumps(json.loads(body), separators=(",", ":"), ensure_ascii=False)
        except ValueError:
            return False
        return super().accepts_signature(written.encode(), given)


class AlsoVerifiesJsonWrittenAgain(VerifiesJsonWrittenAgain):
    """A bank that accepts signatures over the original or the re-serialised body."""

    def accepts_signature(self, body: bytes, given: str) -> bool:
        return SmallBank.accepts_signature(self, body, given) or super().accepts_signature(body, given)


class AcceptsTheBeginningOfTheKey(SmallBank):
    def accepts_key(self, given: str) -> bool:
        return bool(given) and API_KEY.startswith(given)


class AcceptsWhatBeginsWithTheKey(SmallBank):
    def accepts_key(self, given: str) -> bool:
        return given.startswith(API_KEY)


class ComparesTheKeyWithoutCase(SmallBank):
    def accepts_key(self, given: str) -> bool:
        return given.lower() == API_KEY.lower()


class IgnoresTheKey(SmallBank):
    def accepts_key(self, given: str) -> bool:
        return True


class AcceptsAnyToken(SmallBank):
    def accepts_token(self, given: str) -> bool:
        return True


class FindsTokens(SmallBank):
    """A faulty bank that compares access tokens loosely. ``is_like`` decides whether a token matches the token of a
    consent.
    """

    def is_like(self, given: str, token: str) -> bool:
        raise NotImplementedError

    def accepts_token(self, given: str) -> bool:
        return any(self.is_like(given, token) for token in self.consents)

    def check_consent(self, webhook: Webhook, token: str) -> None:
        found = next((each for each in self.consents if token and self.is_like(token, each)), token)
        super().check_consent(webhook, found)


class ReadsTheIdOfTokensOnly(FindsTokens):
    def is_like(self, given: str, token: str) -> bool:
        return given.partition(".")[0] == token.partition(".")[0]


class AcceptsTheBeginningOfTokens(FindsTokens):
    def is_like(self, given: str, token: str) -> bool:
        return bool(given) and token.startswith(given)


class ComparesTokensWithoutCase(FindsTokens):
    def is_like(self, given: str, token: str) -> bool:
        return given.lower() == token.lower()


class OverlapsPages(SmallBank):
    def payments_1(self, asked: Members) -> Members:
        limit, page = asked["record_count"], asked["current_page"]
        start = (page - 1) * max(limit - 1, 1)
        rows = [self.payment_1(number) for number in range(len(DAYS))][start : start + limit]
        return {"payments": rows, "paginator": {"limit": limit, "current_page": page}}

    def transactions_2(self, asked: Members) -> Members:
        page = super().transactions_2(asked)
        if "page_key" in page and asked.get("page_size", 100) > 1:
            page["page_key"] = str(int(page["page_key"]) - 1)
        return page


class LosesAnEntryBetweenPages(SmallBank):
    def payments_1(self, asked: Members) -> Members:
        limit, page = asked["record_count"], asked["current_page"]
        start = (page - 1) * (limit + 1)
        rows = [self.payment_1(number) for number in range(len(DAYS))][start : start + limit]
        return {"payments": rows, "paginator": {"limit": limit, "current_page": page}}

    def transactions_2(self, asked: Members) -> Members:
        page = super().transactions_2(asked)
        return {**page, "page_key": str(int(page["page_key"]) + 1)} if "page_key" in page else page


class RepeatsTheLastPageKey(SmallBank):
    def transactions_2(self, asked: Members) -> Members:
        again = {"page_key": asked["page_key"]} if "page_key" in asked else {}
        return {**again, **super().transactions_2(asked)}


class EndsPagesWithNull(SmallBank):
    def transactions_2(self, asked: Members) -> Members:
        return {"page_key": None, **super().transactions_2(asked)}


class IgnoresPageSize(SmallBank):
    def transactions_2(self, asked: Members) -> Members:
        return super().transactions_2({**asked, "page_size": 100})


class CountsPendingInPages(SmallBank):
    """A conforming bank in which ``page_size`` counts booked and pending transactions together."""

    def transactions_2(self, asked: Members) -> Members:
        size, start = asked.get("page_size", 100), int(asked.get("page_key", 0))
        rows = [(name, row) for name, found in self.transactions(asked).items() for row in found]
        more = {"page_key": str(start + size)} if start + size < len(rows) else {}
        page = rows[start : start + size]
        lists = {name: [row for of, row in page if of == name] for name in ("booked", "pending")}
        return {"transactions": lists, **more}


class ExcludesTheLastDay(SmallBank):
    def transactions(self, asked: Members) -> dict[str, list[Members]]:
        found = super().transactions(asked)
        booked = [row for row in found["booked"] if _day(row) < asked.get("date_to", "9999-12-31")]
        return {**found, "booked": booked}


def _day(transaction: Members) -> str:
    return str(transaction["transaction_amount"]["booking_date"])


class LeavesPendingOutOfBoth(SmallBank):
    def transactions(self, asked: Members) -> dict[str, list[Members]]:
        found = super().transactions(asked)
        return {**found, "pending": []} if asked["booking_status"] == "both" else found


class ListsTheOldestFirst(SmallBank):
    def payments_1(self, asked: Members) -> Members:
        limit, page = asked["record_count"], asked["current_page"]
        rows = [self.payment_1(number) for number in reversed(range(len(DAYS)))][(page - 1) * limit : page * limit]
        return {"payments": rows, "paginator": {"limit": limit, "current_page": page}}

    def transactions(self, asked: Members) -> dict[str, list[Members]]:
        return {name: rows[::-1] for name, rows in super().transactions(asked).items()}


class WritesDebitsWithoutSign(SmallBank):
    def payment_1(self, number: int) -> Members:
        return {**super().payment_1(number), "amount": "8.50"}

    def transactions(self, asked: Members) -> dict[str, list[Members]]:
        found = super().transactions(asked)
        return {name: [self._transaction(row) for row in rows] for name, rows in found.items()}

    def _transaction(self, row: Members) -> Members:
        return {**row, "transaction_amount": {**row["transaction_amount"], "amount": "8.50"}}


class CalculatesInBinary(SmallBank):
    AMOUNT = jsontext.Number("-2.7500000000000004")

    def balance_1(self, asked: Members) -> Members:
        return {"accounts": [{**row, "balance": self.AMOUNT} for row in super().balance_1(asked)["accounts"]]}

    def payment_1(self, number: int) -> Members:
        return {**super().payment_1(number), "amount": self.AMOUNT}

    def balances_2(self, asked: Members) -> Members:
        rows = super().balances_2(asked)["balances"]
        return {"balances": [{**row, "balance_amount": self._amount(row["balance_amount"])} for row in rows]}

    def transactions(self, asked: Members) -> dict[str, list[Members]]:
        found = super().transactions(asked)
        return {name: [self._transaction(row) for row in rows] for name, rows in found.items()}

    def _transaction(self, row: Members) -> Members:
        return {**row, "transaction_amount": self._amount(row["transaction_amount"])}

    def _amount(self, money: Members) -> Members:
        return {**money, "amount": self.AMOUNT}


class WritesIbansWithBlanks(SmallBank):
    def account(self) -> Members:
        found = super().account()
        return {**found, "iban": _in_blocks(found["iban"])}

    def parties_1(self) -> Members:
        found = super().parties_1()
        return {name: {**party, "iban": _in_blocks(party["iban"])} for name, party in found.items()}

    def transactions(self, asked: Members) -> dict[str, list[Members]]:
        found = super().transactions(asked)
        return {name: [self._transaction(row) for row in rows] for name, rows in found.items()}

    def _transaction(self, row: Members) -> Members:
        return {**row, "creditor_account": {"iban": _in_blocks(row["creditor_account"]["iban"])}}


def _in_blocks(iban: str) -> str:
    return " ".join(iban[start : start + 4] for start in range(0, len(iban), 4))


class SavesIbansWithBlanks(SmallBank):
    def call(self, path: str, **members: Any) -> Members:
        spelled = {"ibans": [_in_blocks(each) for each in members["ibans"]]} if "ibans" in members else {}
        return super().call(path, **(members | spelled))
