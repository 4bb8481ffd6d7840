"""Authorization requests, from the TPP's request to the PSU's decision.

A request's key is the digest of client and ``state``, so a client cannot reuse a state. Requests expire after 30
minutes. An *open* request becomes *approved* when the bank saves a consent, or *cancelled* when the PSU returns through
the cancel URL. Conditional writes make these states exclusive.

If the user may choose the bank, the user can switch to a different bank while the request is open. A new request then
replaces the previous request, and the previous request URL becomes invalid. The cancel URL of the previous bank still
redirects the PSU to the TPP.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal
from urllib.parse import parse_qsl, urlencode, urlsplit

from chalicelib.foundation.clock import Clock
from chalicelib.foundation.crypto.keyring import Vault
from chalicelib.foundation.crypto.sealed_places import SealedPlace
from chalicelib.foundation.dynamodb.conditions import Attr, Condition
from chalicelib.foundation.dynamodb.store import Item, Put, Update, absent
from chalicelib.foundation.identifiers import OpaqueToken, digest, new_credential
from chalicelib.foundation.lazy_dataclasses import dataclass
from chalicelib.foundation.requests.facts import Key
from chalicelib.openbanking.protocol.tpp_calls import ConsentType
from chalicelib.openbanking.protocol.unified_scopes import to_native
from chalicelib.openbanking.protocol.version import Version
from chalicelib.openbanking.protocol.versions import VERSIONS
from chalicelib.openbanking.records.bank_record import Bank

TABLE = "authorizations"
LIFETIME = 30 * 60
APPROVED_RETENTION = 400 * 24 * 3600
"""The number of seconds for which the state of an approved request is stored. It is longer than the lifetime of any
consent.
"""
UNAPPROVED_RETENTION = 24 * 3600
MAX_CANCEL_URLS = 5
"""The maximum number of stored cancel URLs of replaced requests. The oldest URLs are removed first."""

Status = Literal["open", "approved", "cancelled"]


@dataclass(frozen=True, slots=True)
class NewAuthorizationRequest:
    """A TPP's validated request. ``bic`` and ``api_version`` are ``None`` until the user has chosen a bank.

    ``scopes`` are native scopes from then on. ``requested_scopes`` are the unified scopes that the request named; they
    are empty if it named native scopes.
    ``chooses_bank`` is true if the user may choose the bank. ``returns_state`` is false if the state was generated for
    the bank only. ``dpop_jkt`` is the key to which the code will be bound (RFC 9449 §10). ``pushed`` is true if the
    client pushed the request (RFC 9126). ``names_redirect_uri`` is true if its code must be redeemed with
    ``redirect_uri`` (RFC 6749 §4.1.3).
    """

    client_id: str
    bic: str | None
    api_version: int | None
    scopes: Sequence[str]
    redirect_uri: str
    consent_type: ConsentType
    state: str
    code_challenge: str | None
    returns_state: bool = True
    dpop_jkt: str | None = None
    pushed: bool = False
    chooses_bank: bool = False
    names_redirect_uri: bool = False
    requested_scopes: Sequence[str] = ()

    @classmethod
    def from_item(cls, item: Item) -> NewAuthorizationRequest:
        """Restore a request that was pushed."""
        members: dict[str, Any] = {name: item.get(name) for name in cls.__dataclass_fields__}
        defaults = {name: item.get(name, False) for name in ("chooses_bank", "names_redirect_uri")}
        return cls(**members | _scopes_of(item) | defaults)

    def at(self, bank: Bank) -> NewAuthorizationRequest:
        """Return the request at a bank, with the native scopes of the bank's version."""
        scopes = to_native(self.named_scopes, bank.api_version)
        return replace(self, bic=bank.bic, api_version=bank.api_version, scopes=scopes)

    @property
    def named_scopes(self) -> Sequence[str]:
        """The scopes as the request named them."""
        return self.requested_scopes or self.scopes

    @property
    def key(self) -> Key:
        """The key under which the request will be stored."""
        return authorization_key(compute_authorization_id(self.client_id, self.state))

    def as_item(self) -> Item:
        members = {name: getattr(self, name) for name in self.__dataclass_fields__}
        requested = members.pop("requested_scopes")
        return members | {"scopes": list(self.scopes)} | ({"requested_scopes": list(requested)} if requested else {})

    def query_parameters(self) -> dict[str, str]:
        """The query parameters for the bank's authorization URL (RFC 6749 §4.1.1, RFC 7636)."""
        query = {
            "response_type": "code",
            "client_id": self.client_id,
            "redirect_uri": self.redirect_uri,
            "scope": " ".join(self.scopes),
            "state": self.state,
            "consent_type": self.consent_type,
        }
        if self.code_challenge is not None:
            query |= {"code_challenge": self.code_challenge, "code_challenge_method": "S256"}
        return query


