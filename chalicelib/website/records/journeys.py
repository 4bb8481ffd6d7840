"""Journeys: authorizations that users start in the web interface, and their progress.

The key of a journey is its user and ``state``, which begins with a timestamp, so the latest journeys can be queried.
The code verifier, code and tokens are sealed. Only the first request to mark the journey exchanges the code, so
reloading a page never uses a code twice.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field, replace
from datetime import datetime
from typing import Any

from chalicelib.foundation import jsontext
from chalicelib.foundation.clock import CLOCK_SKEW_SECONDS, Clock
from chalicelib.foundation.crypto.keyring import Vault
from chalicelib.foundation.crypto.sealed_places import SealedPlace
from chalicelib.foundation.dynamodb.conditions import Attr, Condition
from chalicelib.foundation.dynamodb.store import Item, Operation, Put, Store, Update, absent
from chalicelib.foundation.identifiers import digest
from chalicelib.foundation.lazy_dataclasses import dataclass
from chalicelib.foundation.requests.engine import Engine, if_permitted
from chalicelib.website.records.sessions import TABLE

RETENTION_SECONDS = 30 * 24 * 3600
EXCHANGE_SECONDS = 30 + CLOCK_SKEW_SECONDS
"""The number of seconds after which an unfinished exchange counts as interrupted. No request takes 30 seconds."""
LIST_LIMIT = 10
STATE_TIME = 8  # a state begins with the Unix time in this many hexadecimal digits
_PREFIX = "journey#"


class JourneyChanged(Exception):
    """The journey was changed concurrently."""


@dataclass(frozen=True, slots=True)
class Journey:
    """An authorization; times are in Unix seconds.

    Attributes:
        returned_at: the time at which the browser returned from the bank; ``code_at``: the time of a return with a
        code.
        exchanging_since: the start of the code exchange; ``exchanged_at``: the end of the code exchange.
        refreshes: the number of token refreshes; ``refreshed_at``: the time of the last refresh.
            ``refreshing_since`` is set during a refresh.
        access_valid_until: the expiry of the access token; ``valid_until``: the expiry of the consent.
        ended_at: the time at which the user ended the consent on the page, or at which its end was detected.
        ended_by: ``user`` if the user ended the consent on the page, ``expired``, or the party that revoked the consent
            (see ``EndedBy``). ``None`` if unknown, and for journeys that ended before this member was stored.
        sealed: the encrypted secrets (see ``Journeys.unseal_secrets``).
    """

    owner: str
    state: str
    client_id: str
    client_title: str
    bic: str
    bank_name: str
    api_version: int
    scopes: tuple[str, ...]
    consent_type: str
    callback_url: str
    begun_at: int
    returned_at: int | None
    code_at: int | None
    error: str | None
    error_description: str | None
    exchanging_since: int | None
    exchanged_at: int | None
    refreshing_since: int | None
    refreshes: int
    refreshed_at: int | None
    access_valid_until: int | None
    valid_until: int | None
    consent_id: str | None
    ended_at: int | None
    ended_by: str | None
    sealed: bytes = field(repr=False)

    @property
    def stage(self) -> str:
        if self.ended_at is not None:
            return "ended"
        if self.exchanged_at is not None:
            return "tokens"
        if self.code_at is not None:
            return "code"
        return "begun" if self.returned_at is None else "refused"

    def is_interrupted(self, now: int) -> bool:
        """Whether a code exchange started but did not complete in time."""
        since = self.exchanging_since
        return self.stage == "code" and since is not None and now - since >= EXCHANGE_SECONDS


class Journeys:
    def __init__(self, store: Store, vault: Vault, clock: Clock, engine: Engine) -> None:
        self._store = store
        self._engine = engine
        self._vault = vault
        self._clock = clock

    def begin(self, owner: str, state: str, members: Mapping[str, Any], verifier: str | None) -> Journey:
        """Store a new journey with its initial ``members``. Raises: JourneyChanged, if ``state`` exists."""
        now = self._clock.time()
        sealed = self.seal_secrets(owner, state, {"code_verifier": verifier} if verifier else {})
        item = {
            **members,
            **_key(owner, state),
            "state": state,
            "begun_at": now,
            "refreshes": 0,
            "sealed": sealed,
            "expires_at": now + RETENTION_SECONDS,
        }
        return self._write(_journey(item), Put(TABLE, item, absent("owner")))

    def delete(self, journey: Journey) -> None:
        """Delete a journey after a refusal of its authorization request."""
        self._store.delete(TABLE, _key(journey.owner, journey.state))

    def find(self, owner: str, state: str) -> Journey | None:
        item = self._store.get(TABLE, _key(owner, state)) if state else None
        return _journey(item) if item and item["expires_at"] > self._clock.time() else None

    def list_latest(self, owner: str) -> Sequence[Journey]:
        """The latest journeys of a user, newest first."""
        page = self._store.query(
            TABLE,
            ("owner", owner_of_journeys(owner)),
            sort_prefix=("part", _PREFIX),
            limit=LIST_LIMIT,
            newest_first=True,
        )
        return [_journey(item) for item in page.items if item["expires_at"] > self._clock.time()]

    def unseal_secrets(self, journey: Journey) -> Mapping[str, str]:
        """Return the decrypted secrets of a journey: ``code_verifier``, ``code``, ``access_token`` and
        ``refresh_token``.

        ``exchange_answer`` and ``refresh_answer`` are the latest responses as JSON. ``refreshed_token`` is the refresh
        token in the request of ``refresh_answer``. Secrets of steps that have not been taken are missing. Journeys of
        earlier versions have no responses. Raises: Unsealable.
        """
        opened = self._vault.unseal(journey.sealed, _context(journey.owner, journey.state))
        secrets: Mapping[str, str] = jsontext.loads(opened)
        return secrets

    def record_refusal(self, journey: Journey, error: str, description: str) -> Journey:
        """Record that the browser returned with an error. Raises: JourneyChanged, after a return with a code."""
        changes = {"returned_at": self._clock.time(), "error": error, "error_description": description}
        return self._update(journey, changes, {}, Attr("code_at").not_exists())

    def record_code(self, journey: Journey, code: str) -> Journey:
        """Record that the browser returned with a code, replacing any earlier error or code.

        Raises: JourneyChanged, if a code is already being exchanged.
        """
        now = self._clock.time()
        changes = {"returned_at": now, "code_at": now, "error": None, "error_description": None}
        return self._update(journey, changes, {"code": code}, Attr("exchanging_since").not_exists())

    def begin_exchange(self, journey: Journey) -> Journey:
        """Mark the start of a code exchange. Raises: JourneyChanged, if another request has started one."""
        since, mark = journey.exchanging_since, Attr("exchanging_since")
        unmarked = mark.not_exists() if since is None else mark.eq(since) & Attr("exchanged_at").not_exists()
        return self._update(journey, {"exchanging_since": self._clock.time()}, {}, unmarked)

    def release_exchange(self, journey: Journey, before: Journey) -> Journey:
        """Restore the exchange mark of ``before`` after a refused exchange. Raises: JourneyChanged."""
        still = Attr("exchanging_since").eq(journey.exchanging_since) & Attr("exchanged_at").not_exists()
        return self._update(journey, {"exchanging_since": before.exchanging_since}, {}, still)

    def record_exchange(self, journey: Journey, answer: Mapping[str, Any]) -> Journey:
        """Store the tokens received for the code. Raises: JourneyChanged."""
        changes = {"exchanged_at": self._clock.time(), "consent_id": answer["consent_id"]}
        return self._store_tokens(journey, answer, changes, {"exchange_answer": jsontext.dumps(answer)})

    def begin_refresh(self, journey: Journey) -> Journey:
        """Mark the start of a token refresh. Raises: JourneyChanged, if another request has started a refresh."""
        mark, now = Attr("refreshing_since"), self._clock.time()
        unmarked = mark.not_exists() | mark.lte(now - EXCHANGE_SECONDS)
        free = Attr("refreshes").eq(journey.refreshes) & unmarked
        return self._update(journey, {"refreshing_since": now}, {}, free)

    def release_refresh(self, journey: Journey) -> Journey:
        """Remove the mark after a refused refresh. Raises: JourneyChanged."""
        still = Attr("refreshing_since").eq(journey.refreshing_since)
        return self._update(journey, {"refreshing_since": None}, {}, still)

    def record_refresh(self, journey: Journey, answer: Mapping[str, Any]) -> Journey:
        """Store the refreshed tokens. Raises: JourneyChanged."""
        changes: Item = {
            "refreshed_at": self._clock.time(),
            "refreshes": journey.refreshes + 1,
            "refreshing_since": None,
        }
        used = self.unseal_secrets(journey)["refresh_token"]
        shown = {"refreshed_token": used, "refresh_answer": jsontext.dumps(answer)}
        return self._store_tokens(journey, answer, changes, shown)

    def record_end(self, journey: Journey, by: str | None) -> Journey:
        """Record that the consent and its tokens have ended; ``by`` is as in ``Journey``.

        Raises: JourneyChanged, if the end is already recorded, or the journey has expired.
        """
        is_open = Attr("begun_at").exists() & Attr("ended_at").not_exists()
        return self._update(journey, {"ended_at": self._clock.time(), "ended_by": by}, {}, is_open)

    def _store_tokens(
        self, journey: Journey, answer: Mapping[str, Any], changes: Item, shown: Mapping[str, str]
    ) -> Journey:
        changes |= {
            "access_valid_until": self._clock.time() + answer["expires_in"],
            "valid_until": int(datetime.fromisoformat(answer["valid_until"]).timestamp()),
        }
        tokens = {name: answer[name] for name in ("access_token", "refresh_token")}
        return self._update(journey, changes, {**tokens, **shown}, Attr("refreshes").eq(journey.refreshes))

    def _update(self, journey: Journey, changes: Item, secrets: Mapping[str, str], condition: Condition) -> Journey:
        """Write ``changes``, removing attributes whose value is ``None``. Raises: JourneyChanged."""
        if secrets:
            changes = changes | {
                "sealed": self.seal_secrets(journey.owner, journey.state, {**self.unseal_secrets(journey), **secrets})
            }
        update = Update(
            TABLE,
            _key(journey.owner, journey.state),
            set={name: value for name, value in changes.items() if value is not None},
            remove=[name for name, value in changes.items() if value is None],
            condition=Attr("state").eq(journey.state) & condition,
        )
        return self._write(replace(journey, **changes), update)

    def _write(self, journey: Journey, write: Operation) -> Journey:
        """Write the changed journey. Raises: JourneyChanged."""
        return self._engine.carry_out(if_permitted([write], journey, lambda _: JourneyChanged()))

    def seal_secrets(self, owner: str, state: str, secrets: Mapping[str, str]) -> bytes:
        return self._vault.seal(jsontext.dumps(secrets), _context(owner, state))


def _journey(item: Item) -> Journey:
    members: dict[str, Any] = {name: item.get(name) for name in Journey.__dataclass_fields__}
    return Journey(**members | {"owner": _owner_of(item), "scopes": tuple(item["scopes"])})


def _owner_of(item: Item) -> str:
    return str(item["owner"]).partition("#")[2]


def owner_of_journeys(owner: str) -> str:
    """The partition of a user's journeys."""
    return f"user#{owner}"


def _key(owner: str, state: str) -> Item:
    return {"owner": owner_of_journeys(owner), "part": f"{_PREFIX}{state[:STATE_TIME]}#{digest(state)}"}


def _context(owner: str, state: str) -> str:
    return f"{TABLE}/{owner}/{digest(state)}"


SEALED = (SealedPlace(TABLE, ("owner", "part"), "sealed", lambda item: _context(_owner_of(item), item["state"])),)
