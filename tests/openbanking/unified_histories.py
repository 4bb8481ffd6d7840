"""Random histories through the unified API, in which each read and status is compared with the native one."""

from typing import Any

from chalicelib.openbanking.protocol.versions import VERSIONS
from tests.causeway import Answer
from tests.openbanking.hub_histories import HubHistory
from tests.openbanking.payments import PATHS, UNIFIED_PATHS, unified_order

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


class UnifiedHistory(HubHistory):
    """A history whose payments are unified. The model is that of native calls, because the rules are the same."""

    def tpp(self, method: str, path: str, body: Any = None, **options: Any) -> Answer:
        if path == PATHS["single"]:
            return super().tpp(method, UNIFIED_PATHS["single"], self._unified_order(body), **options)
        native = super().tpp(method, path, body, **options)
        if path == "/tpp/accounts":
            self._compare_accounts(native, super().tpp(method, "/tpp/unified/accounts", **options))
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
            member = VERSIONS[self.version].relayed["accounts"].account_id or ""
            ids = [str(account[member]) for account in native.body["accounts"]]
            assert [account["account_id"] for account in unified.body["accounts"]] == ids
            assert unified.body["problems"] == []

    def _compare_status(self, native: Answer, unified: Answer) -> None:
        _compare_errors(native, unified)
        if native.status == 200:
            found = unified.body
            status = str(native.body[VERSIONS[self.version].status_member])
            assert (found["native_status"], found["status"]) == (status, _UNIFIED[status])
            assert found["is_final"] == (found["status"] in _FINAL)
            assert found["outcome"] == native.body.get("outcome")
            history = [str(entry["payment_status"]) for entry in native.body.get("history", ())]
            assert not history or [entry["native_status"] for entry in found["history"]] == history


def _compare_errors(native: Answer, unified: Answer) -> None:
    """Compare the status and, in errors, the code of two responses."""
    assert (unified.status, unified.body.get("code")) == (native.status, native.body.get("code"))
