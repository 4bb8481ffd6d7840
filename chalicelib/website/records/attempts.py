"""Attempt limits for sign-in, registration and resending: counters per account and per address.

A conditional write counts each attempt before the check, so parallel attempts cannot exceed the limit. After a success,
the attempt is no longer counted, nor are the preceding failures of the same person. Every time window starts at zero.
"""

from __future__ import annotations

import hmac
import ipaddress
from collections.abc import Mapping, Sequence

from chalicelib.foundation import security_refusals
from chalicelib.foundation.clock import Clock
from chalicelib.foundation.crypto.keyring import Keyring
from chalicelib.foundation.dynamodb.conditions import Attr
from chalicelib.foundation.dynamodb.store import Delete, Item, Update
from chalicelib.foundation.lazy_dataclasses import dataclass
from chalicelib.foundation.requests.engine import Engine, if_permitted
from chalicelib.foundation.requests.facts import Facts
from chalicelib.foundation.requests.outcome import Outcome
from chalicelib.website.records.sessions import TABLE


@dataclass(frozen=True, slots=True)
class RateLimit:
    """The maximum number of attempts in a window of seconds, and whether a success resets the counter."""

    attempts: int
    seconds: int
    cleared_by_success: bool = False


LIMITS: Mapping[str, RateLimit] = {
    "known_browser": RateLimit(10, 15 * 60, cleared_by_success=True),
    "known_browsers": RateLimit(100, 3600),
    "account_at_address": RateLimit(10, 15 * 60, cleared_by_success=True),
    "address": RateLimit(50, 15 * 60),
    "account": RateLimit(100, 3600),
    "registrations": RateLimit(300, 3600),
    "events": RateLimit(120, 3600),
    "codes": RateLimit(20, 3600),
    "password": RateLimit(10, 15 * 60, cleared_by_success=True),
    "mails": RateLimit(30, 3600),
    "mailbox": RateLimit(5, 3600),
    "signatures": RateLimit(120, 3600),
}
"""The limits by name.

Sign-ins from browsers that signed in to the account before (see ``sessions``) are limited per browser, and per account.
Other sign-ins are limited per account and address, per address, and per account. The remaining limits are for
registrations from an address, test events and resent events of a user, a user's codes for the operator, wrong passwords
outside of sign-in, emails requested from an address and for a mailbox, and signatures verified for an address.
"""

Subjects = Sequence[tuple[str, str]]
"""The subject to count for each of the named ``LIMITS``, such as an account."""


class TooManyAttempts(Exception):
    """A limit was reached. ``retry_after`` is in seconds."""

    def __init__(self, retry_after: int) -> None:
        self.retry_after = retry_after
        super().__init__("too many attempts")


def count_attempt(subjects: Subjects, *, keyring: Keyring, clock: Clock, engine: Engine) -> None:
    """Count one attempt for each of ``subjects``, or for none if any subject has reached its limit.

    Raises: TooManyAttempts.
    """
    now = clock.real.time()
    updates = [_update_count(name, _key(keyring, name, whom, now), now) for name, whom in subjects]

    def refuse(facts: Facts) -> TooManyAttempts:
        stopped = [name for (name, _), each in zip(subjects, updates, strict=True) if not facts.permits(each)]
        windows = [LIMITS[name].seconds for name in stopped]
        return _too_many(stopped, max(seconds - now % seconds for seconds in windows))

    engine.carry_out(
        if_permitted(updates, None, refuse),
        if_busy=lambda: _too_many([name for name, _ in subjects], 1),  # so many at once indicate guessing
    )


def record_success(subjects: Subjects, *, keyring: Keyring, clock: Clock, engine: Engine) -> None:
    """Subtract a successful attempt from the counters. Counters of limits with ``cleared_by_success`` are reset."""
    now = clock.real.time()
    updates = [_update_after_success(name, _key(keyring, name, whom, now)) for name, whom in subjects]
    engine.attempt(Outcome(None, updates))  # a new window, or many at once, make it irrelevant


def _key(keyring: Keyring, name: str, whom: str, now: int) -> Item:
    """Return the key of a counter. The key does not reveal the address or account."""
    secret = keyring.derived_keys("website/attempts")[-1]
    hidden = hmac.digest(secret, whom.encode(), "sha256").hex()
    return {"owner": f"{name}#{hidden}", "part": f"attempts#{now // LIMITS[name].seconds}"}


def _too_many(limits: Sequence[str], retry_after: int) -> TooManyAttempts:
    security_refusals.record("too_many_attempts", "too many attempts", limits=limits)
    return TooManyAttempts(retry_after)


def client_network(address: str) -> str:
    """Return the network for which attempts are counted: an IPv4 address, or the /64 of an IPv6 address, which has one
    owner.
    """
    try:
        parsed = ipaddress.ip_address(address)
    except ValueError:
        return address
    return str(ipaddress.ip_network((parsed, 64), strict=False)) if parsed.version == 6 else address


def _update_count(name: str, key: Item, now: int) -> Update:
    limit = LIMITS[name]
    return Update(
        TABLE,
        key,
        set={"expires_at": now + 2 * limit.seconds},
        add={"attempts": 1},
        condition=Attr("attempts").not_exists() | Attr("attempts").lt(limit.attempts),
    )


def _update_after_success(name: str, key: Item) -> Delete | Update:
    if LIMITS[name].cleared_by_success:
        return Delete(TABLE, key)
    return Update(TABLE, key, add={"attempts": -1}, condition=Attr("attempts").gt(0))
