"""Random histories through the unified API, in which each read and status is compared with the native one."""

import json
from typing import Any
from urllib.parse import urlencode

from hypothesis import strategies as st
from hypothesis.stateful import initialize, rule

from chalicelib.openbanking.protocol.versions import VERSIONS
from tests.causeway import Answer, Causeway
from tests.openbanking.examples import BY_WEBHOOK
from tests.openbanking.hub_histories import HubHistory, which
from tests.openbanking.hub_parties import READS
from tests.openbanking.kit import IBAN, ReceivedRequest
from tests.openbanking.payments import PATHS, UNIFIED_PATHS, unified_order
from tests.openbanking.unified.native_oracle import check_read
from tests.openbanking.unified.transaction_lists import answer, entry

_UNIFIED = {
    **dict.fromkeys(("0", "UNKNOWN"), "unknown"),
    **dict.fromkeys(("1", "RCVD", "PDNG", "ACCP", "ACFC", "PART"), "pending"),
    **dict.fromkeys(("ACTC", "PATC"), "authorising"),
    **dict.fromkeys(("ACSP", "ACWC", "ACWP"), "accepted"),
    **dict.fromkeys(("4", "ACSC"), "executed"),
    **dict.fromkeys(("2", "RJCT"), "rejected"),
    **dict.fromkeys(("3", "CANC"), "cancelled"),
    "ACCC": "settled",
}
"""The unified status of each native one."""
_FINAL = {"executed", "settled", "rejected", "cancelled"}
_ACCOUNT_ID = "A-1"
_LAST_PAGE = 3
FIRST_CONSENT = 9
"""The choice of the first of two consents."""
_COVERED = 10
"""The amount that an account covers."""
_SCOPES = {
    1: ["account.balance", "account.payments", "card_based.funds_confirmations"],
    2: ["accounts.balances", "accounts.transactions", "funds_confirmations"],
}
"""The scopes of the reads that only these histories have."""
_BALANCES = {1: "/account_balance", 2: "/v2_account_balances"}
_TRANSACTIONS = {1: "/account_payments", 2: "/v2_account_transactions"}
_FUNDS = {1: "/funds_confirmations", 2: "/v2_funds_confirmations"}


