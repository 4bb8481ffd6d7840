"""Unified reads: the request to the bank and the response to the TPP, by the tables of the consent's version."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import timedelta
from functools import cached_property, partial
from typing import Any

from chalicelib.foundation.clock import Clock, timestamp
from chalicelib.foundation.crypto.signed_cursors import InvalidCursor
from chalicelib.foundation.http.outbound import Reply
from chalicelib.foundation.lazy_dataclasses import dataclass
from chalicelib.openbanking.bank_client.bank_answers import (
    AnswerReader,
    check_size,
    is_error,
    open_answer,
    read_unlimited_answer,
    refuse_malformed,
)
from chalicelib.openbanking.bank_client.bank_failures import BankFailed
from chalicelib.openbanking.flows.consent.permissions import withhold_entries
from chalicelib.openbanking.flows.reads.unified_funds import UnifiedFundsRead, validate_funds
from chalicelib.openbanking.oauth.tpp_request import read_parameters
from chalicelib.openbanking.protocol import refusals
from chalicelib.openbanking.protocol.version import Version
from chalicelib.openbanking.protocol.webhooks import Webhook
from chalicelib.openbanking.records.bank_record import Bank
from chalicelib.openbanking.records.consents import Consent
from chalicelib.openbanking.unified.bank_requests import Members, build_request
from chalicelib.openbanking.unified.calls import UnifiedCall
from chalicelib.openbanking.unified.entries import MISSING, Entry, Problems, read_entries
from chalicelib.openbanking.unified.messages import QUERIES
from chalicelib.openbanking.unified.rows import BANK
from chalicelib.openbanking.unified.tables import FundsTable, ListTable, ReadTable, TransactionTable
from chalicelib.openbanking.unified.transaction_cursors import PageState, TransactionCursors, cursor_reader
from chalicelib.openbanking.unified.transaction_pages import TransactionSelection, UnusablePage, read_page
from chalicelib.openbanking.unified.values import identifier
from chalicelib.openbanking.unified.versions import UNIFIED_VERSIONS

_GROWTH = 16
"""How many times larger a unified response can be than the bank's: null members, and ``native``."""
_SMALLER = ": ask with a smaller limit, or without native"


def validate_unified(
    call: UnifiedCall,
    webhook: Webhook,
    parameters: Mapping[str, Any],
    *,
    consent: Consent,
    clock: Clock,
    transaction_cursors: TransactionCursors,
) -> UnifiedRead | UnifiedFundsRead:
    """Validate the parameters or the body of a unified read, from a request or from its delivery. Raises: Refusal."""
    table = UNIFIED_VERSIONS[consent.api_version].read(call)
    if isinstance(table, FundsTable):
        return validate_funds(table, webhook, parameters, consent, clock)
    query = read_parameters(QUERIES[call], parameters).model_dump(by_alias=True)
    if len(query.get("account_id") or "") > table.longest_account_id:
        raise refusals.ACCOUNT_ID_TOO_LONG(longest=table.longest_account_id)
    first = PageState(table.first_position if isinstance(table, TransactionTable) else "")
    read = UnifiedRead(call, webhook, table, query, first, clock, transaction_cursors)
    if query.get("cursor") is None:
        return read
    try:
        return replace(read, page=transaction_cursors.read(read.cursor_reader(consent), query["cursor"]))
    except InvalidCursor:
        raise refusals.TRANSACTIONS_CURSOR_INVALID() from None


