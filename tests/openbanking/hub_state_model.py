"""A model of the documented rules for a client's consents, tokens, payments and events at a bank.

A rule changes the model and returns the expected response: the status, and the code of an error. The model shares no
code with the service.
"""

from collections import defaultdict
from typing import Any

Result = tuple[int, str | int | None]
Consent = dict[str, Any]

OK: Result = (200, None)
NO_CLIENT: Result = (401, "WRONG_CREDENTIALS")
NO_BEARER: Result = (401, "AUTHENTICATION_REQUIRED")
WRONG: Result = (400, "FORMAT_ERROR")
BLOCKED: Result = (403, "SERVICE_BLOCKED")
UNKNOWN: Result = (404, "RESOURCE_UNKNOWN")
HEADERS: Result = (400, "HEADERS_ERROR")
RUNNING: Result = (409, "HEADERS_ERROR")
BANK_FAILED: Result = (502, "ASPSP_UNKNOWN_ERROR")

BANK: dict[int, dict[str, Result]] = {
    1: {"gone": (502, 4005), "url": (400, 4301), "saved": (409, 4205), "payment": (400, 4001)},
    2: {"gone": BLOCKED, "url": WRONG, "saved": WRONG, "payment": WRONG},
}
FIRST = {1: 1, 2: "RCVD"}
STATUSES: dict[int, list[Any]] = {1: [0, 1, 2, 4], 2: ["ACSP", "PDNG", "RJCT", "ACSC", "ACCC"]}
AFTER_FINAL: dict[Any, list[Any]] = {2: [], 4: [], "RJCT": [], "ACCC": [], "ACSC": ["ACCC"]}

MINUTE, HOUR, DAY = 60, 3600, 24 * 3600
OPEN, CODE, ACCESS, AGAIN, CONSENT, NOTICE = 30 * MINUTE, 10 * MINUTE, HOUR, MINUTE, 180 * DAY, 7 * DAY
"""Time limits in seconds.

They are the lifetimes of requests, codes, access tokens and consents, the retry window of a refresh, and the period
between the notice of a consent's end and the end.
"""
EARLY, KEPT, IN_PROGRESS = 15 * MINUTE, DAY, 30


