"""A PSU's journey through the bank's pages. A journey is one record, and each step is a conditional write.

``open`` → ``signed_in`` → ``confirming`` → ``consenting`` → ``approved``. The first three states may also end as
``refused``, and ``consenting`` may end as ``failed`` (the service refused the consent). While it is unknown whether the
service received the consent, the journey remains ``consenting``, and the same consent can be resent.

A journey is identified by the id in its page URLs and bound to the browser whose cookie matches the stored digest. The
id itself is not stored, and sensitive values (URLs with codes and cancel secrets) are encrypted.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field
from typing import Any, Literal

from chalicelib.demo_bank.customers import Customer, CustomerAccount
from chalicelib.demo_bank.directory import find_customer
from chalicelib.demo_bank.hub_client import AuthorizationRequest
from chalicelib.demo_bank.runtime import TABLE, DemoBank
from chalicelib.foundation import jsontext
from chalicelib.foundation.clock import CLOCK_SKEW_SECONDS
from chalicelib.foundation.crypto.keyring import Unsealable
from chalicelib.foundation.dynamodb.conditions import Attr, Condition
from chalicelib.foundation.dynamodb.store import ConditionFailed, Item, Operation, Update
from chalicelib.foundation.identifiers import digest, matches, new_secret, new_uuid
from chalicelib.foundation.lazy_dataclasses import dataclass

State = Literal["open", "signed_in", "confirming", "consenting", "approved", "refused", "failed"]

LIFETIME = 1800
CLAIM_SECONDS = 30 + CLOCK_SKEW_SECONDS
"""The number of seconds after which a consent may be sent to the service again. No request takes longer than 30
seconds.
"""
ATTEMPTS = 3
SIGN_IN_ATTEMPTS = 5
UNDECIDED: tuple[State, ...] = ("open", "signed_in", "confirming")
FINISHED: tuple[State, ...] = ("approved", "refused", "failed")


class UnknownJourney(LookupError):
    """The journey does not exist, has ended, or belongs to a different browser."""


class PsuJourneyChanged(Exception):
    """The journey was changed concurrently. Read it again."""


@dataclass(frozen=True, slots=True)
class PsuJourney:
    """A stored journey.

    Attributes:
        journey_id: unguessable; part of the page URLs.
        request_url: the OAuth2 authorization URL with which the PSU arrived.
        result: the URL to which the finished journey redirects, or an empty text before the end.
        attempts: number of wrong key codes.
        begun_at: when the PSU arrived, Unix seconds.
        claimed_at: when the consent was last sent to the service, Unix seconds.
        request_id: the X-Request-Id of the consent, the same for every retry.
        error: code and message of the service's refusal.
    """

    journey_id: str
    state: State
    request_url: str
    cancel_url: str
    tpp_name: str
    tpp_registration_number: str
    scopes: tuple[str, ...]
    customer: Customer | None
    account_ids: tuple[str, ...]
    attempts: int
    sign_in_attempts: int
    begun_at: int
    claimed_at: int
    request_id: str
    result: str = field(repr=False)
    error: tuple[str, str] = ("", "")

    @property
    def customer_id(self) -> str:
        """The customer's id, or an empty text before the sign-in."""
        return self.customer.customer_id if self.customer else ""

    @property
    def accounts(self) -> tuple[CustomerAccount, ...]:
        """The chosen accounts."""
        found = self.customer.accounts if self.customer else ()
        return tuple(account for account in found if account.account_id in self.account_ids)

    def is_claim_active(self, now: int) -> bool:
        """Whether a consent submission to the service may still be in progress."""
        return self.state == "consenting" and now < self.claimed_at + CLAIM_SECONDS

    def needs_accounts(self, bank: DemoBank) -> bool:
        """Whether a requested scope requires the PSU to choose at least one account."""
        known = bank.profile.protocol.scopes
        return any(known[scope].needs_accounts for scope in self.scopes if scope in known)

    def key_code(self, bank: DemoBank) -> str:
        """Return the six digits that confirm exactly these accounts of this customer in this journey."""
        derived = bank.derive("key code", self.journey_id, self.customer_id, *sorted(self.account_ids))
        return f"{int.from_bytes(derived[:8], 'big') % 1_000_000:06d}"


def begin(bank: DemoBank, request_url: str, request: AuthorizationRequest, browser: str) -> str:
    """Create a journey for the browser with the cookie ``browser``. Returns the journey's id."""
    journey_id = new_secret()
    record = _record_id(journey_id)
    addresses = jsontext.dumps({"request_url": request_url, "cancel_url": request.cancel_url})
    item = bank.key(record) | {
        "browser": digest(browser),
        "state": "open",
        "addresses": bank.seal(addresses, record),
        "tpp_name": request.tpp_name,
        "tpp_registration_number": request.tpp_registration_number,
        "scopes": list(request.scopes),
        "account_ids": [],
        "attempts": 0,
        "sign_in_attempts": 0,
        "claimed_at": 0,
        "request_id": new_uuid(),
        "expires_at": bank.clock.time() + LIFETIME,
    }
    bank.store.put(TABLE, item)
    return journey_id


def find(bank: DemoBank, journey_id: str, browser: str) -> PsuJourney:
    """Return the journey with this id. Raises: UnknownJourney."""
    item = bank.store.get(TABLE, bank.key(_record_id(journey_id))) if journey_id else None
    if item is None or item["expires_at"] <= bank.clock.time() or not matches(browser, item["browser"]):
        raise UnknownJourney
    try:
        return _journey(bank, journey_id, item)
    except Unsealable:  # the bank's storage key was replaced meanwhile
        raise UnknownJourney from None


