"""Consents and their tokens (``docs/concepts/consents-and-tokens.md``).

Each consent is an item collection. The item ``consent`` contains client, scopes, accounts and expiry. Relayed calls
read this item, so it is small. The item ``grant`` contains the authorization code and the current refresh token. Each
access and refresh token has an item with its digest. Tokens are valid only while the consent is *authorised*, so a
single write to the consent revokes them all. Exception: after a one-time consent is *spent*, its access token can still
be used to read the status of its payment.

``last_used_on`` is the UTC day on which the TPP last received a token for the consent, which it may have used for an
hour longer. The transactions that issue tokens set this member, so reading a consent does not cause a write.

A sparse index lists consents with an outstanding expiry event: ``notify`` is the next event, and ``notify_at`` its
time. Another index lists each client's consents (see ``consent_list``).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any, Literal

from chalicelib.foundation import jsontext
from chalicelib.foundation.clock import Clock
from chalicelib.foundation.crypto.keyring import Vault
from chalicelib.foundation.crypto.sealed_places import SealedPlace
from chalicelib.foundation.dynamodb.conditions import Attr, Condition
from chalicelib.foundation.dynamodb.sharded_index import ShardedIndex
from chalicelib.foundation.dynamodb.store import Check, Item, Operation, Put, Update, absent
from chalicelib.foundation.identifiers import OpaqueToken, new_credential, new_id
from chalicelib.foundation.lazy_dataclasses import dataclass
from chalicelib.openbanking.protocol.oauth_security import Confirmation
from chalicelib.openbanking.protocol.scopes import Service
from chalicelib.openbanking.protocol.tpp_calls import ConsentState, ConsentStatus, ConsentType, EndedBy
from chalicelib.openbanking.protocol.tpp_events import EXPIRING_SECONDS
from chalicelib.openbanking.protocol.unified_scopes import to_unified
from chalicelib.openbanking.protocol.version import Version
from chalicelib.openbanking.protocol.versions import VERSIONS
from chalicelib.openbanking.records.authorization_requests import AuthorizationRequest
from chalicelib.openbanking.records.grants import Grant, TokenPair

TABLE = "consents"
ACCESS_LIFETIME = 3600
NOTIFY = ShardedIndex(TABLE, "notify", "notify_shard", "notify_at")
REPEAT_WINDOW = 60
"""Seconds within which a rotated refresh token returns the same pair again, in case the response was lost."""

Accounts = Mapping[str, Sequence[str]]


@dataclass(frozen=True)
class Consent:
    """A PSU's consent. Times are in Unix seconds.

    ``accounts`` may contain ``ibans``, ``account_ids`` and ``account_numbers``. ``last_used_on`` is a UTC day,
    ``YYYY-MM-DD``. ``ended_at`` and ``ended_by`` are the time and the party of a revocation. ``requested_scopes`` are
    the unified scopes that the authorization request named; they are empty if it named native scopes, and in consents
    that were saved before unified scopes existed.
    """

    consent_id: str
    client_id: str
    bic: str
    api_version: int
    scopes: tuple[str, ...]
    consent_type: ConsentType
    status: ConsentStatus
    accounts: dict[str, list[str]]
    valid_until: int
    created_at: int
    bank_token_digest: str
    bank_token_sealed: bytes
    last_used_on: str | None = None
    ended_at: int | None = None
    ended_by: EndedBy | None = None
    requested_scopes: tuple[str, ...] = ()

    @classmethod
    def from_item(cls, item: Item) -> Consent:
        members: dict[str, Any] = {name: item[name] for name in cls.__dataclass_fields__ if name in item}
        lists = {name: tuple(item.get(name, ())) for name in ("scopes", "requested_scopes")}
        return cls(**members | lists)

    @cached_property
    def version(self) -> Version:
        """The bank's protocol version at the time of the consent. The version of a consent never changes."""
        return VERSIONS[self.api_version]

    @property
    def named_scopes(self) -> tuple[str, ...]:
        """The scopes as the authorization request named them."""
        return self.requested_scopes or self.scopes

    @property
    def unified_scopes(self) -> list[str]:
        """The unified scopes that the consent includes entirely."""
        return to_unified(self.scopes, self.api_version)

    @property
    def services(self) -> set[Service]:
        """The PSD2 services of the consent's scopes."""
        return {self.version.scopes[name].service for name in self.scopes}

    def state(self, now: int) -> ConsentState:
        """Return the consent's status, or ``expired`` (see ``state_of``)."""
        return state_of(self.status, self.valid_until, now)

    def is_valid(self, now: int) -> bool:
        return self.status == "authorised" and now < self.valid_until

    def is_spent(self, now: int) -> bool:
        return self.status == "spent" and now < self.valid_until

    def can_be_queried(self, now: int) -> bool:
        """Whether the bank can be queried about the consent's payments."""
        return self.is_valid(now) or self.is_spent(now)

    def has_ended(self, now: int) -> bool:
        """Whether the consent was revoked or has expired. A consent ends only once."""
        return self.status == "revoked" or now >= self.valid_until


