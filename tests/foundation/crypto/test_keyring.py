"""The keyring is created once, rotated without an interruption of service, and cached for one minute."""

from collections.abc import Callable

import pytest

from chalicelib.foundation.aws.errors import SecretChanged
from chalicelib.foundation.clock import CLOCK_SKEW_SECONDS
from chalicelib.foundation.crypto import signatures
from chalicelib.foundation.crypto.keyring import CACHED_SECONDS, Keyring, NoKeys, Vault
from tests.causeway import START
from tests.kit.emulator import FakeKms, FakeSecrets
from tests.kit.time import ManualClock

NAME = "causeway-test-keys"
HOUR = 3600

NewProcess = Callable[[], Keyring]


@pytest.fixture
def secrets() -> FakeSecrets:
    return FakeSecrets()


@pytest.fixture
def kms() -> FakeKms:
    return FakeKms()


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock(START)


@pytest.fixture(autouse=True)
def quick_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    """Take RSA keys from a prepared list, because generating an RSA key takes a tenth of a second."""
    stock = iter(_stock() * 2)
    monkeypatch.setattr(signatures, "generate_private_pem", lambda: next(stock))


_made: list[str] = []


def _stock() -> list[str]:
    if not _made:
        _made.extend(signatures.generate_private_pem() for _ in range(4))
    return _made


@pytest.fixture
def keyring(secrets: FakeSecrets, kms: FakeKms, clock: ManualClock) -> Keyring:
    keyring = Keyring(secrets, kms, NAME, clock)
    assert keyring.initialise()
    return keyring


@pytest.fixture
def another(secrets: FakeSecrets, kms: FakeKms, clock: ManualClock) -> NewProcess:
    return lambda: Keyring(secrets, kms, NAME, clock)


def ids(keyring: Keyring) -> list[str]:
    return [signatures.key_id(key) for key in keyring.public_keys()]


def signing(keyring: Keyring) -> str:
    return signatures.key_id(keyring.signing_key().public_key())


def test_an_uninitialised_keyring_raises_an_error_with_the_init_command(
    secrets: FakeSecrets, kms: FakeKms, clock: ManualClock
) -> None:
    with pytest.raises(NoKeys, match=r"contains no keys yet: run `.venv/bin/python -m infra\.admin"):
        Keyring(secrets, kms, NAME, clock).signing_key()


def test_a_second_keyring_initialisation_changes_nothing(
    keyring: Keyring, secrets: FakeSecrets, another: NewProcess
) -> None:
    before = dict(secrets.values)

    assert not keyring.initialise()
    assert not another().initialise()
    assert secrets.values == before


def test_two_concurrent_keyring_initialisations_create_the_keys_only_once(
    secrets: FakeSecrets, kms: FakeKms, clock: ManualClock
) -> None:
    first, second = Keyring(secrets, kms, NAME, clock), Keyring(secrets, kms, NAME, clock)
    secrets.before_put = first.initialise

    assert not second.initialise()
    assert ids(second) == ids(first)
    assert Vault(second).unseal(Vault(first).seal("text", "place"), "place") == "text"


def test_published_keys_exclude_private_keys_and_plaintext_data_keys(
    keyring: Keyring, kms: FakeKms, secrets: FakeSecrets
) -> None:
    keyring.current_data_key()

    assert kms.unwrapped[0].hex() not in secrets.values[NAME]
    assert all(not hasattr(key, "private_numbers") for key in keyring.public_keys())


def test_a_new_signing_key_is_published_before_the_first_signature(keyring: Keyring, clock: ManualClock) -> None:
    old = signing(keyring)
    new = keyring.rotate_signing_key(overlap=HOUR)

    assert ids(keyring) == [new, old]
    clock.advance(HOUR - 1)
    assert signing(keyring) == old
    clock.advance(1)
    assert signing(keyring) == new
    assert ids(keyring) == [new, old]


def test_at_most_two_signing_keys_are_published(keyring: Keyring, clock: ManualClock) -> None:
    second = keyring.rotate_signing_key(overlap=HOUR)
    clock.advance(HOUR)
    third = keyring.rotate_signing_key(overlap=HOUR)

    assert ids(keyring) == [third, second]
    assert signing(keyring) == second


def test_a_rotation_without_an_overlap_removes_the_old_key_from_the_published_keys(
    keyring: Keyring, another: NewProcess
) -> None:
    new = keyring.rotate_signing_key(overlap=0)

    assert ids(keyring) == [new]
    assert signing(keyring) == new
    assert ids(another()) == [new]


def test_a_rotation_during_the_overlap_replaces_the_pending_key(keyring: Keyring, clock: ManualClock) -> None:
    old = signing(keyring)
    keyring.rotate_signing_key(overlap=HOUR)
    newest = keyring.rotate_signing_key(overlap=HOUR)

    assert ids(keyring) == [newest, old]
    assert signing(keyring) == old
    clock.advance(HOUR)
    assert signing(keyring) == newest


