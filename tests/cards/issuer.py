"""A simulated programme manager that calls the card API in this process and creates test records.

``Issuer`` uses the credentials of the demonstration programme. ``do`` calls an action of ``POST /api``, and ``sim``
calls an action of ``POST /simulator``. ``holder``, ``account``, ``card``, ``card_in``, ``account_in``,
``authentication``, ``address``, ``mandate`` and the payment methods create records with default members. Arguments
override the defaults. A member with the value ``LEFT_OUT`` is not sent.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from functools import cache
from typing import Any

from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey, generate_private_key

from chalicelib.bootstrap import Hub
from chalicelib.cards.issuing.card_record import Card
from chalicelib.cards.portal.portal import Portal
from chalicelib.cards.programs import credentials
from chalicelib.cards.programs.credentials import Rights
from chalicelib.cards.protocol.card_records import CARD_FIELDS, MINIMUM_KEY_BITS, PLAIN
from chalicelib.foundation import jsontext
from chalicelib.foundation.crypto import signatures
from tests.causeway import Causeway
from tests.kit.time import FollowingClock, ManualClock

LEFT_OUT: Any = object()
"""The value that omits a member from the request."""

MANAGER, OTHER_MANAGER = 1, 2
EVERYDAY, PREPAID, ONLINE = 101, 102, 103
EVERYDAY_ACCOUNT, PREPAID_ACCOUNT = 501, 502
SPECIAL_GBP, SPECIAL_EUR = 801, 802
EUR, GBP, USD = 978, 826, 840
GERMANY, BRITAIN = 276, 826
UK, SEPA = 1, 2
METHODS = {GBP: UK, EUR: SEPA}
SCHEMES = {UK: "FPS", SEPA: "SCT"}
EXTERNAL_IBANS = {UK: "GB29NWBK60161331926819", SEPA: "DE89370400440532013000"}
"""The IBAN of an external account for each payment method (examples of the IBAN registry)."""
PIN = "7305"

DAY = 24 * 3600
_references = itertools.count(1)
ALL_PLAIN = dict.fromkeys(CARD_FIELDS, PLAIN)

HOLDER_DETAILS = {
    "first_name": "Zoë",
    "last_name": "O'Neil-Smith",
    "address_line_1": "1 Riverside",
    "zip_code": "E1 6AN",
    "city": "London",
    "phone_number": "0447700900123",
    "holder_limit_group_id": 221,
}
"""The mandatory members of createHolder."""

HOLDER_BLOCK = {
    "holder_first_name": "Zoë",
    "holder_last_name": "O'Neil-Smith",
    "holder_address_line_1": "1 Riverside",
    "holder_country_ison": BRITAIN,
    "holder_zipcode": "E1 6AN",
    "holder_city": "London",
    "holder_phone_number": "0447700900123",
}
"""The mandatory members of a new holder in createAccount and createCard."""

DELIVERY = {
    "delivery_first_name": "Zoë",
    "delivery_last_name": "O'Neil-Smith",
    "delivery_address_line_1": "1 Riverside",
    "delivery_country_ison": BRITAIN,
    "delivery_zipcode": "E1 6AN",
    "delivery_city": "London",
    "order_shipping_method": 701,
}
"""The mandatory members that order a physical card."""


@dataclass(frozen=True)
class Envelope:
    """The response of an action. ``raw`` is the response body, and ``retry_after`` is the Retry-After header in
    seconds.
    """

    raw: str
    members: Mapping[str, Any]
    retry_after: int | None = None

    @property
    def status(self) -> str:
        return str(self.members["status"])

    @property
    def duplicated(self) -> int:
        return int(self.members["duplicated"])

    @property
    def data(self) -> Any:
        return self.members.get("data")

    @property
    def id(self) -> int | None:
        return self.members.get("id")

    @property
    def status_code(self) -> int | None:
        return self.members.get("status_code")

    @property
    def message(self) -> str:
        return str(self.members.get("message", ""))


@dataclass(frozen=True)
class NewCard:
    """The members of createCard's response. ``expiration`` contains the year and the month."""

    card_id: int
    card_request_id: int
    holder_id: int
    account_id: int
    acs_password: str
    pan: str = ""
    pin: str = ""
    cvc2: str = ""
    expiration: Mapping[str, Any] | None = None