def state_of(status: ConsentStatus, valid_until: int, now: int) -> ConsentState:
    """Return a consent's status, or ``expired`` if an authorised consent has expired."""
    return "expired" if status == "authorised" and now >= valid_until else status


@dataclass(frozen=True, slots=True)
class IssuedTokens:
    """New tokens, the write operations that issue them, and the key of the access token's row.

    The writes fail if the consent has ended, or the grant has changed.
    """

    pair: TokenPair
    operations: Sequence[Operation]
    key: tuple[str, Item]


@dataclass(frozen=True, slots=True)
class NewConsent:
    """A new consent, the write operations that create it, and its two credentials, which are each sent only once."""

    consent: Consent
    operations: list[Put]
    code: str
    bank_token: str


def consent_key(consent_id: str) -> tuple[str, Item]:
    return TABLE, {"consent_id": consent_id, "part": "consent"}


def grant_key(consent_id: str) -> tuple[str, Item]:
    return TABLE, {"consent_id": consent_id, "part": "grant"}


def token_key(kind: Literal["access", "refresh"], credential: OpaqueToken) -> tuple[str, Item]:
    """Return the table and key of a token, from the consent and token ids in its credential."""
    return TABLE, {"consent_id": credential.ids[0], "part": f"{kind}#{credential.ids[1]}"}


