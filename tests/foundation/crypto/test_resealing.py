"""Tests of the job that encrypts records again with the newest data key. An interrupted job continues, and keys that
records still require are not deleted.
"""

from collections.abc import Iterator
from functools import cache, partial
from typing import Any
from unittest.mock import patch

import pytest

from chalicelib.foundation.crypto import resealing, signatures
from chalicelib.foundation.crypto.keyring import Keyring, Unsealable, Vault, data_key_id
from chalicelib.foundation.crypto.resealing import (
    PASS_SECONDS,
    RETENTION_SECONDS,
    SETTLE_SECONDS,
    DataKeyNeeded,
    Resealing,
    ResealingProgress,
)
from chalicelib.foundation.crypto.sealed_places import SealedPlace
from chalicelib.foundation.dynamodb.store import ConditionFailed, Store, StoreError
from tests.causeway import Causeway
from tests.kit.emulator import FakeKms, FakeSecrets
from tests.openbanking.faults import FAULTS, Fault

PLACES = (
    SealedPlace("consents", ("consent_id", "part"), "token", lambda item: f"consents/{item['consent_id']}"),
    SealedPlace("payments", ("payment",), "tokens", lambda item: f"payments/{item['payment']}"),
    SealedPlace("payments", ("payment",), "long", lambda item: None),
)


@pytest.fixture(autouse=True, scope="module")
def one_signing_key() -> Iterator[None]:
    """Use one signing key for all keyrings, because these tests concern only data keys."""
    with patch.object(signatures, "generate_private_pem", cache(signatures.generate_private_pem)):
        yield


class Stage:
    def __init__(self, causeway: Causeway) -> None:
        self.clock, self.store = causeway.clock, causeway.hub.store
        self.new_keyring = partial(Keyring, FakeSecrets(), FakeKms(), "keys", self.clock)
        self.keyring = self.new_keyring()
        self.keyring.initialise()
        self.vault = Vault(self.keyring)
        self.work = Resealing(self.store, self.vault, self.keyring, self.clock, PLACES)

    def put_consent(self, number: int, text: str = "secret") -> None:
        sealed = self.vault.seal(text, f"consents/{number}")
        self.store.put("consents", {"consent_id": str(number), "part": "consent", "token": sealed, "uses": number})

    def put_payment(self, number: int) -> None:
        sealed = [{"sealed": self.vault.seal(text, f"payments/{number}")} for text in ("one", "two")]
        self.store.put("payments", {"payment": str(number), "tokens": sealed})

    def consent(self, number: int) -> dict[str, Any]:
        item = self.store.get("consents", {"consent_id": str(number), "part": "consent"})
        assert item is not None
        return item

    def text(self, number: int) -> str:
        return self.vault.unseal(self.consent(number)["token"], f"consents/{number}")

    def rotate(self) -> None:
        self.keyring.rotate_data_key()
        self.clock.advance(SETTLE_SECONDS)

    def run(self) -> ResealingProgress:
        progress = self.work.run(self.clock.monotonic() + 1)
        assert progress is not None
        return progress

    def finish(self) -> ResealingProgress:
        for _ in range(9):
            if (progress := self.run()).finished_at is not None:
                return progress
            self.clock.advance(max(progress.pass_at - self.clock.time(), 0))
        raise AssertionError("the passes do not end")

    def unused_since(self, number: int) -> int | None:
        return next(each.unused_since for each in self.work.key_statuses() if each.number == number)


@pytest.fixture
def stage(causeway: Causeway) -> Stage:
    return Stage(causeway)


def test_values_of_older_data_keys_are_reencrypted_with_the_newest_key(stage: Stage) -> None:
    for number in range(3):
        stage.put_consent(number, f"secret {number}")
    stage.put_payment(1)
    stage.rotate()
    stage.work.request()

    progress = stage.finish()

    assert (progress.finished_at, progress.found) == (stage.clock.time(), {})
    assert [data_key_id(stage.consent(number)["token"]) for number in range(3)] == [2, 2, 2]
    assert [stage.text(number) for number in range(3)] == ["secret 0", "secret 1", "secret 2"]
    assert [stage.consent(number)["uses"] for number in range(3)] == [0, 1, 2]
    payment = stage.store.get("payments", {"payment": "1"})
    assert payment is not None
    assert [stage.vault.unseal(each["sealed"], "payments/1") for each in payment["tokens"]] == ["one", "two"]
    assert {data_key_id(each["sealed"]) for each in payment["tokens"]} == {2}