@dataclass(frozen=True, slots=True)
class AuthorizationRequest:
    """A stored authorization request, with the members of ``NewAuthorizationRequest``.

    ``error`` and ``error_description`` are set on cancellation.

    ``replaced`` lists the requests that this request replaced, oldest first, with the ``cancel_digest`` and
    ``api_version`` of each.
    """

    authorization_id: str
    client_id: str
    bic: str
    api_version: int
    scopes: tuple[str, ...]
    redirect_uri: str
    consent_type: ConsentType
    state: str
    code_challenge: str | None
    returns_state: bool
    dpop_jkt: str | None
    pushed: bool
    chooses_bank: bool
    names_redirect_uri: bool
    requested_scopes: tuple[str, ...]
    request_url: str
    status: Status
    valid_until: int
    cancel_digest: str
    cancel_sealed: bytes
    error: str | None
    error_description: str | None
    replaced: tuple[Item, ...]

    @classmethod
    def from_item(cls, item: Item) -> AuthorizationRequest:
        members: dict[str, Any] = {name: item.get(name) for name in cls.__dataclass_fields__}
        defaults = {"returns_state": item.get("returns_state", True)}
        defaults |= {name: item.get(name, False) for name in ("pushed", "chooses_bank", "names_redirect_uri")}
        return cls(**members | defaults | _scopes_of(item) | {"replaced": tuple(item.get("replaced", ()))})

    @property
    def named_scopes(self) -> tuple[str, ...]:
        """The scopes as the request named them."""
        return self.requested_scopes or self.scopes

    @property
    def version(self) -> Version:
        """The bank's protocol version when the request was created."""
        return VERSIONS[self.api_version]

    @property
    def returned_state(self) -> dict[str, str]:
        """The ``state`` parameter to return to the TPP, empty if the TPP sent none."""
        return {"state": self.state} if self.returns_state else {}

    def return_url(self, outcome: Mapping[str, str], issuer: str) -> str:
        """Return the client's Callback URL with the outcome, the TPP's state and the issuer (RFC 9207)."""
        return with_query(self.redirect_uri, {**outcome, **self.returned_state, "iss": issuer})

    def has_cancel_url(self, version: Version, credential: OpaqueToken) -> bool:
        """Whether a cancel URL was issued for this request or for a request that it replaced."""
        issued: list[tuple[str, int]] = [(self.cancel_digest, self.api_version)]
        issued += [(each["cancel_digest"], each["api_version"]) for each in self.replaced]
        return any(credential.matches(stored) and VERSIONS[number] is version for stored, number in issued)

    def is_open(self, now: int) -> bool:
        return self.status == "open" and now < self.valid_until

    def is_of(self, new: NewAuthorizationRequest) -> bool:
        """Whether this request was created from ``new``. Requests of earlier releases lack ``names_redirect_uri``.

        Native scopes are compared as the request named them, because the translation of unified scopes depends on the
        version of the bank.
        """
        compared = new.__dataclass_fields__.keys() - {"names_redirect_uri", "scopes", "requested_scopes", "api_version"}
        return self.named_scopes == new.named_scopes and all(
            getattr(self, name) == getattr(new, name) for name in compared
        )

    def repeats(self, new: NewAuthorizationRequest, authorization_url: str) -> bool:
        """Whether ``new`` is the same request at the same bank."""
        wanted = with_query(authorization_url, new.query_parameters())
        mine, others = ((each.bic, each.dpop_jkt, each.named_scopes) for each in (self, new))
        return mine == others and self.has_request_url(wanted)

    def can_be_replaced_by(self, new: NewAuthorizationRequest) -> bool:
        """Whether ``new`` is the same request at another bank, which its user chose."""
        return self.chooses_bank and self.is_of(replace(new, bic=self.bic))

    def has_request_url(self, url: str) -> bool:
        """Whether ``url`` is this request's URL. The escaping and order of its query parameters are ignored."""
        return _canonical(url) == _canonical(self.request_url)


def _scopes_of(item: Item) -> dict[str, tuple[str, ...]]:
    """Return the scopes of an item. Items of earlier releases lack ``requested_scopes``."""
    return {name: tuple(item.get(name, ())) for name in ("scopes", "requested_scopes")}


def authorization_key(authorization_id: str) -> tuple[str, Item]:
    return TABLE, {"authorization_id": authorization_id}


def compute_authorization_id(client_id: str, state: str) -> str:
    """Return the authorization id for a client and ``state``."""
    return digest(f"{client_id}\n{state}")


def parse_request_url(url: str) -> tuple[str, str] | None:
    """Extract the authorization id and the Client ID from an authorization URL. Return ``None`` if they are missing."""
    query = dict(_query(url))
    client_id, state = query.get("client_id"), query.get("state")
    return (
        (compute_authorization_id(client_id, state), client_id)
        if client_id and state and len(client_id) <= 64
        else None
    )


