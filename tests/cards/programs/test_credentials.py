"""Tests of credentials of programme managers: three parts, at most two active keys, and no plain text in storage."""

import hmac
import json
from typing import Any

import pytest

from chalicelib.cards.programs.credentials import (
    Credential,
    CredentialChanged,
    Credentials,
    NoOldKey,
    UnknownCredential,
)
from chalicelib.foundation.dynamodb.store import StoreUnavailable
from chalicelib.foundation.identifiers import digest
from tests.cards.programmes import ABSENT, credential, loaded, manager, secret_parts
from tests.causeway import Causeway
from tests.kit.logs import Lines
from tests.kit.storage import record_calls


class Caller:
    def __init__(self, causeway: Causeway) -> None:
        self.causeway = causeway
        self.content = manager(credentials=[credential("app", actions=["getHolder"]), credential("other")])
        (plan,) = loaded(causeway.hub, self.content)
        self.id: int = self.content["id"]
        self.parts = secret_parts(plan.secrets["app"])
        self.others = secret_parts(plan.secrets["other"])

    def passes(self, parts: tuple[str, str, str], credentials: Credentials | None = None) -> bool:
        """Return whether the parts are accepted, by default in a process with an empty cache."""
        return (credentials or self.causeway.another_process().cards.credentials).check(*parts) is not None


@pytest.fixture
def caller(causeway: Causeway) -> Caller:
    return Caller(causeway)


def test_a_lookup_with_the_three_parts_of_a_credential_returns_the_credential_with_its_rights(caller: Caller) -> None:
    found = caller.causeway.hub.cards.credentials.check(*caller.parts)

    assert isinstance(found, Credential)
    assert found.manager_id == caller.id
    assert found.name == "app"
    assert found.access_level == 1000
    assert found.modes == ABSENT
    assert found.identity == f"{caller.id}.app"
    assert found.encryption_key is None
    assert found.allows("getHolder")
    assert not found.allows("createCard")
    everything = caller.causeway.hub.cards.credentials.check(*caller.others)
    assert everything is not None
    assert everything.actions is None
    assert everything.allows("createCard")


def test_the_parts_of_a_credential_are_random_and_have_20_32_and_64_characters(caller: Caller) -> None:
    assert [len(part) for part in caller.parts] == [20, 32, 64]
    assert all(part.isalnum() and part.isascii() for part in caller.parts)
    assert not {*caller.parts} & {*caller.others}


@pytest.mark.parametrize("position", [0, 1, 2])
def test_a_credential_with_one_wrong_part_is_rejected(caller: Caller, position: int) -> None:
    for wrong in (caller.others[position], "A" * len(caller.parts[position])):
        parts = [*caller.parts]
        parts[position] = wrong
        assert caller.causeway.hub.cards.credentials.check(*parts) is None


@pytest.mark.parametrize("wrong", [None, 1, ["x"], {}, "", " ", "é" * 20, "a" * 10_000, True])
@pytest.mark.parametrize("position", [0, 1, 2])
def test_a_malformed_part_of_a_credential_is_rejected_without_a_storage_read(
    caller: Caller, position: int, wrong: object
) -> None:
    parts: list[object] = [*caller.parts]
    parts[position] = wrong
    with caller.causeway.storage_gone("batch_get"):
        assert caller.causeway.another_process().cards.credentials.check(*parts) is None


def test_the_check_of_any_wrong_credential_makes_the_same_number_of_comparisons(
    caller: Caller, monkeypatch: pytest.MonkeyPatch
) -> None:
    compared: list[int] = []
    real = hmac.compare_digest

    def compare_digest(one: bytes, other: bytes) -> bool:
        compared.append(1)
        return real(one, other)

    monkeypatch.setattr(hmac, "compare_digest", compare_digest)
    access_key, api_id, api_key = caller.parts
    counts = []
    for parts in (
        caller.parts,
        ("A" * 20, api_id, api_key),
        (access_key, "0" * 32, api_key),
        (access_key, api_id, "0" * 64),
        ("A" * 20, "0" * 32, "0" * 64),
    ):
        caller.causeway.another_process().cards.credentials.check(*parts)
        counts.append(len(compared))
        del compared[:]

    assert counts == [4, *[8] * 4]  # both parts of two keys, there or not, and once more for a key that may be new


def test_tables_and_logs_contain_no_credential_part_in_plain_text(caller: Caller, lines: Lines) -> None:
    causeway = caller.causeway
    rotated = causeway.hub.cards.credentials.rotate(caller.id, "app")
    causeway.hub.cards.credentials.check(*caller.parts)
    clear = [*caller.parts, *caller.others, rotated.access_api_id, rotated.access_api_key]

    kept = json.dumps(list(causeway.hub.store.scan("programmes")), default=str)
    assert not [part for part in clear if part in kept or part in lines.text]
    assert not [
        part for part in clear if part in repr(rotated) + repr(causeway.hub.cards.credentials.get(caller.id, "app"))
    ]


def test_two_keys_are_valid_until_the_older_key_is_removed(caller: Caller) -> None:
    operator = caller.causeway.hub.cards.credentials
    made = operator.rotate(caller.id, "app")
    assert made.access_key is None, "the access key stays"
    newer = (caller.parts[0], made.access_api_id, made.access_api_key)
    assert caller.passes(caller.parts)
    assert caller.passes(newer)
    assert not caller.passes((caller.parts[0], made.access_api_id, caller.parts[2])), "parts of two keys are no key"

    operator.drop_old(caller.id, "app")

    assert not caller.passes(caller.parts)
    assert caller.passes(newer)
    with pytest.raises(NoOldKey, match="app has only one live key"):
        operator.drop_old(caller.id, "app")