def test_reencryption_starts_only_on_request(stage: Stage) -> None:
    stage.put_consent(1)
    stage.rotate()

    assert stage.work.run(stage.clock.monotonic() + 1) is None
    assert data_key_id(stage.consent(1)["token"]) == 1


def test_reencryption_waits_until_every_process_encrypts_with_the_new_key(stage: Stage) -> None:
    stage.put_consent(1)
    stage.keyring.rotate_data_key()
    stage.work.request()

    assert stage.run().table is None
    assert data_key_id(stage.consent(1)["token"]) == 1
    stage.clock.advance(SETTLE_SECONDS)
    assert stage.run().resealed == 1


def test_a_value_changed_during_reencryption_is_not_overwritten(stage: Stage, causeway: Causeway) -> None:
    stage.put_consent(1, "before")
    changed = stage.vault.seal("changed", "consents/1")
    stage.rotate()
    stage.work.request()

    def change() -> None:
        stage.store.put("consents", {"consent_id": "1", "part": "consent", "token": changed, "uses": 7})

    with causeway.meanwhile("update", change):
        first = stage.run()

    assert (first.resealed, first.left) == (0, {"1": 1})
    assert (stage.text(1), stage.consent(1)["uses"]) == ("changed", 7)
    assert stage.finish().found == {}
    assert data_key_id(stage.consent(1)["token"]) == 2
    assert stage.text(1) == "changed"


def test_a_data_key_is_unused_after_a_pass_without_concurrent_writes_that_use_the_key(stage: Stage) -> None:
    stage.put_consent(1)
    older = stage.consent(1)
    stage.rotate()
    stage.work.request()
    assert stage.run().resealed == 1
    stage.store.put("consents", older)  # a write that began with what it had read before
    assert stage.unused_since(1) is None

    stage.clock.advance(SETTLE_SECONDS - 1)
    assert stage.run().table is None, "no pass before such writes have ended"
    stage.clock.advance(1)
    assert stage.run().resealed == 1
    stage.clock.advance(SETTLE_SECONDS)
    began = stage.clock.time()
    assert stage.run().finished_at == began
    assert stage.unused_since(1) == began


