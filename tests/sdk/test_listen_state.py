"""The state file of ``causeway listen`` preserves the signing secret and the cursor between runs."""

import json
import os
import stat
from pathlib import Path

import pytest

from causeway._listen_state import StateFile
from causeway.errors import ConfigurationError
from causeway.tpp import EventEntry, EventsAnswer
from tests.sdk.event_log import event
from tests.sdk.scripted_hub import BASE

SECRET = "whsec_bm90IGEgc2VjcmV0LCBqdXN0IGFuIGV4YW1wbGU="
WHOLE = {
    "format": 1,
    "base_url": BASE,
    "client_id": "client-1",
    "secret": SECRET,
    "after": None,
    "newest": None,
    "skip_before": None,
    "handled": [],
}
DAMAGED = [
    *("", "{", "[]", "null", "{}", '{"format": 2}', '{"format": 1, "secret": "x"}', "[" * 100_000),
    *(
        json.dumps({**WHOLE, **wrong})
        for wrong in ({"secret": 5}, {"newest": "2027-01-15T08:00:05"}, {"handled": None}, {"handled": [["a", "b"]]})
    ),
]


def test_the_signing_secret_is_created_once_and_readable_only_by_its_owner(tmp_path: Path) -> None:
    file = StateFile(tmp_path / "folder" / "state.json")
    first, second = file.load(BASE, "client-1"), file.load(BASE, "client-1")
    other = StateFile(tmp_path / "other.json").load(BASE, "client-1")

    assert first == second
    assert first.secret != other.secret
    assert first.secret not in repr(first)
    file.save(first.with_answer(*_answered()))
    assert {stat.S_IMODE(one.stat().st_mode) for one in file.path.parent.iterdir()} == {0o600}
    assert stat.S_IMODE(file.path.parent.stat().st_mode) == 0o700


def _answered() -> tuple[EventEntry, str]:
    return EventEntry.from_json(event(1)), "204"


def test_a_saved_listen_state_is_loaded_unchanged(tmp_path: Path) -> None:
    file = StateFile(tmp_path / "state.json")
    state = file.load(BASE, "client-1").with_answer(*_answered())
    page = EventsAnswer.from_json({"events": [event(5)], "next": "place-5", "has_more": False})

    for one in (state, state.after_page(page), state.after_page(page).from_oldest()):
        file.save(one)
        assert file.load(BASE, "client-1") == one


def test_a_listen_state_of_the_first_format_version_is_loaded(tmp_path: Path) -> None:
    stored = {
        **WHOLE,
        "after": "place-5",
        "newest": "2027-01-15T08:00:05+00:00",
        "handled": [["event-1", "2027-01-15T08:00:01+00:00", "204"]],
    }
    (tmp_path / "state.json").write_text(json.dumps(stored))

    state = StateFile(tmp_path / "state.json").load(BASE, "client-1")

    assert (state.secret, state.after) == (SECRET, "place-5")
    assert state.is_done(_answered()[0])


@pytest.mark.parametrize("content", DAMAGED, ids=lambda content: str(content)[-40:])
def test_a_damaged_listen_state_is_rejected_and_remains_unchanged(tmp_path: Path, content: str) -> None:
    (tmp_path / "state.json").write_text(content)

    with pytest.raises(ConfigurationError, match=r"state\.json is no state of causeway listen"):
        StateFile(tmp_path / "state.json").load(BASE, "client-1")

    assert (tmp_path / "state.json").read_text() == content


@pytest.mark.parametrize("owner", [(BASE, "client-2"), ("https://other.example", "client-1")])
def test_the_listen_state_of_another_client_is_rejected(tmp_path: Path, owner: tuple[str, str]) -> None:
    StateFile(tmp_path / "state.json").load(BASE, "client-1")

    with pytest.raises(ConfigurationError, match=r"is the state of the client client-1 at https://hub\.example"):
        StateFile(tmp_path / "state.json").load(*owner)


def test_a_failed_write_does_not_change_the_old_listen_state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = StateFile(tmp_path / "state.json")
    before = file.load(BASE, "client-1")

    def full(handle: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(ConfigurationError, match=r"cannot be written: No space left"):
        file.save(before.with_answer(*_answered()))
    monkeypatch.undo()

    assert file.load(BASE, "client-1") == before
    file.save(before.with_answer(*_answered()))


def test_a_second_listener_with_the_same_state_file_is_rejected(tmp_path: Path) -> None:
    first, second = StateFile(tmp_path / "state.json"), StateFile(tmp_path / "state.json")

    with first.locked(), pytest.raises(ConfigurationError, match="another causeway listen uses"), second.locked():
        pass
    with second.locked():
        pass