class AuthorizationRequests:
    """Builds the write operations that store, approve and cancel authorization requests."""

    def __init__(self, vault: Vault, clock: Clock) -> None:
        self._vault = vault
        self._clock = clock

    def put_request(
        self, new: NewAuthorizationRequest, authorization_url: str, before: AuthorizationRequest | None
    ) -> Put:
        """Return the write operation that stores a request and, if ``before`` is passed, replaces that request.

        The write fails if the client has used the state before, or if ``before`` is no longer open or was replaced.
        """
        authorization_id = compute_authorization_id(new.client_id, new.state)
        cancel, cancel_digest = new_credential(authorization_id)
        now = self._clock.time()
        item = new.as_item() | {
            "authorization_id": authorization_id,
            "request_url": with_query(authorization_url, new.query_parameters()),
            "status": "open",
            "created_at": now,
            "valid_until": now + LIFETIME,
            "cancel_digest": cancel_digest,
            "cancel_sealed": self._vault.seal(cancel, _context(authorization_id)),
            "replaced": _cancel_urls(before) if before else [],
            "expires_at": now + UNAPPROVED_RETENTION,
        }
        return Put(TABLE, item, _is_open(before, now) if before else absent("authorization_id"))

    def cancel_credential(self, authorization: AuthorizationRequest) -> str:
        """Return the secret at the end of a request's cancel URL."""
        return self._vault.unseal(authorization.cancel_sealed, _context(authorization.authorization_id))

    def update_to_approve(self, authorization: AuthorizationRequest, consent_id: str) -> Update:
        """Return the conditional write that approves an open request, for the transaction that saves the consent."""
        now = self._clock.time()
        return Update(
            TABLE,
            {"authorization_id": authorization.authorization_id},
            set={"status": "approved", "consent_id": consent_id, "expires_at": now + APPROVED_RETENTION},
            condition=_is_open(authorization, now),
        )

    def update_to_cancel(
        self, authorization: AuthorizationRequest, error: str, description: str
    ) -> tuple[AuthorizationRequest, Update]:
        """Return the cancelled request, and the write operation that cancels it. The write fails unless this request is
        open.
        """
        ended = replace(authorization, status="cancelled", error=error, error_description=description)
        changes = {name: getattr(ended, name) for name in ("status", "error", "error_description")}
        key = authorization_key(authorization.authorization_id)
        return ended, Update(*key, set=changes, condition=_is_current(authorization) & Attr("status").eq("open"))

    def update_late_approval(self, authorization: AuthorizationRequest, consent_id: str) -> Update:
        """Return the write operation that approves an open request with a stored consent, even after its expiry."""
        write = self.update_to_approve(authorization, consent_id)
        return replace(write, condition=_is_current(authorization) & Attr("status").eq("open"))

    def update_lost_consent(self, authorization: AuthorizationRequest) -> Update:
        """Return the write operation that cancels an approved request after the loss of its consent."""
        _, write = self.update_to_cancel(authorization, "server_error", "The consent was lost")
        return replace(write, condition=_is_current(authorization) & Attr("status").eq("approved"))


def _is_open(authorization: AuthorizationRequest, now: int) -> Condition:
    return _is_current(authorization) & Attr("status").eq("open") & Attr("valid_until").gt(now)


def _cancel_urls(replaced: AuthorizationRequest) -> list[Item]:
    """Return the newest cancel URLs of a request that was replaced, and of the earlier requests that it had
    replaced.
    """
    last = {"cancel_digest": replaced.cancel_digest, "api_version": replaced.api_version}
    return [*replaced.replaced, last][-MAX_CANCEL_URLS:]


def _is_current(authorization: AuthorizationRequest) -> Condition:
    """Return the condition that the request has not been replaced. Every stored request has its own cancel secret."""
    return Attr("cancel_digest").eq(authorization.cancel_digest)


def with_query(url: str, parameters: dict[str, str]) -> str:
    """Add ``parameters`` to the query of ``url``."""
    joint = "" if url.endswith(("?", "&")) else "&" if "?" in url else "?"
    return f"{url}{joint}{urlencode(parameters)}"


def _canonical(url: str) -> tuple[object, ...]:
    try:
        parts = urlsplit(url)
    except ValueError:
        return ()
    return parts.scheme, parts.netloc.lower(), parts.path, sorted(_query(url)), parts.fragment


def _query(url: str) -> list[tuple[str, str]]:
    try:
        return parse_qsl(urlsplit(url).query, keep_blank_values=True, errors="strict", max_num_fields=50)
    except ValueError:
        return []


def _context(authorization_id: str) -> str:
    return f"{TABLE}/{authorization_id}/cancel"


SEALED = (SealedPlace(TABLE, ("authorization_id",), "cancel_sealed", lambda item: _context(item["authorization_id"])),)