class Consents:
    """Builds the write operations that create, rotate and end consents, for the flows' transactions."""

    def __init__(self, vault: Vault, clock: Clock, code_lifetime: int) -> None:
        self._vault = vault
        self._clock = clock
        self._code_lifetime = code_lifetime

    def new(
        self, authorization: AuthorizationRequest, accounts: Accounts, days: int, code_seconds: int | None = None
    ) -> NewConsent:
        """Create a consent for ``authorization``, valid for ``days``, with its authorization code and the bank's token.

        ``code_seconds`` is the code's lifetime if different from the stage's.
        """
        consent_id, now = new_id(), self._clock.time()
        code, code_digest = new_credential(consent_id)
        bank_token, bank_token_digest = new_credential(consent_id)
        item = {
            "consent_id": consent_id,
            "part": "consent",
            "client_id": authorization.client_id,
            "bic": authorization.bic,
            "api_version": authorization.api_version,
            "scopes": list(authorization.scopes),
            "consent_type": authorization.consent_type,
            "status": "authorised",
            "accounts": {kind: list(identifiers) for kind, identifiers in accounts.items() if identifiers},
            "valid_until": now + days * 24 * 3600,
            "created_at": now,
            "bank_token_digest": bank_token_digest,
            "bank_token_sealed": self._vault.seal(bank_token, _context(consent_id, "bank_token")),
            **_first_notice(consent_id, now, now + days * 24 * 3600),
            **({"requested_scopes": list(requested)} if (requested := authorization.requested_scopes) else {}),
        }
        grant = {
            "consent_id": consent_id,
            "part": "grant",
            "authorization_id": authorization.authorization_id,
            "redirect_uri": authorization.redirect_uri,
            "code_challenge": authorization.code_challenge,
            "code_digest": code_digest,
            "code_valid_until": now + (code_seconds or self._code_lifetime),
            "expires_at": item["valid_until"],
            **({"names_redirect_uri": True} if authorization.names_redirect_uri else {}),
        }
        if authorization.dpop_jkt is not None:
            grant["dpop_jkt"] = authorization.dpop_jkt
        operations = [Put(TABLE, each, absent("consent_id")) for each in (item, grant)]
        return NewConsent(Consent.from_item(item), operations, code, bank_token)

    def bank_token(self, consent: Consent) -> str:
        """Return the bank's token for this PSU, sent as ``X-Auth-Token``."""
        return self._vault.unseal(consent.bank_token_sealed, _context(consent.consent_id, "bank_token"))

    def first_pair(self, consent: Consent, confirmation: Confirmation | None = None) -> IssuedTokens:
        """Issue tokens for an authorization code. The writes fail if the code was already used.

        ``confirmation`` names the key to which the tokens are bound.
        """
        redemption = {"code_redeemed_at": self._clock.time()}
        return self.put_pair(consent, redemption, Attr("code_redeemed_at").not_exists(), confirmation)

    def next_pair(self, consent: Consent, refresh_id: str, confirmation: Confirmation | None = None) -> IssuedTokens:
        """Issue tokens for the current refresh token. The writes fail if the token was already used."""
        rotation = {"previous_refresh_id": refresh_id, "rotated_at": self._clock.time()}
        return self.put_pair(consent, rotation, Attr("refresh_id").eq(refresh_id), confirmation)

    def next_access(
        self, consent: Consent, refresh: str, refresh_id: str, confirmation: Confirmation | None
    ) -> IssuedTokens:
        """Issue an access token. The current refresh token does not change (FAPI 2.0 §5.3.2.1).

        The writes fail if ``refresh_id`` is not the current token.
        """
        pair, access = self._new_access(consent, refresh, confirmation)
        check = Check(*grant_key(consent.consent_id), Attr("refresh_id").eq(refresh_id))
        return IssuedTokens(pair, [self._update_last_use(consent), check, access], _key_of(access))

    def repeated_pair(self, grant: Grant, refresh_id: str) -> TokenPair | None:
        """Return the token pair issued for a rotated refresh token, or ``None`` outside the retry window."""
        if grant.previous_refresh_id != refresh_id or grant.rotated_at is None or grant.pair_sealed is None:
            return None
        if self._clock.time() - grant.rotated_at > REPEAT_WINDOW:
            return None
        return TokenPair(**jsontext.loads(self._vault.unseal(grant.pair_sealed, _context(grant.consent_id, "pair"))))

    def update_revoked(self, consent: Consent, by: EndedBy) -> Update:
        """Return the write operation that revokes a consent and all its tokens. It fails if the consent has ended."""
        now = self._clock.time()
        return Update(
            *consent_key(consent.consent_id),
            set={"status": "revoked", "ended_at": now, "ended_by": by},
            remove=(NOTIFY.partition,),
            condition=Attr("status").is_in(["authorised", "spent"]) & Attr("valid_until").gt(now),
        )

    def update_spent(self, consent: Consent, access: Item, attempt: str, request_id: str) -> list[Operation]:
        """Return the write operations that spend a one-time consent for ``attempt``. Only one attempt succeeds.

        The access token's item is retained until the consent expires, so that the token can read the payment's status.
        """
        return [self.update_spent_by(consent, attempt, request_id), _lifetime(access, consent.valid_until)]

    def update_spent_by(self, consent: Consent, attempt: str, request_id: str) -> Update:
        """Return the write operation that spends a one-time consent for an order with this X-Request-Id."""
        now, order = self._clock.time(), {"spent_by": attempt, "spent_order": request_id}
        return Update(
            *consent_key(consent.consent_id),
            set={"status": "spent", **order, "spent_at": now, "last_used_on": self._today()},
            remove=(NOTIFY.partition,),
            condition=Attr("status").eq("authorised"),
        )

    def update_unspent(self, consent: Consent, access: Item, attempt: str) -> list[Operation]:
        """Return the write operations that undo ``update_spent`` if the bank was never reached."""
        return [
            Update(
                *consent_key(consent.consent_id),
                set={"status": "authorised", **NOTIFY.entry(consent.consent_id)},
                remove=("spent_by", "spent_order", "spent_at"),
                condition=Attr("status").eq("spent") & Attr("spent_by").eq(attempt),
            ),
            _lifetime(access, access["lasts_until"]),
        ]

    def update_next_notice(self, item: Item) -> Update:
        """Return the write operation that schedules a consent's next expiry event when the current event is recorded.

        The write changes ``notify`` from ``consent.expiring`` to ``consent.expired``, or removes it after
        ``consent.expired``. The write fails if the current event was already recorded.
        """
        last = item["notify"] == "consent.expired"
        following: Item = {} if last else {"notify": "consent.expired", NOTIFY.time: item["valid_until"]}
        return Update(
            *consent_key(item["consent_id"]),
            set=following,
            remove=("notify", NOTIFY.time, NOTIFY.partition) if last else (),
            condition=Attr("status").eq("authorised") & Attr("notify").eq(item["notify"]),
        )

    def put_pair(
        self, consent: Consent, changes: Mapping[str, Any], condition: Condition, confirmation: Confirmation | None
    ) -> IssuedTokens:
        refresh_id = new_id()
        refresh, refresh_digest = new_credential(consent.consent_id, refresh_id)
        pair, access = self._new_access(consent, refresh, confirmation)
        members = {name: getattr(pair, name) for name in TokenPair.__dataclass_fields__}
        sealed = self._vault.seal(jsontext.dumps(members), _context(consent.consent_id, "pair"))
        change = {**changes, "refresh_id": refresh_id, "pair_sealed": sealed, **_bound_to(confirmation)}
        writes: list[Operation] = [
            self._update_last_use(consent),
            Update(*grant_key(consent.consent_id), set=change, condition=condition),
            access,
            _token(consent, f"refresh#{refresh_id}", refresh_digest, consent.valid_until),
        ]
        return IssuedTokens(pair, writes, _key_of(access))

    def _update_last_use(self, consent: Consent) -> Update:
        """Return the write operation that records the day of a consent's use. It fails if the consent has ended."""
        return Update(
            *consent_key(consent.consent_id),
            set={"last_used_on": self._today()},
            condition=Attr("status").eq("authorised"),
        )

    def _today(self) -> str:
        return self._clock.now().date().isoformat()

    def _new_access(self, consent: Consent, refresh: str, confirmation: Confirmation | None) -> tuple[TokenPair, Put]:
        """Return a new access token for ``refresh``, and the write operation that stores it."""
        access_id = new_id()
        access, access_digest = new_credential(consent.consent_id, access_id, consent.bic)
        pair = TokenPair(access, min(self._clock.time() + ACCESS_LIFETIME, consent.valid_until), refresh)
        part = f"access#{access_id}"
        return pair, _token(consent, part, access_digest, pair.access_valid_until, _bound_to(confirmation))