@dataclass(frozen=True)
class UnifiedRead:
    """A unified read.

    Attributes:
        query: the TPP's parameters, with their defaults.
        page: the position of the page, for transactions.
    """

    call: UnifiedCall
    webhook: Webhook
    table: ReadTable
    query: dict[str, Any]
    page: PageState
    clock: Clock
    cursors: TransactionCursors

    @cached_property
    def members(self) -> Mapping[str, Any]:
        """The request to the bank."""
        return build_request(self.table.request, {**self.query, "position": self.page.position or None})

    def request_to(self, bank: Bank) -> Mapping[str, Any]:
        """Return the request to this bank. Raises: Refusal, if the bank has no such page or day."""
        if isinstance(self.table, TransactionTable):
            self._check_page(self.table)
            self._check_days(bank)
        return {name: value for name, value in self.members.items() if name != "date_to" or not bank.no_date_to}

    def as_members(self) -> Mapping[str, Any]:
        """Return the query, from which the read is restored."""
        return {"unified": {name: value for name, value in self.query.items() if value is not None}}

    def reader(self, consent: Consent, bank: Bank) -> AnswerReader:
        """Return the reader of the bank's response."""
        return partial(self._read_reply, consent, bank)

    def cursor_reader(self, consent: Consent) -> str:
        """Return the reader of this list's cursors: the consent, the account and the query."""
        query = [str(self.query[name] or "") for name in ("from", "to", "status", "limit")]
        return cursor_reader(consent.consent_id, self.query["account_id"], query)

    def _check_page(self, table: TransactionTable) -> None:
        if table.last_page is not None and int(self.page.position) > table.last_page:
            raise refusals.PAGES_TOO_MANY(last=table.last_page)

    def _check_days(self, bank: Bank) -> None:
        if self.query["from"] is None or bank.history_days is None or self.query["cursor"] is not None:
            return
        earliest = (self.clock.now().date() - timedelta(days=bank.history_days)).isoformat()
        if self.query["from"] < earliest:
            raise refusals.FROM_TOO_EARLY(earliest=earliest)

    def _read_reply(
        self, consent: Consent, bank: Bank, version: Version, webhook: Webhook, request: Mapping[str, Any], reply: Reply
    ) -> Mapping[str, Any]:
        retrieved = {"bic": consent.bic, "retrieved_at": timestamp(self.clock.time())}
        if isinstance(self.table, ListTable | TransactionTable):
            answer = open_answer(version, webhook, reply)
            found = self._read_lists(self.table, consent, bank, request, answer)
        else:
            answer = dict(read_unlimited_answer(version, webhook, request, reply))
            found = {self.table.name: self._build(answer[self.table.name], bank)}
        return check_size(reply, {**retrieved, **found}, growth=_GROWTH, hint=_SMALLER)

    def _read_lists(
        self,
        table: ListTable | TransactionTable,
        consent: Consent,
        bank: Bank,
        request: Mapping[str, Any],
        answer: dict[str, Any],
    ) -> Members:
        problems = Problems()
        account = {"account_id": self.query["account_id"]} if "account_id" in self.query else {}
        if isinstance(table, TransactionTable):
            selection = self._selection(table, bank, request)
            return {**account, **self._read_transactions(table, consent, selection, answer, problems)}
        listed = [*enumerate(self._require_list(answer, table.name, problems))]
        if self.webhook.account_id is not None:
            listed = [*withhold_entries(consent, self.webhook, listed)]
        found = [*self._read_entries(table, listed, bank, problems)]
        return {**account, "problems": problems.as_list(), self.call.name: found}

    def _read_entries(
        self, table: ListTable, listed: Sequence[tuple[int, Any]], bank: Bank, problems: Problems
    ) -> Iterator[Members]:
        entries: Sequence[Entry] = read_entries(table.entry, table.name, listed, table.amount, problems)
        if table.account_id is not None:
            entries = self._of_account(table, table.account_id, entries, problems)
        return (self._build(entry.raw, bank) for entry in entries if entry.is_usable)

    def _of_account(
        self, table: ListTable, member: str, entries: Sequence[Entry], problems: Problems
    ) -> Sequence[Entry]:
        """Return the entries of the requested account or, if the bank lists none, the only entry."""
        own = [entry for entry in entries if self._is_of_account(entry.raw, member)]
        if own or len(entries) < 2:
            return own or entries
        problems.add(table.name, member, "is the requested account in no entry")
        return ()

    def _is_of_account(self, entry: Any, member: str) -> bool:
        return isinstance(entry, dict) and identifier(entry.get(member)) == self.query["account_id"]

    def _read_transactions(
        self,
        table: TransactionTable,
        consent: Consent,
        selection: TransactionSelection,
        answer: dict[str, Any],
        problems: Problems,
    ) -> Members:
        for native in table.lists:
            if self.query["status"] in native.asked_by:
                self._require_list(answer, native.path, problems)
        try:
            listed, page = read_page(table, selection, self.page, answer, problems)
        except UnusablePage as error:
            raise BankFailed(str(error), answer=answer, reason_code=error.reason_code) from None
        cursor = None if page is None else self.cursors.sign(self.cursor_reader(consent), page)
        return {"next_cursor": cursor, "problems": problems.as_list(), "transactions": listed}

    def _selection(self, table: TransactionTable, bank: Bank, request: Mapping[str, Any]) -> TransactionSelection:
        """Return the transactions that the TPP asks for. Days that the request to the bank has are compared there."""
        compared = {row.unified for row in table.request if row.native in request}
        return TransactionSelection(
            account_id=self.query["account_id"],
            status=self.query["status"],
            limit=self.query["limit"],
            earliest=None if "from" in compared else self.query["from"],
            latest=None if "to" in compared else self.query["to"],
            unsigned_amounts=bank.unsigned_amounts,
            with_native=self._with_native,
        )

    def _require_list(self, answer: dict[str, Any], path: str, problems: Problems) -> Sequence[Any]:
        """Return a list that the request asks for; report a missing one, which counts as empty. Raises: BankFailed."""
        *objects, name = path.split(".")
        holder: Any = answer
        for each in objects:
            holder = holder.get(each)
            if not isinstance(holder, dict):
                raise refuse_malformed(self.webhook, answer, f"{each} must be an object")
        found = holder.get(name)
        if found is not None and not isinstance(found, list):
            raise refuse_malformed(self.webhook, answer, f"{path} must be a list")
        if found is None and is_error(answer):
            raise refuse_malformed(self.webhook, answer, f"{path} {MISSING}")
        if found is None:
            problems.add(name, None, MISSING)
        return found or ()

    def _build(self, entry: dict[str, Any], bank: Bank) -> Members:
        switches = {"balance_type": bank.balance_type, "credit_limit_included": bank.credit_limit_included}
        return {**self.table.shape.build({**entry, BANK: switches}), **({"native": entry} if self._with_native else {})}

    @property
    def _with_native(self) -> bool:
        return self.query["native"] is not None
