"""The kinds of personal data that the service stores. The command, the document and the tests use these rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Person = Literal["PSU", "user", "card holder"]
Removal = Literal["Expires by itself", "retention remove", "retention erase-user", "Nothing"]

YEARS = 5
RETENTION_SECONDS = (YEARS * 365 + 2) * 24 * 3600
"""Five years, including leap days, in seconds (PSD2 Article 21; Directive (EU) 2015/849 Article 40)."""

PSD2 = "PSD2 Article 21: records of payment services, 5 years"
AML = "Directive (EU) 2015/849 Article 40(1): 5 years after the end of the business relationship"
BOOKS = "Accounting law of the issuer's country: 6 to 10 years. The books prove themselves by all of their rows"


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of data.

    Attributes:
        name: the kind's name in commands.
        data: a readable description.
        place: the table and the item, named as in docs/data.md.
        retention: the retention period.
        removal: the job or command that removes the data after this period.
        reason: the legal basis or the purpose of the retention.
        on_request: whether a command of ``retention`` removes the data immediately on a person's request.
    """

    name: str
    person: Person
    data: str
    place: str
    retention: str
    removal: Removal
    reason: str
    on_request: bool = False


KINDS = (
    Kind(
        name="approved-accounts",
        person="PSU",
        data="Account identifiers that the PSU approved",
        place="`consents`, part `consent`",
        retention=f"{YEARS} years after the consent's end",
        removal="retention remove",
        reason="Evidence of what was approved; PSD2 Article 71: claims within 13 months",
        on_request=True,
    ),
    Kind(
        name="consents",
        person="PSU",
        data="The consent without them: client, bank, scopes, times",
        place="`consents`, part `consent`",
        retention=f"{YEARS} years after its end",
        removal="retention remove",
        reason=PSD2,
    ),
    Kind(
        name="tokens",
        person="PSU",
        data="Codes and tokens, as hashes and ciphertext",
        place="`consents`, parts `grant`, `access#…`, `refresh#…`",
        retention="Until the consent's end",
        removal="Expires by itself",
        reason="Use of the consent",
    ),
    Kind(
        name="authorization-requests",
        person="PSU",
        data="Requests for a consent: client, bank, scopes, state",
        place="`authorizations`",
        retention="400 days; a day without a consent",
        removal="Expires by itself",
        reason="PSD2 Article 71: claims within 13 months",
    ),
    Kind(
        name="payments",
        person="PSU",
        data="Payments: bank, id, statuses; no amount, account or name",
        place="`payments`",
        retention=f"{YEARS} years after the order",
        removal="retention remove",
        reason=PSD2,
    ),
    Kind(
        name="orders",
        person="PSU",
        data="Order claims and stored responses",
        place="`idempotency`",
        retention="24 hours; orders 90 days",
        removal="Expires by itself",
        reason="Detection of repeated orders, and of unknown outcomes",
    ),
    Kind(
        name="deliveries",
        person="PSU",
        data="Events and deferred calls, encrypted",
        place="`deliveries`",
        retention="30 days after their end; accepted calls 24 hours",
        removal="Expires by itself",
        reason="Delivery, and its proof",
    ),
    Kind(
        name="user-account",
        person="user",
        data="Email, password hash, times",
        place="`users`",
        retention="Until the user asks",
        removal="retention erase-user",
        reason="Contract with the user",
        on_request=True,
    ),
    Kind(
        name="journeys",
        person="user",
        data="Authorizations that the user tried in the web interface",
        place="`website`, `user#…`",
        retention="30 days",
        removal="Expires by itself",
        reason="The list of the user's journeys",
        on_request=True,
    ),
    Kind(
        name="sessions",
        person="user",
        data="Sessions, links and codes",
        place="`website`, `session#…`, `code#…`, `reset#…`, `confirm#…`",
        retention="12 hours; links and codes at most 24 hours",
        removal="Expires by itself",
        reason="Signing in. They end with the account",
        on_request=True,
    ),
    Kind(
        name="attempts",
        person="user",
        data="Counters of attempts, under an HMAC of email or IP address",
        place="`website`",
        retention="Twice their window, at most 48 hours",
        removal="Expires by itself",
        reason="Protection against guessing",
    ),
    Kind(
        name="clients",
        person="user",
        data="The owner's email of a client, and of the author of its changes",
        place="`clients`",
        retention="As long as the client",
        removal="Nothing",
        reason=f"{PSD2}. Archive clients that are no longer used",
    ),
    Kind(
        name="operator-log",
        person="user",
        data="Commands of the operator, with their arguments",
        place="`website`, `audit#…`",
        retention=f"{YEARS} years",
        removal="Expires by itself",
        reason="Audit trail: PCI DSS 10.5, PSD2 Article 21",
    ),
    Kind(
        name="holder-contact",
        person="card holder",
        data="Phone number, email, title, locale, IP address",
        place="`cards`, `holder#…`",
        retention=f"{YEARS} years after the last account was closed",
        removal="retention remove",
        reason="Contract with the holder",
        on_request=True,
    ),
    Kind(
        name="card-secrets",
        person="card holder",
        data="PIN and 3-D Secure password, encrypted",
        place="`cards`, `card#…`, part `card`",
        retention=f"{YEARS} years after the last account was closed",
        removal="retention remove",
        reason="Use of the card",
        on_request=True,
    ),
    Kind(
        name="whitelist-rules",
        person="card holder",
        data="Whitelist rules of 3-D Secure",
        place="`cards`, `card#…`, parts `rule#…`",
        retention=f"{YEARS} years after the last account was closed",
        removal="retention remove",
        reason="Use of the card",
        on_request=True,
    ),
    Kind(
        name="holder-identity",
        person="card holder",
        data="Names, addresses, dates of birth, documents",
        place="`cards`, `holder#…`",
        retention=f"{YEARS} years after the last account was closed",
        removal="retention remove",
        reason=AML,
    ),
    Kind(
        name="card-names",
        person="card holder",
        data="Names on the card and in lists of cards",
        place="`cards`, `card#…` and `manager#…`",
        retention=f"{YEARS} years after the last account was closed",
        removal="retention remove",
        reason=AML,
    ),
    Kind(
        name="shipments",
        person="card holder",
        data="Names and addresses to which cards were sent",
        place="`cards`, `card#…`, parts `order#…`",
        retention=f"{YEARS} years after the last account was closed",
        removal="retention remove",
        reason=AML,
    ),
    Kind(
        name="card-numbers",
        person="card holder",
        data="Card numbers, encrypted and as HMAC",
        place="`cards`, `card#…` and `pan#…`",
        retention="As long as the card's record",
        removal="Nothing",
        reason=f"A number is never assigned twice. {BOOKS}",
    ),
    Kind(
        name="card-payments",
        person="card holder",
        data="Transactions, network messages, external payments and their counterparties",
        place="`ledger`, `card-activity`, `external-payments`",
        retention="As long as the books",
        removal="Nothing",
        reason=BOOKS,
    ),
    Kind(
        name="authentications",
        person="card holder",
        data="Requests of 3-D Secure",
        place="`cards`, `authentication#…`",
        retention="30 days",
        removal="Expires by itself",
        reason="Disputes of an authentication",
    ),
    Kind(
        name="card-events",
        person="card holder",
        data="Events with payments and names of counterparties, encrypted",
        place="`deliveries`",
        retention="30 days after their end",
        removal="Expires by itself",
        reason="Delivery, and its proof",
    ),
    Kind(
        name="card-requests",
        person="card holder",
        data="Stored responses of the card API, encrypted",
        place="`idempotency`, `card-api#…`",
        retention="30 days; with card data 24 hours",
        removal="Expires by itself",
        reason="Repeats of a request",
    ),
)
BY_NAME = {kind.name: kind for kind in KINDS}


def of_person(person: Person) -> list[Kind]:
    return [kind for kind in KINDS if kind.person == person]


def kinds_of_person(person: Person) -> list[Kind]:
    """Return the kinds of data that remain after a person's request for erasure."""
    return [kind for kind in of_person(person) if not kind.on_request]