def test_one_of_two_concurrent_key_rotations_is_rejected(
    keyring: Keyring, secrets: FakeSecrets, another: NewProcess
) -> None:
    other = another()
    secrets.before_put = other.rotate_data_key

    with pytest.raises(SecretChanged):
        keyring.rotate_signing_key(overlap=0)
    assert [entry["id"] for entry in secrets.get(NAME)["data_keys"]] == [1, 2]


def test_other_processes_use_rotated_keys_within_a_minute(
    keyring: Keyring, clock: ManualClock, another: NewProcess
) -> None:
    other = another()
    old = signing(other)
    new = keyring.rotate_signing_key(overlap=0)

    clock.advance(CACHED_SECONDS - 1)
    assert signing(other) == old
    clock.advance(1)
    assert signing(other) == new


def test_other_processes_use_rotated_keys_after_the_clock_is_set_back(
    keyring: Keyring, clock: ManualClock, another: NewProcess
) -> None:
    other = another()
    signing(other)
    new = keyring.rotate_signing_key(overlap=-7200)

    clock.advance(-3600)
    assert signing(other) == new


def test_the_keyring_secret_is_read_once_a_minute(
    keyring: Keyring, secrets: FakeSecrets, clock: ManualClock, another: NewProcess
) -> None:
    other, before = another(), secrets.reads

    for _ in range(3):
        other.signing_key()
        other.public_keys()
        other.current_data_key()
        clock.advance(CACHED_SECONDS / 3)
    assert secrets.reads == before + 1
    other.signing_key()
    assert secrets.reads == before + 2


def test_a_data_key_is_unwrapped_once(keyring: Keyring, kms: FakeKms, clock: ManualClock) -> None:
    for _ in range(3):
        keyring.current_data_key()
        keyring.data_key(1)
        clock.advance(CACHED_SECONDS)

    assert len(kms.unwrapped) == 1


def test_after_a_rotation_the_new_data_key_encrypts_and_the_old_data_key_decrypts(
    keyring: Keyring, another: NewProcess
) -> None:
    vault = Vault(keyring)
    before = vault.seal("before", "place")

    assert keyring.rotate_data_key() == 2
    after = vault.seal("after", "place")
    assert keyring.current_data_key()[0] == 2
    for opener in (vault, Vault(another())):
        assert opener.unseal(before, "place") == "before"
        assert opener.unseal(after, "place") == "after"


def test_every_process_can_immediately_decrypt_a_value_of_a_new_data_key(keyring: Keyring, another: NewProcess) -> None:
    stale = another()
    stale.current_data_key()
    keyring.rotate_data_key()

    assert Vault(stale).unseal(Vault(keyring).seal("text", "place"), "place") == "text"


def test_a_new_data_key_is_used_for_signatures_only_after_every_process_has_read_the_key(
    keyring: Keyring, clock: ManualClock
) -> None:
    clock.advance(CACHED_SECONDS)
    first = keyring.derived_signing_key("purpose")
    keyring.rotate_data_key()

    clock.advance(CACHED_SECONDS + CLOCK_SKEW_SECONDS - 1)
    assert keyring.derived_signing_key("purpose") == first
    clock.advance(1)
    assert keyring.derived_signing_key("purpose") != first
    assert first in keyring.derived_keys("purpose")
    assert keyring.derived_keys("purpose")[-1] == keyring.derived_signing_key("purpose")


def test_a_signature_with_a_data_key_is_invalid_after_the_third_rotation(keyring: Keyring, clock: ManualClock) -> None:
    clock.advance(CACHED_SECONDS)
    first = keyring.derived_signing_key("purpose")

    valid = []
    for _ in range(3):
        keyring.rotate_data_key()
        valid.append(first in keyring.derived_keys("purpose"))

    assert valid == [True, True, False]


def test_a_data_key_without_created_at_has_creation_time_0(
    keyring: Keyring, secrets: FakeSecrets, another: NewProcess
) -> None:
    state = secrets.get(NAME)
    del state["data_keys"][0]["created_at"]
    secrets.put(NAME, state)
    later = another()

    assert later.data_keys() == {1: 0}
    assert later.rotate_data_key() == 2
    assert later.data_keys() == {1: 0, 2: int(START.timestamp())}


def test_the_number_of_a_removed_data_key_is_not_reused(keyring: Keyring, another: NewProcess) -> None:
    keyring.rotate_data_key()
    keyring.remove_data_key(1)

    assert list(another().data_keys()) == [2]
    with pytest.raises(KeyError):
        another().data_key(1)
    assert keyring.rotate_data_key() == 3


@pytest.mark.parametrize(("number", "error"), [(2, ValueError), (7, KeyError)])
def test_removing_the_newest_or_an_unknown_data_key_is_rejected(
    keyring: Keyring, number: int, error: type[Exception]
) -> None:
    keyring.rotate_data_key()

    with pytest.raises(error):
        keyring.remove_data_key(number)
    assert list(keyring.data_keys()) == [1, 2]


def test_an_unknown_data_key_raises_key_error(keyring: Keyring) -> None:
    with pytest.raises(KeyError):
        keyring.data_key(7)
