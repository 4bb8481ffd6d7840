"""The requests of a run: TPPs revoke consents, initiate payments and read accounts. The module also creates clients,
banks and consents.
"""

import random
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from chalicelib.bootstrap import Hub
from chalicelib.foundation.crypto import signatures
from chalicelib.openbanking.protocol.tpp_events import TestEvent
from chalicelib.openbanking.records.bank_record import NewBank
from tests.causeway import Causeway
from tests.chaos.receivers import EVENTS
from tests.openbanking.examples import BY_WEBHOOK, SCOPES
from tests.openbanking.kit import Bank

CLIENTS = 3
_PAYMENTS = {1: "/payment_initiation", 2: "/v2_payment_single"}
_DIRECT_PAYMENTS = {1: "/direct_payment_initiation", 2: "/v2_payment_direct_single"}
_READS = {1: "/accounts", 2: "/v2_accounts"}
_PAYMENT_SCOPES = {1: ["payment.init"], 2: ["payments.single"]}
_REFERENCE = {1: "reference", 2: "remittance_information_unstructured"}


@dataclass(frozen=True)
class TppCall:
    """A call of a TPP.

    Attributes:
        kind: ``revoke``, ``pay`` or ``ask``.
        subject: the revoked consent, the payment's reference, or empty.
        one_time: the one-time consent that the payment uses, if any.
        repeated: whether the TPP retries the call after a missing response, because a retry is safe.
    """

    kind: str
    subject: str
    method: str
    path: str
    client_id: str
    repeated: bool
    body: Any = None
    bearer: str | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    one_time: str | None = None


@dataclass(frozen=True)
class Traffic:
    events_secrets: Mapping[str, str]
    calls: Sequence[TppCall]


@dataclass(frozen=True)
class Preparation:
    """Creates clients, banks and consents in a worker; ``banks`` maps each protocol version to a bank's URL.

    The first client has ``backlog`` events at the start. Every consent causes three deliveries. The TPP gets reports of
    the authorization and the revocation, and the bank gets a report of the revocation.
    """

    seed: str
    banks: Mapping[int, str]
    events: str
    consents: int
    payments: int
    questions: int
    backlog: int

    def carry_out(self, hub: Hub) -> Traffic:
        hub.keyring.initialise()
        causeway = Causeway(hub, {version: add_bank(hub, version, url) for version, url in self.banks.items()})
        return TrafficBuilder(self, causeway).build()


class TrafficBuilder:
    def __init__(self, preparation: Preparation, causeway: Causeway) -> None:
        self._preparation = preparation
        self._causeway = causeway
        self._draw = random.Random(f"{preparation.seed}/traffic")
        self._secrets: dict[str, str] = {}
        self._clients = [self._client(number) for number in range(CLIENTS)]
        self._bearers: dict[tuple[str, int], str] = {}

    def build(self) -> Traffic:
        calls = [self._revocation(number) for number in range(self._preparation.consents)]
        calls += [self._payment(number) for number in range(self._preparation.payments)]
        calls += [self._question(number) for number in range(self._preparation.questions)]
        self._draw.shuffle(calls)
        for number in range(self._preparation.backlog):
            self._event(number)
        return Traffic(self._secrets, calls)

    def _client(self, number: int) -> Any:
        path = f"tpp-{number}"
        created = self._causeway.hub.openbanking.clients.create(
            owner="tpp@example.com", title=f"TPP {number}", events_url=f"{self._preparation.events}{EVENTS}{path}"
        )
        assert created.events_secret is not None
        self._secrets[path] = created.events_secret
        return created.client

    def _event(self, number: int) -> None:
        hub = self._causeway.hub
        recorded = hub.openbanking.tpp_events.record(self._clients[0], "test", TestEvent(message=f"event {number}"))
        hub.store.transact(recorded.operations)
        hub.delivery.outbox.dispatch(recorded)

    def _revocation(self, number: int) -> TppCall:
        client, version = self._parties(number)
        bearer = self._tokens(client, version)
        body = {"token": bearer}
        return TppCall("revoke", consent_of(bearer), "POST", "/tpp/token/revoke", client.client_id, True, body)

    def _payment(self, number: int) -> TppCall:
        client, version = self._parties(number)
        reference, variant = f"order {number}", number % 5
        row = BY_WEBHOOK[(_DIRECT_PAYMENTS if variant == 4 else _PAYMENTS)[version]]
        headers = self._headers() | ({"idempotency-key": reference} if number % 2 else {})
        body = row.request | {_REFERENCE[version]: reference}
        bearer, one_time = None, None
        if variant == 4:
            body["bic"] = self._causeway.banks[version].bic
        elif variant in (1, 2):
            bearer = self._tokens(client, version, scopes=_PAYMENT_SCOPES[version], consent_type="one_time")
            one_time = consent_of(bearer)
        else:
            bearer = self._bearer(client, version)
        repeated = "idempotency-key" in headers
        return TppCall("pay", reference, "POST", row.call, client.client_id, repeated, body, bearer, headers, one_time)

    def _question(self, number: int) -> TppCall:
        client, version = self._parties(number)
        call = BY_WEBHOOK[_READS[version]].call
        return TppCall(
            "ask", "", "GET", call, client.client_id, False, None, self._bearer(client, version), self._headers()
        )

    def _parties(self, number: int) -> tuple[Any, int]:
        return self._clients[number % CLIENTS], 1 + number // CLIENTS % 2

    def _headers(self) -> dict[str, str]:
        request_id = str(uuid.UUID(bytes=self._draw.randbytes(16), version=4))
        return {"prefer": "respond-async", "x-request-id": request_id}

    def _bearer(self, client: Any, version: int) -> str:
        key = client.client_id, version
        if key not in self._bearers:
            self._bearers[key] = self._tokens(client, version, scopes=SCOPES[version])
        return self._bearers[key]

    def _tokens(self, client: Any, version: int, **members: Any) -> str:
        self._causeway.tpp.client = client
        bearer: str = self._causeway.tpp.tokens(version, **members)["access_token"]
        return bearer


def add_bank(hub: Hub, version: int, url: str) -> Bank:
    key = signatures.load_private_key(signatures.generate_private_pem())
    bic, country = {1: ("ALPHGB21", "GB"), 2: ("BETADEF1", "DE")}[version]
    new = NewBank(
        bic=bic,
        name=f"Bank of version {version}",
        country=country,
        api_version=version,
        domain=url,
        authorization_url=f"{url}/authorize",
        public_keys=[signatures.public_pem(key.public_key())],
    )
    bank, api_key = hub.openbanking.banks.add(new)
    return Bank(bank, api_key, key)


def consent_of(bearer: str) -> str:
    return bearer.partition("~")[0]
