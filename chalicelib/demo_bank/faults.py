"""The faults of the fault banks. Each customer represents a fault, which applies to every call that it concerns.

A fault either replaces a webhook's response (``effect``), gives every payment a test reference (``payment_reference``),
ends consents (``consent_seconds``), or is in the customer's accounts.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, NoReturn

from chalice.app import Response

from chalicelib.demo_bank import refusals
from chalicelib.demo_bank.runtime import TOO_LONG_SECONDS
from chalicelib.foundation.http.web import text_answer
from chalicelib.foundation.lazy_dataclasses import dataclass

if TYPE_CHECKING:
    from chalicelib.demo_bank.runtime import DemoBank

SLOW_SECONDS = 3
CONSENT_SECONDS = 86_400
MANY_ACCOUNTS = 200
MANY_TRANSACTIONS = 10_000

FaultEffect = Callable[["DemoBank", Callable[[], Response]], Response]
"""A function that replaces a webhook's response. It receives the bank and the original handler. Raises: Refusal."""


@dataclass(frozen=True, slots=True)
class SandboxFault:
    """A fault that a demo bank simulates for one of its customers.

    Attributes:
        name: the customer's id.
        title: the customer's name on the bank's pages.
        what: the bank's behaviour.
        advice: the recommended reaction of a TPP.
        effect: replaces the response to a webhook about the customer's accounts and payments.
        needs_token: whether the effect concerns only calls with a consent's token.
        payment_reference: the test reference of all the customer's payments.
        consent_seconds: the seconds after which the bank ends the customer's consents, or 0 for never.
    """

    name: str
    title: str
    what: str
    advice: str
    effect: FaultEffect | None = None
    needs_token: bool = False
    payment_reference: str = ""
    consent_seconds: int = 0


def _answer_late(bank: DemoBank, answer: Callable[[], Response]) -> Response:
    bank.pause(SLOW_SECONDS)
    return answer()


def _stay_silent(bank: DemoBank, _: Callable[[], Response]) -> NoReturn:
    bank.pause(TOO_LONG_SECONDS)
    raise refusals.OUT_OF_SERVICE()


def _refuse_all(_bank: DemoBank, _answer: Callable[[], Response]) -> NoReturn:
    raise refusals.OUT_OF_SERVICE()


def _limit_rate(_bank: DemoBank, _answer: Callable[[], Response]) -> NoReturn:
    raise refusals.TOO_MANY_REQUESTS()


def _answer_nonsense(_bank: DemoBank, _answer: Callable[[], Response]) -> Response:
    return text_answer("<!doctype html><title>Maintenance</title><p>Back soon!", "text/html; charset=utf-8")


def _refuse_token(bank: DemoBank, _: Callable[[], Response]) -> NoReturn:
    raise refusals.refuse_token(refusals.TOKEN_NOT_IN_FORCE, bank.format.token_fault)


FAULTS = (
    SandboxFault(
        "slow",
        "Slow",
        "The bank answers every call correctly, but 3 seconds late",
        "Show the PSU that you are waiting, and set your own time-out above 20 seconds. Or send "
        "`Prefer: respond-async` and fetch the result later.",
        effect=_answer_late,
    ),
    SandboxFault(
        "silent",
        "Silent",
        "The bank keeps every call open for 24 seconds and does nothing; the service stops waiting after 20 seconds",
        "Repeat a read later, with growing intervals. Never repeat a payment with another `Idempotency-Key`: it is "
        "unknown whether the payment arrived, so ask the PSU to check the bank's pages first.",
        effect=_stay_silent,
    ),
    SandboxFault(
        "down",
        "Down",
        "The bank refuses every call with 503",
        "Repeat a read later; after 5 failures the service pauses calls to the bank, for the time in `Retry-After`. "
        "Tell the PSU that the bank is not available. The error's title states whether a payment was sent.",
        effect=_refuse_all,
    ),
    SandboxFault(
        "rate-limited",
        "Rate-limited",
        "The bank refuses every call with 429 and `Retry-After: 30`",
        "Wait for the seconds in `Retry-After`, for all calls to this bank, and then call less often.",
        effect=_limit_rate,
    ),
    SandboxFault(
        "nonsense",
        "Nonsense",
        "The bank answers every call with 200 and a text that is not JSON",
        "Treat this as an unavailable bank, and report the `X-Request-Id` to it. Whether a payment arrived is unknown.",
        effect=_answer_nonsense,
    ),
    SandboxFault(
        "token-refused",
        "Token refused",
        "The bank refuses the consent's token in every call, as if it had never issued it",
        "Stop using the consent, and let the PSU authorize again, as the error's title requests. Refreshing your "
        "tokens does not help.",
        effect=_refuse_token,
        needs_token=True,
    ),
    SandboxFault(
        "no-accounts",
        "No accounts",
        "The only account is closed after the PSU has approved it: the list of accounts is empty, and calls about the "
        "account are refused",
        "Show the PSU an empty list, not an error, and delete the account that you stored.",
    ),
    SandboxFault(
        "many",
        "Many",
        "There are 200 accounts, and 10,000 transactions on the first of them",
        "Read page by page, with `current_page` or `page_key`, up to the last page. Do not read all accounts at the "
        "same time, and store the data.",
    ),
    SandboxFault(
        "revokes-after-a-day",
        "Revokes after a day",
        "The bank ends the consent one day after the PSU granted it, and notifies the service",
        "Handle the event `consent.revoked` (`revoked_by` is `bank`) and the 401 of the next call: delete the tokens, "
        "and let the PSU authorize again when you next need the data.",
        consent_seconds=CONSENT_SECONDS,
    ),
    SandboxFault(
        "refuses-payments",
        "Refuses payments",
        "The bank refuses every payment with its own code and message; a direct payment once the PSU has confirmed it",
        "Show the PSU the bank's message. Nothing was paid: send a new payment only if the PSU requests it.",
        payment_reference="TEST-REFUSED",
    ),
    SandboxFault(
        "payment-stays-pending",
        "Payment stays pending",
        "A confirmed payment is never settled: it stays pending (status 1, or `PDNG`)",
        "Show the payment as pending, without an expected end. Rely on the event `payment.status_changed`, query the "
        "status rarely, and do not send the payment again.",
        payment_reference="TEST-PENDING",
    ),
    SandboxFault(
        "payment-rejected-later",
        "Payment rejected later",
        "A confirmed payment is rejected 20 seconds later, and the money is returned",
        "Do not treat a confirmed payment as final: wait for a final status, and handle the event "
        "`payment.status_changed`.",
        payment_reference="TEST-LATE-REJECT",
    ),
)
FAULTS_BY_NAME: Mapping[str, SandboxFault] = {fault.name: fault for fault in FAULTS}


def payment_reference(named: str, customer_id: str) -> str:
    """Return a payment's own test reference, or the test reference that the customer's fault defines.

    The result is empty if neither exists.
    """
    fault = FAULTS_BY_NAME.get(customer_id)
    return named or (fault.payment_reference if fault else "")