def test_a_third_key_invalidates_the_oldest_key(caller: Caller) -> None:
    made = [caller.causeway.hub.cards.credentials.rotate(caller.id, "app") for _ in range(2)]
    newer = [(caller.parts[0], each.access_api_id, each.access_api_key) for each in made]

    assert not caller.passes(caller.parts)
    assert [caller.passes(each) for each in newer] == [True, True]


def test_a_removed_key_is_rejected_within_a_minute(caller: Caller) -> None:
    elsewhere = caller.causeway.another_process().cards.credentials
    assert caller.passes(caller.parts, elsewhere)
    caller.causeway.hub.cards.credentials.rotate(caller.id, "app")
    caller.causeway.hub.cards.credentials.drop_old(caller.id, "app")
    caller.causeway.clock.advance(59)
    with caller.causeway.storage_gone("batch_get"):
        assert caller.passes(caller.parts, elsewhere), "nothing is read within a minute"

    caller.causeway.clock.advance(1)

    assert not caller.passes(caller.parts, elsewhere)


def test_a_new_key_is_accepted_after_5_seconds_and_wrong_keys_do_not_cause_earlier_reads(caller: Caller) -> None:
    elsewhere = caller.causeway.another_process().cards.credentials
    assert caller.passes(caller.parts, elsewhere)
    made = caller.causeway.hub.cards.credentials.rotate(caller.id, "app")
    newer = (caller.parts[0], made.access_api_id, made.access_api_key)
    caller.causeway.clock.advance(4)
    with caller.causeway.storage_gone("batch_get"):
        assert not caller.passes(newer, elsewhere)

    caller.causeway.clock.advance(1)

    assert caller.passes(newer, elsewhere)


def test_a_credential_that_cannot_be_read_after_a_minute_raises_store_unavailable(caller: Caller) -> None:
    """A cached set-up may be used without storage. A cached credential may have been removed and must not be used."""
    credentials = caller.causeway.another_process().cards.credentials
    assert caller.passes(caller.parts, credentials)
    caller.causeway.clock.advance(60)

    with caller.causeway.storage_gone("batch_get"), pytest.raises(StoreUnavailable):
        credentials.check(*caller.parts)
    assert caller.passes(caller.parts, credentials)


def test_unknown_credentials_are_not_cached(caller: Caller) -> None:
    credentials = caller.causeway.another_process().cards.credentials
    credentials.check("A" * 20, "0" * 32, "0" * 64)

    assert credentials.cache == {}


def test_a_credential_removed_from_the_file_is_rejected(caller: Caller) -> None:
    loaded(caller.causeway.hub, caller.content | {"credentials": caller.content["credentials"][1:]})

    assert not caller.passes(caller.parts)
    assert caller.passes(caller.others)
    with pytest.raises(UnknownCredential, match=f"programme manager {caller.id} has no credential app"):
        caller.causeway.hub.cards.credentials.get(caller.id, "app")


def test_a_change_of_credential_rights_does_not_change_the_keys(caller: Caller) -> None:
    changed: list[dict[str, Any]] = [credential("app", access_level=5), credential("other")]
    loaded(caller.causeway.hub, caller.content | {"credentials": changed})
    found = caller.causeway.another_process().cards.credentials.check(*caller.parts)

    assert found is not None
    assert (found.access_level, found.actions) == (5, None)


def test_one_of_two_parallel_rotations_of_a_credential_key_fails(caller: Caller) -> None:
    other = caller.causeway.another_process().cards.credentials
    with (
        caller.causeway.meanwhile("transact", lambda: other.rotate(caller.id, "app")),
        pytest.raises(CredentialChanged, match="try again"),
    ):
        caller.causeway.hub.cards.credentials.rotate(caller.id, "app")
    assert len(caller.causeway.hub.cards.credentials.get(caller.id, "app").keys) == 2


def test_current_credentials_are_cached_for_a_minute_and_returned_in_the_requested_order(caller: Caller) -> None:
    credentials = caller.causeway.another_process().cards.credentials
    digests = [digest(parts[0]) for parts in (caller.others, caller.parts)]
    with record_calls(caller.causeway) as calls:
        assert [each.name for each in credentials.current(digests)] == ["other", "app"]
        assert caller.passes(caller.parts, credentials)
        caller.causeway.clock.advance(59)
        assert [each.name for each in credentials.current(digests[::-1])] == ["app", "other"]
        assert calls == ["BatchGetItem"]
        caller.causeway.clock.advance(1)
        assert len(credentials.current(digests)) == 2

    assert calls == ["BatchGetItem"] * 2


@pytest.mark.parametrize("seconds", [60, -3600])
def test_an_ended_credential_is_not_listed_after_a_minute_or_after_the_clock_is_set_back(
    caller: Caller, seconds: int
) -> None:
    credentials = caller.causeway.another_process().cards.credentials
    digests = [digest(parts[0]) for parts in (caller.others, caller.parts)]
    assert len(credentials.current(digests)) == 2
    loaded(caller.causeway.hub, caller.content | {"credentials": caller.content["credentials"][1:]})
    caller.causeway.clock.advance(seconds)

    assert [each.name for each in credentials.current(digests)] == ["other"]
    assert not caller.passes(caller.parts, credentials)