class Model(dict[str, Any]):
    """The complete expected state of the hub. ``now`` is the time."""

    def __init__(self, version: int, now: int) -> None:
        super().__init__(now=now, version=version, active=True, archived=False, requests=[], consents={}, sent=0)
        self |= {"keys": {}, "payments": {}, "early": defaultdict(list), "events": defaultdict(list), "notices": []}

    # -- what is known

    def is_living(self, consent: Consent) -> bool:
        return consent["status"] == "authorised" and not self.has_ended(consent)

    def has_ended(self, consent: Consent) -> bool:
        return bool(consent["status"] == "revoked" or self["now"] >= consent["until"])

    def state(self, consent: Consent) -> str:
        return "expired" if consent["status"] == "authorised" and self.has_ended(consent) else consent["status"]

    @property
    def has_notices(self) -> bool:
        return any(each["notices"] and each["notices"][0][1] <= self["now"] for each in self["consents"].values())

    def bearer(self, consent: Consent, access: str, or_spent: bool = False) -> Result:
        if not self["active"]:
            return NO_CLIENT
        is_spent = consent["status"] == "spent" and not self.has_ended(consent)
        if self["now"] >= consent["access"][access] or not (is_spent or self.is_living(consent)):
            return NO_BEARER
        return NO_BEARER if is_spent and not or_spent else OK

    # -- authorization

    def authorize(self) -> Result:
        return OK if self["active"] else NO_CLIENT

    def opened(self, one_time: bool, **members: str) -> None:
        until = self["now"] + OPEN
        self["requests"].append({"state": "open", "until": until, "one_time": one_time, "cancel": None, **members})

    def approve(self, request: dict[str, Any]) -> Result:
        if not self["active"]:
            return BANK[self["version"]]["gone"]
        if request["state"] == "approved":
            return BANK[self["version"]]["saved"]
        return OK if self._is_open(request) else BANK[self["version"]]["url"]

    def approved(self, request: dict[str, Any], consent_id: str, code: str, bank_token: str) -> None:
        request["state"], now = "approved", self["now"]
        self["consents"][consent_id] = {
            "id": consent_id,
            "status": "authorised",
            "one_time": request["one_time"],
            "until": now + CONSENT,
            "code": code,
            "code_until": now + CODE,
            "bank_token": bank_token,
            "is_redeemed": False,
            "is_misused": False,
            "refresh": [],
            "access": {},
            "notices": [("consent.expiring", now + CONSENT - NOTICE), ("consent.expired", now + CONSENT)],
        }
        self["events"][consent_id].append(("consent.authorised", ""))

    def open_at_bank(self, request: dict[str, Any]) -> Result:
        if not self["active"]:
            return BANK[self["version"]]["gone"]
        return OK if self._is_open(request) else BANK[self["version"]]["url"]

    def cancel(self, request: dict[str, Any]) -> int:
        """Cancel a request. Return the status that the PSU's browser receives."""
        if not self["active"]:
            return 404
        if request["state"] == "open":
            request["state"] = "cancelled"
            self["events"][request["name"]].append(("consent.cancelled", "access_denied"))
        return 303

    def _is_open(self, request: dict[str, Any]) -> bool:
        return bool(request["state"] == "open" and self["now"] < request["until"])

    # -- tokens

    def redeem(self, consent: Consent) -> Result:
        if not self["active"]:
            return NO_CLIENT
        if consent["is_redeemed"]:
            return self._misused(consent)
        is_in_time = self["now"] < consent["code_until"] and self.is_living(consent)
        consent["is_redeemed"] = is_in_time
        return OK if is_in_time else WRONG

    def refresh(self, consent: Consent, token: str) -> Result:
        if not self["active"]:
            return NO_CLIENT
        if not self.is_living(consent):
            return WRONG
        if token == consent["refresh"][-1] or self.is_repeat(consent, token):
            return OK
        return self._misused(consent)

    def is_repeat(self, consent: Consent, token: str) -> bool:
        return token in consent["refresh"][-2:-1] and self["now"] - consent["refreshed_at"] <= AGAIN

    def issued(self, consent: Consent, access: str, refresh: str) -> None:
        consent["access"][access] = min(self["now"] + ACCESS, consent["until"])
        consent["refresh"].append(refresh)
        consent["refreshed_at"] = self["now"]

    def _misused(self, consent: Consent) -> Result:
        if not self.has_ended(consent):
            consent["is_misused"] = True
            self.end(consent, "service")
        return WRONG

    def revoke(self, consent: Consent) -> Result:
        if not self["active"]:
            return NO_CLIENT
        self.end(consent, "tpp")
        return OK

    def end(self, consent: Consent, by: str) -> None:
        """End a consent and notify the bank, unless the bank ended the consent."""
        if self.has_ended(consent):
            return
        consent["status"] = "revoked"
        self["events"][consent["id"]].append(("consent.revoked", by))
        if by != "bank":
            self["notices"].append(consent["bank_token"])

    def announce(self) -> None:
        for consent in self["consents"].values():
            while consent["status"] == "authorised" and consent["notices"] and consent["notices"][0][1] <= self["now"]:
                event, _ = consent["notices"].pop(0)
                self["events"][consent["id"]].append((event, ""))

    # -- reads and payments

    def read(self, consent: Consent, access: str) -> Result:
        result = self.bearer(consent, access)
        return BLOCKED if result == OK and consent["one_time"] else result

    def claim(self, key: str) -> dict[str, Any] | None:
        """Return the stored claim of an Idempotency-Key, which is valid for a day."""
        kept = self["keys"].get(key)
        return kept if kept and self["now"] < kept["until"] else None

    def repeat(self, consent: Consent, access: str, key: str, body: str) -> Result | None:
        """Return the hub's response to a payment request, or ``None`` if the hub must call the bank."""
        result, kept = self.bearer(consent, access, or_spent=True), self.claim(key)
        is_spent = consent["status"] == "spent"
        if result != OK or (is_spent and (kept is None or kept["consent"] != consent["id"])):
            return result if result != OK else NO_BEARER
        if kept is None:
            return None
        if kept["body"] != body:
            return HEADERS
        return kept["result"] or (RUNNING if self["now"] - kept["at"] <= IN_PROGRESS else BANK_FAILED)

    def pay(self, consent: Consent, access: str, key: str, body: str, bank: str) -> Result | None:
        """Make a payment that reaches the bank. Return the response, or ``None`` if the process dies."""
        result = {"takes it": OK, "dies": None}.get(bank, BANK_FAILED)
        if key:
            members = {"result": result, "text": None, "at": self["now"], "until": self["now"] + KEPT}
            self["keys"][key] = {"consent": consent["id"], "body": body, **members}
        if bank != "is not reached":
            self["sent"] += 1
            if consent["one_time"]:
                consent["status"], consent["access"][access] = "spent", consent["until"]
        if bank == "takes it":
            self._record(f"P-{self['sent']}", consent)
        return result

    def _record(self, payment_id: str, consent: Consent) -> None:
        first = FIRST[self["version"]]
        payment = self["payments"][payment_id] = {"consent": consent["id"], "history": [first]}
        for status, at in self["early"].pop(payment_id, ()):
            if at > self["now"] - EARLY and _may_follow(payment["history"][-1], status):
                payment["history"].append(status)
        if payment["history"] != [first]:
            self._changed(payment_id)

    def report(self, payment_id: str, status: Any) -> Result:
        payment = self["payments"].get(payment_id)
        if payment is None:
            self["early"][payment_id].append((status, self["now"]))
            return BANK[self["version"]]["payment"]
        if _may_follow(payment["history"][-1], status):
            payment["history"].append(status)
            self._changed(payment_id)
        return OK

    def status(self, consent: Consent, access: str, payment_id: str) -> Result:
        result, payment = self.bearer(consent, access, or_spent=True), self["payments"].get(payment_id)
        if result != OK:
            return result
        if consent["status"] == "spent" and (payment is None or payment["consent"] != consent["id"]):
            return NO_BEARER
        return OK if payment else UNKNOWN

    def _changed(self, payment_id: str) -> None:
        status = self["payments"][payment_id]["history"][-1]
        self["events"][payment_id].append(("payment.status_changed", str(status)))


def _may_follow(before: Any, status: Any) -> bool:
    return bool(status != before and status in AFTER_FINAL.get(before, [status]))
