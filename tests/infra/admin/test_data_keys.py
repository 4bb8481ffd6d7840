"""The data key commands reencrypt all records and remove unused keys."""

import pytest

from chalicelib.foundation.crypto.resealing import RETENTION_SECONDS, SETTLE_SECONDS
from infra.admin import connection
from tests.causeway import Causeway
from tests.infra.admin.command_line import done, refused, run


@pytest.fixture(autouse=True)
def connected(causeway: Causeway, monkeypatch: pytest.MonkeyPatch) -> Causeway:
    monkeypatch.setattr(connection, "connect", lambda: causeway.hub)
    return causeway


def work_for(causeway: Causeway, passes: int) -> None:
    for _ in range(passes):
        causeway.clock.advance(SETTLE_SECONDS)
        causeway.hub.resealing.run(causeway.clock.monotonic() + 1)


def test_a_data_key_is_removable_35_days_after_reencryption(causeway: Causeway) -> None:
    tokens = causeway.tpp.tokens(1)
    old = max(causeway.hub.keyring.data_keys())
    assert done("keys", "rotate-data") == {"data_key": old + 1}
    assert done("keys", "data")["reseal"] is None

    requested = done("keys", "reseal")
    assert (requested["state"], requested["data_key"]) == ("waiting", old + 1)
    assert done("keys", "reseal") == requested
    assert refused("keys", "remove-data", str(old)) == (
        f"data key {old} may still open records: run `keys reseal`, then see `keys data`"
    )
    work_for(causeway, passes=3)

    shown = done("keys", "data")
    assert (shown["reseal"]["state"], shown["reseal"]["values_found"]) == ("finished", None)
    keys = {each["data_key"]: each for each in shown["data_keys"]}
    assert keys[old]["values_left"] == 0
    assert [keys[each]["encrypts_new_records"] for each in (old, old + 1)] == [False, True]
    assert keys[old]["removable_at"] is not None
    assert refused("keys", "remove-data", str(old)).startswith("backups of the last 35 days may still need data key")
    causeway.clock.advance(RETENTION_SECONDS)

    assert done("keys", "remove-data", str(old)) == {"removed": old}
    assert old not in {each["data_key"] for each in done("keys", "data")["data_keys"]}
    assert causeway.hub.openbanking.banks.outbound_key(causeway.banks[1].record)
    assert causeway.tpp.call("POST", "/tpp/token", {"refresh_token": tokens["refresh_token"]}).status == 200


def test_keys_data_prints_the_state_of_the_keys_as_a_table() -> None:
    done("keys", "rotate-data")
    assert "keys reseal was never requested." in run("keys", "data").stdout
    done("keys", "reseal")

    text = run("keys", "data").stdout

    assert text.startswith("data key  created at")
    assert "waiting" in text
