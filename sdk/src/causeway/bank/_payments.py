"""Payments of a bank: orders with retries, the PSU's decision, and status reports."""

from __future__ import annotations

import secrets
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

from causeway import _json, _waiting
from causeway.bank._call import load
from causeway.bank._consents import Consents
from causeway.bank._functions import Functions
from causeway.bank._outbox import Outbox
from causeway.bank._reads import approved_accounts
from causeway.bank._versions import Kind, Status, Version
from causeway.bank.calls import Call, Order, Payment, account_id, is_debtor, order_of
from causeway.bank.refusals import AccountUnknown, Refused, RequestIdUsed, ResourceUnknown, StillRunning
from causeway.bank.storage import Storage, Values

if TYPE_CHECKING:
    from causeway.bank.accounts import Account

REPEAT_SECONDS = 86400.0
"""Number of seconds for which an ``X-Request-Id`` identifies a single order."""
PAGE_SECONDS = 86400.0
"""Number of seconds in which a PSU can confirm a payment."""
REFUSED_TEXT = "The customer refused."


@dataclass(frozen=True, slots=True)
class Payments:
    """The payments of a bank. A payment's ``state`` is ``open``, ``deciding`` or ``decided``."""

    version: Version
    storage: Storage
    functions: Functions
    consents: Consents
    outbox: Outbox
    base_url: str

    async def initiate(self, kind: Kind, call: Call, digest: str) -> dict[str, Any]:
        """Respond to an order. A duplicate order gets the first response. Raises ``Refused``.

        ``digest`` is a digest of the webhook, the token and the body.
        """
        claim = {"digest": digest, "answer": None}
        expires_at = _waiting.now() + REPEAT_SECONDS
        if not await self.storage.add("order", call.request_id, claim, expires_at=expires_at):
            return await self._first_answer(call.request_id, digest)
        try:
            answer = await self._accept(kind, call)
        except BaseException:
            await self.storage.replace("order", call.request_id, claim, None)
            raise
        await self.storage.replace("order", call.request_id, claim, {**claim, "answer": answer})
        return answer

    async def _first_answer(self, request_id: str, digest: str) -> dict[str, Any]:
        first = await self.storage.get("order", request_id)
        if first is None or (first["digest"] == digest and first["answer"] is None):
            raise StillRunning
        if first["digest"] != digest:
            raise RequestIdUsed
        return dict(first["answer"])

    async def _accept(self, kind: Kind, call: Call) -> dict[str, Any]:
        """Accept an order. If the order has a one-time consent, mark the consent as used."""
        consent = call.consent
        if consent is None or not consent.one_time:
            return await self._take(kind, call)
        await self.consents.spend(consent, call.request_id)
        try:
            return await self._take(kind, call)
        except BaseException:
            await self.consents.unspend(consent, call.request_id)
            raise

    async def _take(self, kind: Kind, call: Call) -> dict[str, Any]:
        """Pass the order to the bank's function. If the function accepts the order, store the payment for the PSU's
        confirmation.
        """
        order = order_of(kind, call.request, call.psu, call.request_id)
        accounts = await self._debtors(call)
        payment_id = await self.functions.call("pay", order) or secrets.token_hex(8)
        page = secrets.token_urlsafe()
        value = self._value(payment_id, order, accounts)
        if not await self.storage.add("payment", payment_id, value, owner=call.psu):
            raise RuntimeError("the function pay gave a payment_id that another payment has")
        shown = {"kind": "payment", "payment_id": payment_id}
        await self.storage.add("page", page, shown, expires_at=_waiting.now() + PAGE_SECONDS)
        answer = {"payment_id": payment_id, "confirmation_url": f"{self.base_url}/decide/{page}"}
        return answer if self.version.says_status else {"status": value["status"], **answer}

    async def _debtors(self, call: Call) -> list[Account]:
        """Return the approved accounts from which an order can be paid. Raises ``AccountUnknown`` if there are no such
        accounts.
        """
        if call.consent is None:
            return []
        accounts = await approved_accounts(self.functions, call)
        found = [each for each in accounts if is_debtor(each, call.request)]
        if not found:
            raise AccountUnknown
        return found

    async def debtors(self, value: Values, psu: str) -> list[Account]:
        """Return the accounts from which a PSU can confirm a payment."""
        accounts: list[Account] = list(await self.functions.call("accounts", Call(psu=psu)))
        if value["kind"] != "direct":
            return [each for each in accounts if account_id(each) in value["account_ids"]]
        request = payment_of(value).order.request
        return [each for each in accounts if is_debtor(each, request)]

    def _value(self, payment_id: str, order: Order, accounts: list[Account]) -> dict[str, Any]:
        request: Any = order.request
        return {
            "payment_id": payment_id,
            "kind": order.kind,
            "class": f"{type(request).__module__.rpartition('.')[2]}.{type(request).__name__}",
            "request": _json.dumps(request.to_json()),
            "request_id": order.request_id,
            "psu": order.psu,
            "account_ids": [account_id(each) for each in accounts],
            "account_id": "",
            "status": self.version.statuses["received"],
            "state": "open",
            "message": "",
        }

    async def find(self, payment_id: str) -> Values | None:
        """Find a stored payment by its id."""
        return await self.storage.get("payment", payment_id)

    async def status(self, call: Call, payment_id: str) -> dict[str, Any]:
        """Return the status of a payment that belongs to the consent's PSU. A direct payment needs no consent."""
        found = await self.find(payment_id)
        is_direct = found is not None and found["kind"] == "direct"
        if found is None or (call.consent is None) != is_direct or (call.consent and found["psu"] != call.psu):
            raise ResourceUnknown
        return {"transaction_status": found["status"]}

    async def decide(self, payment_id: str, psu: str, account: str, confirmed: bool) -> str | None:
        """Process the PSU's decision. Return the URL to which the browser is redirected, or ``None`` while the decision
        is being processed.

        ``account`` is the id of the account to pay from.

        A duplicate decision has no effect. If the bank's function fails, the payment remains undecided until the bank
        reports its status.
        """
        value = await self.find(payment_id)
        if value is None:
            return None
        if value["state"] == "decided":
            return self._return_url(value)
        if value["state"] != "open":
            return None
        refusal = {} if confirmed else {"status": self.version.statuses["cancelled"], "message": REFUSED_TEXT}
        claimed = {**value, "state": "deciding", "psu": psu, "account_id": account, **refusal}
        await self.storage.add("undecided", payment_id, {})
        if not await self.storage.replace("payment", payment_id, value, claimed):
            return None
        status, message = await self._outcome(claimed) if confirmed else (claimed["status"], claimed["message"])
        return self._return_url(await self.report(payment_id, status, message))

    async def _outcome(self, value: Values) -> tuple[Status, str]:
        """Return the status of a confirmed payment and, after a failure, the reason."""
        if self.functions.confirmed is None:
            return self.version.statuses["confirmed"], ""
        try:
            status: Status | None = await self.functions.call("confirmed", payment_of(value))
        except Refused as refused:
            return self.version.statuses["rejected"], refused.text
        return (self.version.statuses["confirmed"] if status is None else status), ""

    async def report(self, payment_id: str, status: Status, message: str = "") -> Values:
        """Store the status of a payment, and report it to the hub immediately or in a later retry.

        If the PSU has not decided, the payment remains open unless the status is final. Raises ``ResourceUnknown`` if
        the payment does not exist.
        """
        await self.outbox.put("payments_status", payment_id, payment_id=payment_id, payment_status=status)
        while (value := await self.find(payment_id)) is not None:
            new = {**self._with_status(value, status), "message": message}
            if await self.storage.replace("payment", payment_id, value, new):
                if new["state"] == "decided":
                    await self.storage.replace("undecided", payment_id, {}, None)
                await self.outbox.send("payments_status", payment_id)
                return new
        raise ResourceUnknown

    async def undecided(self) -> list[Payment]:
        """Return the confirmed payments whose outcome the bank's function has not reported."""
        claimed = [value for value in await self._claimed() if value["state"] == "deciding"]
        return [payment_of(value) for value in claimed if value["status"] not in self.version.final_statuses]

    async def _claimed(self) -> list[Values]:
        """Return the payments that are claimed by a running or interrupted decision."""
        found = [await self.find(payment_id) for payment_id in await self.storage.find("undecided")]
        return [value for value in found if value is not None]

    async def catch_up(self) -> None:
        """Complete the work of an interrupted process: store the statuses in pending reports, and report refusals."""
        for payment_id in await self.outbox.pending("payments_status"):
            while (value := await self.find(payment_id)) is not None:
                reported = await self.outbox.members("payments_status", payment_id)
                new = value if reported is None else self._with_status(value, reported["payment_status"])
                if new == value or await self.storage.replace("payment", payment_id, value, new):
                    break
        for value in await self._claimed():
            if value["state"] == "decided":
                await self.storage.replace("undecided", value["payment_id"], {}, None)
            elif value["state"] == "deciding" and value["status"] in self.version.final_statuses:
                await self.report(value["payment_id"], value["status"], value["message"])

    def _with_status(self, value: Values, status: Status) -> dict[str, Any]:
        """Return a payment with a reported status."""
        is_undecided = value["state"] == "open" and status not in self.version.final_statuses
        return {**value, "status": status, "state": "open" if is_undecided else "decided"}

    @staticmethod
    def _return_url(value: Values) -> str:
        """Return the TPP's ``callback_url`` with status, payment and message."""
        query = {"status": value["status"], "payment_id": value["payment_id"]}
        query |= {"message": value["message"]} if value["message"] else {}
        url = payment_of(value).order.request.callback_url
        return f"{url}{'&' if '?' in url else '?'}{urlencode(query)}"


def payment_of(value: Values) -> Payment:
    """Return a stored payment."""
    request: Any = load(value["class"]).from_json(_json.loads(value["request"]))
    order = order_of(value["kind"], request, value["psu"], value["request_id"])
    return Payment(
        payment_id=value["payment_id"],
        order=order,
        status=value["status"],
        psu=value["psu"],
        account_id=value["account_id"],
    )