class Issuer:
    """A process of the service with a clock, and named credentials of API callers.

    ``full``, ``support`` and ``encrypted`` are credentials of the demonstration programme. ``other`` is a credential of
    a second programme manager. ``with_credential`` creates further credentials.
    """

    def __init__(self, causeway: Causeway, hub: Hub | None = None, caller: str = "full") -> None:
        self.causeway = causeway
        self.hub = hub or causeway.hub
        self.clock: ManualClock = self.hub.clock  # type: ignore[assignment]
        self.secrets = dict(causeway.card_secrets)
        self.caller = caller

    def with_own_clock(self, *, days: float = 0) -> Issuer:
        clock = ManualClock(self.clock.now())
        clock.advance(days * DAY)
        return self._as(self.causeway.another_process(clock=clock), self.caller)

    def another_process(self) -> Issuer:
        return self._as(self.causeway.another_process(clock=self.clock), self.caller)

    def with_clock_ahead(self, ahead: float) -> Issuer:
        return self._as(self.causeway.another_process(clock=FollowingClock(self.clock, ahead)), self.caller)

    def as_caller(self, name: str) -> Issuer:
        return self._as(self.hub, name)

    def _as(self, hub: Hub, caller: str) -> Issuer:
        other = Issuer(self.causeway, hub, caller)
        other.secrets = self.secrets
        return other

    def with_credential(self, name: str, *, manager: int = MANAGER, **rights: Any) -> Issuer:
        """Create a credential with all rights except the rights in ``rights``. Return an issuer that uses the
        credential.
        """
        with_defaults = {"access_level": 1000, "actions": None, "modes": ALL_PLAIN} | rights
        secret = credentials.new_secret(with_access_key=True)
        made = credentials.put_credential(manager, name, Rights(**with_defaults), secret, self.clock.time())
        self.hub.store.transact(made)
        self.secrets[name] = asdict(secret)
        return self.as_caller(name)

    # -- calls

    def body(self, action: str, /, **members: Any) -> dict[str, Any]:
        """Return a complete request body. ``members`` override the secrets, the action and the API version."""
        envelope = {**self.secrets[self.caller], "action": action, "api_version": "1.2"}
        return {name: value for name, value in (envelope | members).items() if value is not LEFT_OUT}

    def send(self, body: bytes, *, simulator: bool = False) -> Envelope:
        answer = (self.hub.cards.simulator if simulator else self.hub.cards.api).answer(body)
        return Envelope(answer.text, jsontext.loads(answer.text), answer.retry_after)

    def do(self, action: str, /, **members: Any) -> Envelope:
        return self.send(jsontext.dumps(self.body(action, **members)).encode())

    def sim(self, action: str, /, **members: Any) -> Envelope:
        return self.send(jsontext.dumps(self.body(action, **members)).encode(), simulator=True)

    def data(self, action: str, /, **members: Any) -> Any:
        """Call an action of the card API or of the simulator. Check that the call succeeds, and return its data."""
        answer = (self.sim if action.startswith("simulate") else self.do)(action, **members)
        assert answer.status == "success", answer.raw
        return answer.data

    def reference(self) -> str:
        return f"reference-{next(_references):06}"

    # -- records

    def holder(self, **members: Any) -> int:
        answer = self.do("createHolder", **HOLDER_DETAILS | members)
        assert answer.id is not None, answer.raw
        return answer.id

    def account(self, **members: Any) -> int:
        least = {
            "currency_ison": EUR,
            "account_status": "A",
            "program_id": EVERYDAY_ACCOUNT,
            "skip_holder_validation": 0,
        }
        return int(self.data("createAccount", **least | self._of_holder(members))["id"])

    def card(self, **members: Any) -> NewCard:
        """Create a card. By default the card is virtual and has a new holder."""
        least = {
            "card_program_id": EVERYDAY,
            "card_country_ison": GERMANY,
            "card_virtual": 1,
            "card_name_line_3": "ZOE ONEIL",
        }
        delivery = DELIVERY if members.get("card_virtual") == 0 else {}
        return NewCard(**self.data("createCard", **least | delivery | self._of_holder(members)))

    def card_in(self, status: str, **members: Any) -> NewCard:
        """Create a card in a status. For status E, create a card that expires after 62 days."""
        if status == "E":
            members = {"card_validity_period": 1} | members
        card = self.card(**members)
        if status != "N":
            self.data("activateCard", card_id=card.card_id)
        if status in "TRLSB":
            self.data("changeCardStatus", card_id=card.card_id, status=status)
        return card

    def spendable(self, amount: int, **members: Any) -> NewCard:
        """Create an active card and pay ``amount`` into its first account, by default in euros."""
        card = self.card_in("A", **members)
        self.give(card.account_id, amount)
        return card

    def account_in(self, status: str, **members: Any) -> int:
        account = self.account(**members)
        if status != "A":
            self.data("changeAccountStatus", account_id=account, account_status=status)
        return account

    def authentication(self, card_id: int, **members: Any) -> Any:
        """Request 3-D Secure for an online purchase. Only an active card gets a challenge."""
        purchase = {"card_id": card_id, "amount": 1999, "currency_ison": EUR}
        return self.data("simulateAuthentication", **purchase | members)

    def authorization(self, **members: Any) -> Any:
        """Request an authorization and return the response data. ``members`` identify the card by ``card_id`` or
        ``pan``.
        """
        least = {"transaction_type": 39, "amount": 0, "currency_ison": EUR}
        return self.data("simulateAuthorization", **least | members)

    def purchase(self, card_id: int, amount: int, **members: Any) -> Any:
        return self.authorization(card_id=card_id, transaction_type=0, amount=amount, **members)

    def clearing(self, asked: Mapping[str, Any], amount: int, **members: Any) -> Any:
        """Simulate a clearing, in euros, of the authorization that returned the response ``asked``."""
        least = {"trans_link": asked["trans_link"], "amount": amount, "currency_ison": EUR}
        return self.data("simulateClearing", **least | members)

    def wrong_pins(self, card_id: int, count: int) -> list[str]:
        """Return PINs that the card rejects. About one in 10,000 other PINs has the card's PIN verification value."""
        card, data = Card.from_item(self.hub.store.get(*Card.key(card_id)) or {}), self.hub.cards.card_data
        number, pins = data.open(card.id, "pan", card.pan), (f"{pin:04}" for pin in range(10_000))
        wrong = (pin for pin in pins if data.pvv(number, pin, card.key_version) != card.pvv)
        return [*itertools.islice(wrong, count)]

    def block_pin(self, card_id: int) -> None:
        (wrong,) = self.wrong_pins(card_id, 1)
        codes = [self.authorization(card_id=card_id, pin=wrong)["response_code"] for _ in range(3)]
        assert codes == ["55", "55", "75"], codes

    # -- external payments: ``address`` is a record as the interface shows it

    def address(self, account_id: int | None = None, method: int = UK, **members: Any) -> Any:
        currency = _currency_of(method)
        number = account_id or self.account(currency_ison=currency)
        least = {"account_id": number, "epm_method_id": method, "currency_ison": currency}
        [record] = self.data("assignExternalPaymentAddress", **least | members)
        return record

    def special_address(self, special_account_id: int = SPECIAL_GBP, method: int = UK, **members: Any) -> Any:
        least = {"special_account_id": special_account_id, "epm_method_id": method}
        least |= {"currency_ison": _currency_of(method)}
        [record] = self.data("assignExternalPaymentAddressForSpecialAccount", **least | members)
        return record

    def funded_address(self, amount: int, currency: int = GBP, **members: Any) -> Any:
        """Create an account with an address and pay ``amount`` into the account.

        ``members`` are request members of the account.
        """
        address = self.address(self.account(currency_ison=currency, **members), METHODS[currency])
        assert self.inbound(address, amount)["state"] == "S"
        return address

    def inbound(self, address: Mapping[str, Any], amount: int, **members: Any) -> Any:
        least = {"epm_address_id": address["id"], "amount": amount, "currency_ison": address["currency_ison"]}
        least |= {"scheme": SCHEMES[address["epm_method_id"]], "sender_name": "Bob"}
        return self.data("simulateInboundPayment", **least | members)

    def transfer(self, address: Mapping[str, Any], amount: int, **members: Any) -> Envelope:
        """Request a payment from an address, by default to an external bank, and return the response."""
        least = {"epm_address_id": address["id"], "amount": amount, "currency_ison": address["currency_ison"]}
        if not any(name.startswith("destination_") and name != "destination_account_name" for name in members):
            least |= {"destination_iban": EXTERNAL_IBANS[address["epm_method_id"]]}
        return self.do("transferToExternalPayment", **least | {"destination_account_name": "Alice"} | members)

    def pending_payment(self, address: Mapping[str, Any], amount: int, **members: Any) -> int:
        answer = self.transfer(address, amount, **members)
        assert answer.status == "success", answer.raw
        return int(answer.data["id"])

    def result(self, epm_transaction_id: int, result: str, **members: Any) -> Any:
        return self.data("simulateOutboundResult", epm_transaction_id=epm_transaction_id, result=result, **members)

    def mandate(self, address: Mapping[str, Any], **members: Any) -> int:
        least = {"epm_address_id": address["id"], "creditor_name": "Gym", "reference": "MEMBER-7"}
        return int(self.data("simulateMandate", **least | members)["epm_mandate_id"])

    def debit(self, epm_mandate_id: int, amount: int, *, passed: bool = False) -> Any:
        """Announce a direct debit. If ``passed`` is true, also complete the direct debit at its cut-off."""
        announced = self.data("simulateDirectDebit", epm_mandate_id=epm_mandate_id, amount=amount)
        if not passed:
            return announced
        return self.data("simulateDirectDebit", epm_transaction_id=announced["epm_transaction_id"])

    def give(self, account_id: int, amount: int) -> None:
        [record] = self.data("getAccounts", account_id=account_id)
        method = METHODS[record["currency_ison"]]
        assert self.inbound(self.address(account_id, method), amount)["state"] == "S"

    def balances(self, account_id: int) -> tuple[int, int, int]:
        """Return an account's available, settled and reserved balance."""
        [record] = self.data("getAccounts", account_id=account_id)
        return record["available_balance"], record["settled_balance"], record["reserved_balance"]

    def _of_holder(self, members: Mapping[str, Any]) -> dict[str, Any]:
        return {**members} if "holder_id" in members else {**HOLDER_BLOCK, **members}


def _currency_of(method: int) -> int:
    return next(currency for currency, found in METHODS.items() if found == method)


@cache
def key_pair() -> tuple[RSAPrivateKey, str]:
    key = generate_private_key(public_exponent=65537, key_size=MINIMUM_KEY_BITS)
    return key, signatures.public_pem(key.public_key())


def list_cards(portal: Portal, **members: Any) -> Mapping[str, Any]:
    return portal.read(MANAGER, "listCards", **{"item_count": 20} | members)