def test_an_interrupted_reencryption_resumes_at_the_first_unrecorded_page(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(resealing, "PAGE", 2)
    for number in range(7):
        stage.put_consent(number)
    stage.rotate()
    stage.work.request()
    with monkeypatch.context() as patch:
        pages: list[int] = []
        real = Store.scan_page

        def read(store: Store, *arguments: Any) -> Any:
            pages.append(1)
            if len(pages) == 3:
                raise StoreError("the third page cannot be read")
            return real(store, *arguments)

        patch.setattr(Store, "scan_page", read)
        with pytest.raises(StoreError):
            stage.run()
    there = stage.work.progress()
    assert there is not None
    assert (there.read, there.resealed, there.table) == (4, 4, "consents")

    progress = stage.run()

    assert (progress.read, progress.resealed, progress.left) == (7, 7, {"1": 7})
    assert {data_key_id(stage.consent(number)["token"]) for number in range(7)} == {2}


def test_one_of_two_concurrent_reencryption_runs_stops(stage: Stage, causeway: Causeway) -> None:
    stage.put_consent(1)
    stage.rotate()
    stage.work.request()
    other = Resealing(stage.store, stage.vault, stage.keyring, stage.clock, PLACES)

    with (
        causeway.meanwhile("scan_page", lambda: other.run(stage.clock.monotonic() + 1)),
        pytest.raises(ConditionFailed),
    ):
        stage.run()
    assert stage.text(1) == "secret"
    assert stage.finish().found == {}


def test_a_key_rotation_during_reencryption_restarts_the_pass_with_the_new_key(stage: Stage) -> None:
    stage.put_consent(1)
    stage.rotate()
    stage.work.request()
    stage.run()
    stage.rotate()

    assert stage.finish().data_key == 3
    assert data_key_id(stage.consent(1)["token"]) == 3
    assert stage.unused_since(2) is not None


def test_a_data_key_that_was_the_newest_during_a_reencryption_pass_is_reported_as_used(
    stage: Stage, causeway: Causeway
) -> None:
    stage.rotate()
    stage.put_consent(1)
    stage.work.request()

    with causeway.meanwhile("put", stage.keyring.rotate_data_key):
        stage.run()

    assert data_key_id(stage.consent(1)["token"]) == 2
    assert (stage.unused_since(1), stage.unused_since(2)) == (stage.clock.time(), None)
    assert [each.values_left for each in stage.work.key_statuses()] == [0, None, None]


def test_a_process_without_the_newest_key_does_not_start_the_requested_reencryption(stage: Stage) -> None:
    stage.put_consent(1)
    keyring = stage.new_keyring()
    late = Resealing(stage.store, Vault(keyring), keyring, stage.clock, PLACES)
    assert list(keyring.data_keys()) == [1]
    stage.keyring.rotate_data_key()
    requested = stage.work.request()

    assert late.run(stage.clock.monotonic() + 1) == requested
    assert late.request() == requested
    assert stage.work.progress() == requested


def test_the_key_of_an_immutable_value_remains_in_use_until_the_value_expires(stage: Stage) -> None:
    sealed = stage.vault.seal("long", "payments/1")
    stage.store.put("payments", {"payment": "1", "long": sealed})
    stage.rotate()
    stage.work.request()

    progress = stage.run()

    assert progress.left == {"1": 1}
    assert progress.pass_at == stage.clock.time() + PASS_SECONDS
    stage.store.delete("payments", {"payment": "1"})
    assert stage.finish().found == {}


def test_the_key_of_a_value_that_cannot_be_decrypted_remains_in_use(stage: Stage, lines: Any) -> None:
    stage.put_consent(1)
    item = stage.consent(1)
    stage.store.put("consents", item | {"consent_id": "2"})
    stage.rotate()
    stage.work.request()

    progress = stage.run()

    assert progress.left == {"1": 2}
    assert stage.unused_since(1) is None
    assert [line["table"] for line in lines.all() if line["message"] == "sealed value not opened"] == ["consents"]


def test_a_data_key_can_be_removed_only_if_no_record_or_backup_uses_the_key(stage: Stage) -> None:
    stage.put_consent(1)
    for refused, why in ((7, "no data key 7"), (1, "encrypts new records")):
        with pytest.raises(DataKeyNeeded, match=why):
            stage.work.remove_key(refused)
    stage.rotate()
    with pytest.raises(DataKeyNeeded, match="may still open records"):
        stage.work.remove_key(1)
    stage.work.request()
    stage.run()
    with pytest.raises(DataKeyNeeded, match="may still open records"):
        stage.work.remove_key(1)
    stage.finish()
    since = stage.unused_since(1)
    assert since is not None
    stage.clock.advance(since + RETENTION_SECONDS - 1 - stage.clock.time())
    with pytest.raises(DataKeyNeeded, match="backups of the last 35 days"):
        stage.work.remove_key(1)

    stage.clock.advance(1)
    stage.work.remove_key(1)

    assert list(stage.keyring.data_keys()) == [2]
    assert stage.text(1) == "secret"


def test_a_value_of_a_removed_data_key_cannot_be_decrypted(stage: Stage) -> None:
    before = stage.vault.seal("text", "place")
    stage.rotate()
    stage.keyring.remove_data_key(1)

    with pytest.raises(Unsealable):
        Vault(stage.new_keyring()).unseal(before, "place")


def test_a_data_key_that_decrypts_a_restored_record_is_in_use_again(stage: Stage) -> None:
    """A restored table may contain records that are encrypted with an old key."""
    stage.put_consent(1)
    older = stage.consent(1)
    stage.rotate()
    stage.work.request()
    stage.finish()
    stage.store.put("consents", older)
    stage.work.request()

    assert stage.run().resealed == 1
    assert stage.unused_since(1) is None


@pytest.mark.faults
@pytest.mark.parametrize("lasting", [False, True])
@pytest.mark.parametrize("kind", FAULTS)
def test_a_storage_fault_during_reencryption_loses_no_value(
    stage: Stage, causeway: Causeway, monkeypatch: pytest.MonkeyPatch, kind: str, lasting: bool
) -> None:
    """Every storage call fails once. The resumed run then encrypts all values with the newest key."""
    monkeypatch.setattr(stage.store, "pause", lambda seconds: None)
    monkeypatch.setattr("chalicelib.foundation.parallel.WIDTH", 1)
    number = 0
    while True:
        number += 1
        fresh = Stage(causeway)
        causeway.forget_journeys()
        for each in range(2):
            fresh.put_consent(each)
        fresh.put_payment(1)
        fresh.rotate()
        with Fault(causeway, kind, number, lasting=lasting) as fault:
            try:
                fresh.work.request()
                fresh.run()
            except StoreError:
                pass
        if fresh.work.progress() is None:
            fresh.work.request()
        fresh.finish()
        assert [fresh.text(each) for each in range(2)] == ["secret", "secret"]
        assert {data_key_id(fresh.consent(each)["token"]) for each in range(2)} == {2}
        if fault.hit is None:
            return