def _first_notice(consent_id: str, now: int, valid_until: int) -> Item:
    """Return the index members for a new consent's first event. A short consent has no ``consent.expiring``."""
    announced_at = valid_until - EXPIRING_SECONDS
    event, at = ("consent.expiring", announced_at) if announced_at >= now else ("consent.expired", valid_until)
    return {"notify": event, NOTIFY.time: at, **NOTIFY.entry(consent_id)}


def _bound_to(confirmation: Confirmation | None) -> Item:
    return {"cnf": dict(confirmation)} if confirmation else {}


def _token(consent: Consent, part: str, token_digest: str, valid_until: int, bound_to: Item | None = None) -> Put:
    item = {
        "consent_id": consent.consent_id,
        "part": part,
        "digest": token_digest,
        "lasts_until": valid_until,
        "expires_at": valid_until,
        **(bound_to or {}),
    }
    return Put(TABLE, item, absent("consent_id"))


def _key_of(token: Put) -> tuple[str, Item]:
    return token.table, {name: token.item[name] for name in _KEY}


def _lifetime(token: Item, expires_at: int) -> Update:
    key = {name: token[name] for name in _KEY}
    return Update(TABLE, key, set={"expires_at": expires_at}, condition=Attr("consent_id").exists())


def _context(consent_id: str, member: str) -> str:
    return f"{TABLE}/{consent_id}/{member}"


_KEY = ("consent_id", "part")
SEALED = (
    SealedPlace(TABLE, _KEY, "bank_token_sealed", lambda item: _context(item["consent_id"], "bank_token")),
    SealedPlace(TABLE, _KEY, "pair_sealed", lambda item: _context(item["consent_id"], "pair")),
)
