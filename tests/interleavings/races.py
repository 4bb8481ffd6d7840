"""Sets of requests that compete for one object of open banking, cards or deliveries."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any
from urllib.parse import urlsplit

from chalicelib.cards.authorization.hold_release import expire_holds
from chalicelib.cards.protocol.values import HOLD_SECONDS
from chalicelib.cards.storage.record import without_none
from chalicelib.delivery.journal import NotResendable
from chalicelib.delivery.sweeper import sweep
from tests.cards.cases import FEE
from tests.cards.issuer import EUR, EVERYDAY, GERMANY, HOLDER_BLOCK, PIN, Envelope, Issuer
from tests.causeway import Causeway
from tests.delivery.conftest import record_delivery
from tests.interleavings.scheduler import Request
from tests.openbanking.accounts import Aisp, limit_reads
from tests.openbanking.fault_scenarios import InMemory
from tests.openbanking.kit import always
from tests.openbanking.payments import Pisp

BANK, CASH = 1, 1
CardRequest = Callable[[Issuer], Envelope | int]


class Requests(dict[str, Request]):
    def take(self, name: str) -> Request:
        return self[name]


class CardRequests(Requests):
    """Competing card requests, each of which runs in a separate process."""

    def __init__(self, issuer: Issuer, requests: Mapping[str, CardRequest]) -> None:
        super().__init__({name: partial(request, issuer) for name, request in requests.items()})
        self._issuer = issuer
        self._requests = requests

    def take(self, name: str) -> Request:
        return partial(self._requests[name], self._issuer.another_process())


@dataclass(frozen=True)
class Race:
    prepare: Callable[[Causeway], Requests]
    pairs: Sequence[str]


Prepare = Callable[[Causeway], Mapping[str, Request]]
OPENBANKING: dict[str, Race] = {}
CARDS: dict[str, Race] = {}
EVENTS: dict[str, Race] = {}


def race(races: dict[str, Race], *pairs: str) -> Callable[[Prepare], Prepare]:
    def add(prepare: Prepare) -> Prepare:
        races[prepare.__name__.replace("_", " ")] = Race(lambda causeway: Requests(prepare(causeway)), pairs)
        return prepare

    return add


PrepareCards = Callable[[Issuer], Mapping[str, CardRequest]]


def card_race(*pairs: str) -> Callable[[PrepareCards], PrepareCards]:
    def prepare_with(prepare: PrepareCards, causeway: Causeway) -> Requests:
        issuer = Issuer(causeway)
        return CardRequests(issuer, prepare(issuer))

    def add(prepare: PrepareCards) -> PrepareCards:
        CARDS[prepare.__name__.replace("_", " ")] = Race(partial(prepare_with, prepare), pairs)
        return prepare

    return add


# -- open banking


@race(OPENBANKING, "redeem, redeem", "redeem, revoke by bank")
def code(causeway: Causeway) -> Mapping[str, Request]:
    consented = causeway.psu.approve(BANK)
    return {
        "redeem": _redemption(causeway, consented.query["code"]),
        "revoke by bank": _revocation_by_bank(causeway, consented.bank_token),
        "deactivate client": _deactivation(causeway),
    }


@race(
    OPENBANKING,
    "refresh, refresh",
    "refresh, revoke by bank",
    "refresh, revoke",
    "read, revoke by bank",
    "read, revoke",
    "read, deactivate client",
    "archive client, refresh",
    "rotate secret, refresh",
)
def tokens(causeway: Causeway) -> Mapping[str, Request]:
    consented, aisp = causeway.psu.approve(BANK), Aisp(causeway, BANK)
    tokens = _redemption(causeway, consented.query["code"])().body
    aisp.bearer = tokens["access_token"]
    refresh = {"grant_type": "refresh_token", "refresh_token": tokens["refresh_token"]}
    return {
        "refresh": lambda: causeway.tpp.call("POST", "/tpp/token", refresh),
        "read": aisp.list_accounts,
        "revoke": _revocation(causeway, tokens["access_token"]),
        "revoke by bank": _revocation_by_bank(causeway, consented.bank_token),
        "deactivate client": _deactivation(causeway),
        "archive client": lambda: causeway.hub.openbanking.clients.archive(causeway.tpp.client_id).is_archived,
        "rotate secret": _rotation(causeway),
    }


@race(OPENBANKING, "consent, consent", "consent, cancel", "consent, drop callback")
def authorization(causeway: Causeway) -> Mapping[str, Request]:
    bank, url = causeway.banks[BANK], causeway.tpp.authorize(BANK)["redirect_url"]
    cancel_path = urlsplit(bank.call("/init_authorization", {"request_url": url}).body["cancel_url"]).path
    body = bank.consent_body(url)
    return {
        "consent": lambda: bank.call("/consent", body),
        "cancel": lambda: causeway.call("GET", cancel_path).headers["location"],
        "drop callback": _change(causeway, callback_urls=["https://tpp.example/other"]),
    }


@race(OPENBANKING, "pay with a key, pay with a key", "pay, report", "pay, revoke", "pay, deactivate client")
def order(causeway: Causeway) -> Mapping[str, Request]:
    debtor = Pisp(causeway, 2)
    return {
        "pay": debtor.pay,
        "pay with a key": lambda: debtor.pay("a-key"),
        "report": lambda: debtor.report("ACSC"),
        "revoke": _revocation(causeway, str(debtor.bearer)),
        "deactivate client": _deactivation(causeway),
    }


@race(OPENBANKING, "pay, pay")
def order_with_a_request_id(causeway: Causeway) -> Mapping[str, Request]:
    debtor = Pisp.with_request_id(causeway, 2)
    return {"pay": debtor.pay, "report": lambda: debtor.report("ACSC")}


@race(OPENBANKING, "pay, pay")
def one_time_consent(causeway: Causeway) -> Mapping[str, Request]:
    debtor = Pisp(causeway, 2, consent_type="one_time")
    return {"pay": debtor.pay, "revoke": _revocation(causeway, str(debtor.bearer))}


@race(OPENBANKING, "report a step, report the end", "report the end, stop events", "query, report the end")
def payment(causeway: Causeway) -> Mapping[str, Request]:
    debtor = Pisp(causeway, 2)
    debtor.pay()
    debtor.bank.answers["/v2_payment_single_status"] = always({"transaction_status": "ACSP"})
    return {
        "report a step": lambda: debtor.report("ACSP"),
        "report the end": lambda: debtor.report("ACSC"),
        "query": debtor.status,
        "stop events": _change(causeway, events_url=None),
    }


@race(OPENBANKING, "read, read")
def last_unattended_read(causeway: Causeway) -> Mapping[str, Request]:
    limit_reads(causeway, limit=1)
    return {"read": Aisp(causeway, 2).read}


@race(OPENBANKING, "rotate secret, rotate secret", "change title, change it otherwise")
def client(causeway: Causeway) -> Mapping[str, Request]:
    """Prepare a client for competing requests. Both change requests name the same revision of the client."""
    revision = causeway.hub.openbanking.clients.get(causeway.tpp.client_id).revision
    return {
        "rotate secret": _rotation(causeway),
        "change title": _change(causeway, revision=revision, title="Budget Friend"),
        "change it otherwise": _change(causeway, revision=revision, title="Budget Foe"),
    }


def _rotation(causeway: Causeway) -> Request:
    return lambda: len(causeway.hub.openbanking.clients.rotate_secret(causeway.tpp.client_id, 60).client.secrets)


def _change(causeway: Causeway, **details: Any) -> Request:
    return lambda: causeway.hub.openbanking.clients.update(causeway.tpp.client_id, **details).client.revision


def _deactivation(causeway: Causeway) -> Request:
    return lambda: causeway.hub.openbanking.clients.deactivate(causeway.tpp.client_id).active


def _redemption(causeway: Causeway, code: str) -> Request:
    return lambda: causeway.tpp.call("POST", "/tpp/token", {"code": code})


def _revocation(causeway: Causeway, access_token: str) -> Request:
    return lambda: causeway.tpp.call("POST", "/tpp/token/revoke", {"token": access_token})


def _revocation_by_bank(causeway: Causeway, bank_token: str) -> Request:
    return lambda: causeway.banks[BANK].call("/token/revoke", {"access_token": bank_token})


# -- cards


@card_race("authorize, authorize", "authorize by number, reissue", "authorize, fee", "authorize, block card")
def last_money(issuer: Issuer) -> Mapping[str, CardRequest]:
    card = issuer.spendable(10_00)
    reissue = {"card_id": card.card_id, "card_name_line_3": "ZOE ONEIL", "generate_new_pan": 1}
    fee = FEE | {"card_id": card.card_id, "account_currency": EUR}
    return {
        "authorize": _authorization(card.card_id),
        "authorize by number": _authorization(None, pan=card.pan),
        "reissue": _action("reissueCard", **reissue),
        "fee": _action("createCustomFee", **fee),
        "block card": _action("changeCardStatus", card_id=card.card_id, status="T"),
    }


@card_race("authorize, authorize")
def last_time(issuer: Issuer) -> Mapping[str, CardRequest]:
    card = issuer.spendable(1000_00, card_limit_group_id=203).card_id
    authorize = _authorization(card, transaction_type=CASH)
    for _ in range(4):  # of five that are allowed in a week
        authorize(issuer)
    return {"authorize": authorize}


@card_race("clear, reverse", "clear, clear", "reverse, reverse")
def hold(issuer: Issuer) -> Mapping[str, CardRequest]:
    card, link = _held_purchase(issuer)
    return {"authorize": _authorization(card), "clear": _clearing(link), "reverse": _reversal(link)}


@card_race("clear a part, expire", "reverse a part, expire")
def expired_hold(issuer: Issuer) -> Mapping[str, CardRequest]:
    card, link = _held_purchase(issuer)
    issuer.clock.advance(HOLD_SECONDS)
    return {
        "authorize": _authorization(card),
        "clear a part": _clearing(link, 3_00, final=0),
        "reverse a part": _reversal(link, amount=3_00),
        "expire": _expiry,
    }


@card_race("refund, refund", "dispute, refund")
def cleared_purchase(issuer: Issuer) -> Mapping[str, CardRequest]:
    card, link = _held_purchase(issuer)
    cleared = issuer.data("simulateClearing", trans_link=link, amount=8_00, currency_ison=EUR)
    return {
        "authorize": _authorization(card),
        "refund": _simulation("simulateRefund", trans_link=link, amount=8_00, currency_ison=EUR),
        "dispute": _simulation("simulateDispute", transaction_id=cleared["transaction_id"], step="opened"),
    }


@card_race("transfer, transfer", "transfer all, close account")
def funded_account(issuer: Issuer) -> Mapping[str, CardRequest]:
    address = issuer.funded_address(10_00)
    return {
        "transfer": lambda each: each.transfer(address, 8_00),
        "transfer all": lambda each: each.transfer(address, 10_00),
        "close account": _action("changeAccountStatus", account_id=address["account_id"], account_status="C"),
    }


@card_race("create, create")
def reference(issuer: Issuer) -> Mapping[str, CardRequest]:
    order = {"card_program_id": EVERYDAY, "card_country_ison": GERMANY, "card_virtual": 1, "card_currency_ison": [EUR]}
    order |= HOLDER_BLOCK | {"request_reference_id": issuer.reference(), "card_name_line_3": "ZOE ONEIL"}
    return {"create": _action("createCard", **order)}


@card_race("set PIN, wrong PIN")
def card_with_a_pin(issuer: Issuer) -> Mapping[str, CardRequest]:
    card = issuer.spendable(10_00, card_virtual=0, card_pin=PIN).card_id
    (wrong,) = issuer.wrong_pins(card, 1)
    return {
        "set PIN": _action("setPin", card_id=card, pin="8264"),
        "wrong PIN": _authorization(card, pin=wrong),
        "right PIN": _authorization(card, pin=PIN),
    }


def _action(name: str, **members: Any) -> CardRequest:
    return lambda issuer: issuer.do(name, **members)


def _simulation(name: str, **members: Any) -> CardRequest:
    return lambda issuer: issuer.sim(name, **members)


def _authorization(card_id: int | None, **members: Any) -> CardRequest:
    purchase = {"card_id": card_id, "transaction_type": 0, "amount": 8_00, "currency_ison": EUR, **members}
    return _simulation("simulateAuthorization", **without_none(purchase))


def _held_purchase(issuer: Issuer) -> tuple[int, str]:
    """Create a hold of 8 euros. Return the card and the link of the hold."""
    card = issuer.spendable(10_00).card_id
    return card, str(issuer.purchase(card, 8_00)["trans_link"])


def _clearing(link: str, amount: int = 8_00, **members: int) -> CardRequest:
    return _simulation("simulateClearing", trans_link=link, amount=amount, currency_ison=EUR, **members)


def _reversal(link: str, **members: int) -> CardRequest:
    return _simulation("simulateReversal", trans_link=link, **members)


def _expiry(issuer: Issuer) -> int:
    """Run the expiry job, and run the job again if the first run finds no hold. A run skips holds that a concurrent run
    changes.
    """
    return issuer.hub.cards.call(expire_holds) or issuer.hub.cards.call(expire_holds)


# -- deliveries


@race(EVENTS, "work, work", "work, sweep", "work, resend", "sweep, resend", "sweep, sweep", "work, fetch events")
def event(causeway: Causeway) -> Mapping[str, Request]:
    """Prepare an event with a message that two workers have received. The client removes the Events URL in order to
    fetch events.
    """
    InMemory.install(causeway.hub.delivery)
    event, clients = record_delivery(causeway, body="{}"), causeway.hub.openbanking.clients

    def resend() -> bool:
        if not causeway.hub.delivery.journal.resend(event, looks=2):
            raise NotResendable("the attempt in progress succeeded")
        return True

    return {
        "work": lambda: causeway.hub.delivery.worker.attempt(event),
        "sweep": lambda: causeway.hub.delivery.call(sweep, first=0),
        "resend": resend,
        "fetch events": lambda: clients.update(causeway.tpp.client_id, events="poll").client.events_mode,
    }


RACES = OPENBANKING | CARDS | EVENTS