class UnifiedHistory(HubHistory):
    """A history whose payments are unified. The model is that of native calls, because the rules are the same."""

    def __init__(self, first: Causeway, version: int) -> None:
        super().__init__(first, version)
        self.causeway.banks[version].answers |= {
            READS[version]: self._answer_example,
            _BALANCES[version]: self._answer_example,
            _TRANSACTIONS[version]: self._answer_transactions,
            _FUNDS[version]: self._answer_funds,
        }

    def scopes(self, one_time: bool) -> list[str]:
        return [*super().scopes(one_time), *([] if one_time else _SCOPES[self.version])]

    @initialize(one_time=st.booleans())
    def begin(self, one_time: bool) -> None:
        """Give two consents, and make each read once with the first of them."""
        super().begin(one_time)
        self.read_balances(FIRST_CONSENT, 1)
        self.read_transactions(FIRST_CONSENT, 1, _LAST_PAGE)
        self.confirm_funds(FIRST_CONSENT, 1, "9.50")

    # -- the bank

    def _answer_example(self, sent: ReceivedRequest) -> Any:
        self._answer_read(sent)
        return BY_WEBHOOK[sent.path].answer

    def _answer_transactions(self, sent: ReceivedRequest) -> Any:
        """Return a page with one booked and, in version 2, one pending transaction."""
        self._answer_read(sent)
        asked = json.loads(sent.body)
        number = int(asked.get("page_key", asked.get("current_page", 1)))
        booked = entry(self.version, f"E-{number}")
        if self.version == 1:
            return {"status": "success", **answer(1, *([booked] if number <= _LAST_PAGE else []))}
        key = {} if number == _LAST_PAGE else {"page_key": str(number + 1)}
        return answer(2, booked, pending=[entry(2, f"P-{number}", "7.00")], **key)

    def _answer_funds(self, sent: ReceivedRequest) -> Any:
        self._answer_read(sent)
        amount = float(json.loads(sent.body)["instructed_amount"]["amount"])
        return ({"status": "success"} if self.version == 1 else {}) | {"funds_available": amount <= _COVERED}

    # -- reads

    @rule(which=which, back=st.sampled_from([1, 1, 2]))
    def read_balances(self, which: int, back: int) -> None:
        consent, access = self._pick_access(which, back)
        query = {"account_id": _ACCOUNT_ID}
        native = self._get(BY_WEBHOOK[_BALANCES[self.version]].call, query, access)
        unified = self._get("/tpp/unified/balances", query | {"native": 1}, access)

        if self._agree(consent, access, native, unified):
            check_read(self.version, "balances", native.body, unified.body, _ACCOUNT_ID)

    @rule(which=which, back=st.sampled_from([1, 1, 2]), pages=st.sampled_from([1, 2, _LAST_PAGE]))
    def read_transactions(self, which: int, back: int, pages: int) -> None:
        consent, access = self._pick_access(which, back)
        query: dict[str, Any] = {"account_id": _ACCOUNT_ID, "limit": 1, "native": 1}
        for number in range(1, pages + 1):
            native = self._get(BY_WEBHOOK[_TRANSACTIONS[self.version]].call, self._page_query(number), access)
            unified = self._get("/tpp/unified/transactions", query, access)
            if not self._agree(consent, access, native, unified):
                return
            check_read(self.version, "transactions", native.body, unified.body, _ACCOUNT_ID)
            query["cursor"] = unified.body["next_cursor"]
        assert (self.version, pages) != (2, _LAST_PAGE) or query["cursor"] is None, "a list goes on after its last page"

    def _page_query(self, number: int) -> dict[str, Any]:
        if self.version == 1:
            return {"account_id": _ACCOUNT_ID, "record_count": 1, "current_page": number}
        key = {} if number == 1 else {"page_key": number}
        return {"account_id": _ACCOUNT_ID, "booking_status": "both", "page_size": 1, **key}

    @rule(which=which, back=st.sampled_from([1, 1, 2]), amount=st.sampled_from(["9.50", "12.30"]))
    def confirm_funds(self, which: int, back: int, amount: str) -> None:
        consent, access = self._pick_access(which, back)
        account, currency = {"iban": IBAN}, "EUR"
        of_bank = {"account": account, "instructed_amount": {"amount": amount, "currency": currency}}
        native = super().tpp("POST", "/tpp/funds_confirmations", of_bank, bearer=access)
        body = {"account": account, "amount": {"value": amount, "currency": currency}}
        unified = super().tpp("POST", "/tpp/unified/funds_confirmations", body, bearer=access)

        if self._agree(consent, access, native, unified):
            available = unified.body["funds_available"]
            assert available == native.body["funds_available"] == (float(amount) <= _COVERED), "the funds differ"

    def _get(self, path: str, query: dict[str, Any], access: str) -> Answer:
        return super().tpp("GET", f"{path}?{urlencode(query)}", bearer=access)

    def _agree(self, consent: dict[str, Any], access: str, native: Answer, unified: Answer) -> bool:
        """Compare a read in both APIs with the model. Return whether it succeeds."""
        _compare_errors(native, unified)
        return self._expect(native, self.model.read(consent, access))

    # -- the calls of every history

    def tpp(self, method: str, path: str, body: Any = None, **options: Any) -> Answer:
        if path == PATHS["single"]:
            return super().tpp(method, UNIFIED_PATHS["single"], self._unified_order(body), **options)
        native = super().tpp(method, path, body, **options)
        if path == "/tpp/accounts":
            self._compare_accounts(native, super().tpp(method, "/tpp/unified/accounts?native=1", **options))
        elif path.startswith("/tpp/payment_status"):
            query = path.partition("?")[2]
            self._compare_status(native, super().tpp(method, f"{UNIFIED_PATHS['single']}?{query}", **options))
        return native

    def _unified_order(self, native: dict[str, Any]) -> dict[str, Any]:
        paid = native.get("instructed_amount", native)
        amount = {"value": paid["amount"], "currency": paid["currency"]}
        return unified_order(self.causeway, self.version, "single", amount=amount)

    def _compare_accounts(self, native: Answer, unified: Answer) -> None:
        _compare_errors(native, unified)
        if native.status == 200:
            check_read(self.version, "accounts", native.body, unified.body, "")

    def _compare_status(self, native: Answer, unified: Answer) -> None:
        _compare_errors(native, unified)
        if native.status == 200:
            found = unified.body
            status = str(native.body[VERSIONS[self.version].status_member])
            assert (found["native_status"], found["status"]) == (status, _UNIFIED[status]), "the statuses differ"
            assert found["is_final"] == (found["status"] in _FINAL), "a final status differs"
            assert found["outcome"] == native.body.get("outcome"), "the outcomes differ"
            self._compare_histories(native, found)

    def _compare_histories(self, native: Answer, found: dict[str, Any]) -> None:
        """Compare the history of a payment with that of the model and, in version 1, with the native one."""
        statuses = [str(status) for status in self.model["payments"][found["payment_id"]]["history"]]
        history = [(each["status"], each["native_status"]) for each in found["history"]]
        assert history == [(_UNIFIED[status], status) for status in statuses], "the histories differ"
        times = [each["at"] for each in found["history"]]
        native_times = [each["at"] for each in native.body.get("history", ())]
        assert times == (native_times or sorted(times)), "the times of a history differ"


def _compare_errors(native: Answer, unified: Answer) -> None:
    """Compare the status and, in errors, the code of two responses."""
    results = [(each.status, each.body.get("code")) for each in (native, unified)]
    assert results[0] == results[1], f"the results differ: {results}"