def sign_in(bank: DemoBank, journey: PsuJourney, customer: Customer) -> PsuJourney:
    """Record the customer who signed in. Raises: PsuJourneyChanged."""
    changes = {"state": "signed_in", "customer_id": customer.customer_id, "account_ids": []}
    return _update(bank, journey, changes, _state_condition(*UNDECIDED))


def count_failed_sign_in(bank: DemoBank, journey: PsuJourney) -> PsuJourney:
    """Count a wrong password. Raises: PsuJourneyChanged."""
    count = journey.sign_in_attempts
    condition = _state_condition(*UNDECIDED) & Attr("sign_in_attempts").eq(count)
    return _update(bank, journey, {"sign_in_attempts": count + 1}, condition)


def choose_accounts(bank: DemoBank, journey: PsuJourney, account_ids: Sequence[str]) -> PsuJourney:
    """Record the chosen accounts. Raises: PsuJourneyChanged."""
    condition = _state_condition("signed_in", "confirming") & Attr("customer_id").eq(journey.customer_id)
    return _update(bank, journey, {"state": "confirming", "account_ids": list(account_ids)}, condition)


def count_wrong_key_code(bank: DemoBank, journey: PsuJourney) -> PsuJourney:
    """Count a wrong key code. Raises: PsuJourneyChanged."""
    condition = _state_condition("confirming") & Attr("attempts").eq(journey.attempts)
    return _update(bank, journey, {"attempts": journey.attempts + 1}, condition)


def claim_submission(bank: DemoBank, journey: PsuJourney) -> PsuJourney:
    """Claim the consent submission for ``CLAIM_SECONDS``, for one request at a time. Raises: PsuJourneyChanged."""
    now = bank.clock.time()
    seen = Attr("account_ids").eq(list(journey.account_ids)) & Attr("customer_id").eq(journey.customer_id)
    stale = (
        _state_condition("consenting")
        & Attr("claimed_at").eq(journey.claimed_at)
        & Attr("claimed_at").lte(now - CLAIM_SECONDS)
    )
    changes = {"state": "consenting", "claimed_at": now}
    return _update(bank, journey, changes, seen & (_state_condition("confirming") | stale))


def release_claim(bank: DemoBank, journey: PsuJourney) -> PsuJourney:
    """Release the claim after a missing response, so that the consent can be resent. Raises: PsuJourneyChanged."""
    return _update(bank, journey, {"claimed_at": 0}, _claim_condition(journey))


def record_failure(bank: DemoBank, journey: PsuJourney, code: str, message: str) -> PsuJourney:
    """Record that the service refused the consent. Raises: PsuJourneyChanged."""
    changes = {"state": "failed", "error_code": code, "error_message": message}
    return _update(bank, journey, changes, _claim_condition(journey))


def record_refusal(bank: DemoBank, journey: PsuJourney, result: str) -> PsuJourney:
    """Record the PSU's or the bank's refusal. ``result`` is the redirect URL. Raises: PsuJourneyChanged."""
    return _update(
        bank, journey, {"state": "refused", **_seal_result(bank, journey, result)}, _state_condition(*UNDECIDED)
    )


def update_approval(bank: DemoBank, journey: PsuJourney, result: str) -> Operation:
    """Return the write operation that completes the journey, for the transaction that stores the consent."""
    changes = {"state": "approved", **_seal_result(bank, journey, result)}
    return Update(
        TABLE, bank.key(_record_id(journey.journey_id)), set=changes, condition=_state_condition("consenting")
    )


def _update(bank: DemoBank, journey: PsuJourney, changes: dict[str, Any], condition: Condition) -> PsuJourney:
    try:
        item = bank.store.update(TABLE, bank.key(_record_id(journey.journey_id)), set=changes, condition=condition)
    except ConditionFailed as failure:
        raise PsuJourneyChanged from failure
    try:
        return _journey(bank, journey.journey_id, item)
    except UnknownJourney as failure:
        raise PsuJourneyChanged from failure


def _claim_condition(journey: PsuJourney) -> Condition:
    return _state_condition("consenting") & Attr("claimed_at").eq(journey.claimed_at)


def _state_condition(*states: State) -> Condition:
    return Attr("state").is_in(list(states))


def _seal_result(bank: DemoBank, journey: PsuJourney, result: str) -> dict[str, bytes]:
    return {"result": bank.seal(result, f"{_record_id(journey.journey_id)}/result")}


def _record_id(journey_id: str) -> str:
    return f"journey#{digest(journey_id)}"


def _journey(bank: DemoBank, journey_id: str, item: Item) -> PsuJourney:
    """Create a journey from its item. Raises: UnknownJourney, if the customer or a chosen account was deleted."""
    record = item["id"]
    customer_id = item.get("customer_id")
    customer = find_customer(bank, customer_id) if customer_id else None
    if customer_id and not (customer and all(map(customer.account, item["account_ids"]))):
        raise UnknownJourney
    stored = (
        "state",
        "tpp_name",
        "tpp_registration_number",
        "attempts",
        "sign_in_attempts",
        "claimed_at",
        "request_id",
    )
    return PsuJourney(
        **{name: item[name] for name in stored},
        **jsontext.loads(bank.unseal(item["addresses"], record)),
        journey_id=journey_id,
        scopes=tuple(item["scopes"]),
        customer=customer,
        account_ids=tuple(item["account_ids"]),
        begun_at=item["expires_at"] - LIFETIME,
        result=bank.unseal(item["result"], f"{record}/result") if "result" in item else "",
        error=(item.get("error_code", ""), item.get("error_message", "")),
    )
