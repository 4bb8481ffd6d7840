"""Tests of card keys: new cards use the latest key version, and the lookup hash is the same after every rotation."""

import subprocess
import sys
from collections.abc import Callable

import pytest

from chalicelib.cards.card_data.encryption import CardData, CardKeys
from chalicelib.foundation.aws.errors import SecretChanged
from chalicelib.foundation.crypto.keyring import CACHED_SECONDS, NoKeys, Vault
from tests.causeway import START
from tests.kit.emulator import FakeKms, FakeSecrets, NoDataKeys
from tests.kit.time import ManualClock

NAME = "causeway-test-card-keys"
PAN = "4111111111111111"

NewProcess = Callable[[], CardKeys]


@pytest.fixture
def secrets() -> FakeSecrets:
    return FakeSecrets()


@pytest.fixture
def kms() -> FakeKms:
    return FakeKms()


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock(START)


@pytest.fixture
def keys(secrets: FakeSecrets, kms: FakeKms, clock: ManualClock) -> CardKeys:
    made = CardKeys(secrets, kms, NAME, clock)
    assert made.initialise()
    return made


@pytest.fixture
def another(secrets: FakeSecrets, kms: FakeKms, clock: ManualClock) -> NewProcess:
    return lambda: CardKeys(secrets, kms, NAME, clock)


def data(keys: CardKeys) -> CardData:
    return CardData(Vault(NoDataKeys()), keys)


def test_the_missing_keys_error_names_the_command_that_creates_keys(secrets: FakeSecrets) -> None:
    with pytest.raises(NoKeys, match=r"contains no keys yet: run `.venv/bin/python -m infra\.admin keys init`"):
        CardKeys(secrets, FakeKms(), NAME, ManualClock(START)).current()


def test_a_second_key_initialisation_does_not_replace_the_keys(
    keys: CardKeys, secrets: FakeSecrets, another: NewProcess
) -> None:
    before = dict(secrets.values)

    assert not keys.initialise()
    assert not another().initialise()
    assert secrets.values == before


def test_a_parallel_key_initialisation_does_not_replace_the_first_keys(secrets: FakeSecrets) -> None:
    first, second = (CardKeys(secrets, FakeKms(), NAME, ManualClock(START)) for _ in range(2))
    secrets.before_put = first.initialise

    assert not second.initialise()
    assert second.cvk(1) == first.cvk(1)
    assert second.derive_key("purpose") == first.derive_key("purpose")


def test_no_key_is_stored_in_plain_text(keys: CardKeys, secrets: FakeSecrets) -> None:
    stored = secrets.values[NAME]

    for key in (keys.cvk(1), keys.pvk(1), keys.derive_key("purpose")):
        assert key.hex() not in stored
    assert set(secrets.get(NAME)) == {"lookup", "versions"}


def test_all_card_data_keys_are_different(keys: CardKeys) -> None:
    keys.rotate()
    made = {keys.cvk(1), keys.cvk(2), keys.pvk(1), keys.pvk(2)}

    assert len(made) == 4
    assert {len(key) for key in made} == {16}
    assert keys.derive_key("one") != keys.derive_key("other")
    assert len(keys.derive_key("one")) == 32


def test_a_key_rotation_does_not_change_the_cvc2_and_pvv_of_existing_cards(keys: CardKeys, another: NewProcess) -> None:
    version = data(keys).key_version()
    before = data(keys).cvc2(PAN, 2029, 12, version), data(keys).pvv(PAN, "1902", version)

    for _ in range(3):
        keys.rotate()
    for now in (data(keys), data(another())):
        assert (now.cvc2(PAN, 2029, 12, version), now.pvv(PAN, "1902", version)) == before
        assert now.key_version() == version + 3


def test_a_key_rotation_does_not_change_the_lookup_hash_of_cards(keys: CardKeys, another: NewProcess) -> None:
    before = data(keys).lookup(PAN), data(keys).fingerprint("{}")

    keys.rotate()
    assert (data(keys).lookup(PAN), data(keys).fingerprint("{}")) == before
    assert (data(another()).lookup(PAN), data(another()).fingerprint("{}")) == before


def test_a_process_reads_an_uncached_key_version_immediately(keys: CardKeys, another: NewProcess) -> None:
    stale = another()
    assert stale.current() == 1
    version = keys.rotate()

    assert stale.cvk(version) == keys.cvk(version)
    assert stale.current() == version


def test_every_process_uses_a_new_key_version_for_new_cards_within_a_minute(
    keys: CardKeys, clock: ManualClock, another: NewProcess
) -> None:
    stale = another()
    assert stale.current() == 1
    assert keys.rotate() == 2
    assert keys.current() == 2

    assert stale.current() == 1
    clock.advance(CACHED_SECONDS)
    assert stale.current() == 2


def test_one_of_two_parallel_key_rotations_fails_and_no_key_version_is_lost(
    keys: CardKeys, secrets: FakeSecrets, another: NewProcess
) -> None:
    other = another()
    secrets.before_put = other.rotate

    with pytest.raises(SecretChanged):
        keys.rotate()
    assert [entry["id"] for entry in secrets.get(NAME)["versions"]] == [1, 2]
    assert another().cvk(2) == other.cvk(2)


def test_an_unknown_key_version_raises_key_error(keys: CardKeys) -> None:
    with pytest.raises(KeyError):
        keys.cvk(7)


@pytest.mark.usefixtures("keys")
def test_a_key_is_unwrapped_once_at_its_first_use(secrets: FakeSecrets, clock: ManualClock) -> None:
    fresh = CardKeys(secrets, kms := FakeKms(), NAME, clock)
    fresh.current()
    assert kms.unwrapped == []

    for _ in range(3):
        fresh.cvk(1)
        clock.advance(CACHED_SECONDS)
    assert len(kms.unwrapped) == 1


def test_cached_keys_are_used_while_the_secret_cannot_be_read(
    keys: CardKeys, secrets: FakeSecrets, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = keys.cvk(1)
    clock.advance(CACHED_SECONDS)

    def gone(name: str) -> None:
        raise ConnectionError

    monkeypatch.setattr(secrets, "get", gone)
    assert keys.cvk(1) == before
    assert keys.current() == 1


def test_importing_the_encryption_module_loads_neither_boto3_nor_pydantic() -> None:
    loaded = "print(*(n for n in ('boto3', 'pydantic') if n in sys.modules))"
    seen = f"import sys; import chalicelib.cards.card_data.encryption; {loaded}"

    done = subprocess.run([sys.executable, "-c", seen], capture_output=True, text=True, check=True)
    assert done.stdout.split() == []
