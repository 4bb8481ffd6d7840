"""The commands that load and show programme managers and rotate their keys."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric import rsa

from chalicelib.cards.events.event_secrets import open_secrets, secrets_key
from chalicelib.foundation.clock import timestamp
from chalicelib.foundation.crypto import signatures
from infra.admin import connection, output
from infra.programme import file, loading
from infra.programme.loading import LoadConflict
from tests.cards.programmes import Content, credential, fee, loaded, manager, written
from tests.causeway import Causeway
from tests.infra.admin.command_line import done, refused, run

PARTS = ("access_key", "access_api_id", "access_api_key")


@pytest.fixture(autouse=True)
def connected(causeway: Causeway, monkeypatch: pytest.MonkeyPatch) -> Causeway:
    monkeypatch.setattr(connection, "connect", lambda: causeway.hub)
    return causeway


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "programme.yaml"


def load(path: Path, *contents: Content) -> Any:
    path.write_text(written(*contents))
    return done("programme", "load", str(path))


def rows(causeway: Causeway) -> list[Any]:
    return sorted(causeway.hub.store.scan("programmes"), key=lambda row: (row["owner"], row["part"]))


def test_programme_load_lists_changes_and_shows_new_credentials_once(causeway: Causeway, path: Path) -> None:
    new = manager()
    (told,) = load(path, new)["managers"]

    assert (told["id"], told["name"]) == (new["id"], "Small Programme")
    assert told["changes"][1] == {"what": "add", "kind": "product", "id": 1, "name": "Debit", "members": {}}
    parts = told["credentials"]["app"]
    assert causeway.hub.cards.credentials.check(*(parts[part] for part in PARTS)) is not None
    again = done("programme", "load", str(path))
    assert again == {
        "managers": [
            {"id": new["id"], "name": "Small Programme", "changes": [], "credentials": {}, "events_secret": None}
        ],
        "changed": False,
    }
    assert run("programme", "load", str(path)).stdout == (
        f"Programme manager {new['id']}, Small Programme:\n  nothing to change\n"
    )


def test_programme_load_prints_one_line_for_each_change(path: Path) -> None:
    new = manager()
    path.write_text(written(new))
    told = run("programme", "load", str(path)).stdout

    assert told.startswith(f"Programme manager {new['id']}, Small Programme:\n  + programme manager {new['id']} (Small")
    assert "\n  + credential app\n" in told
    shown = re.findall(r"^  (access_\w+) +(\w+)$", told, re.MULTILINE)
    assert [(name, len(value)) for name, value in shown] == [*zip(PARTS, (20, 32, 64), strict=True)]
    assert told.endswith("These parts are shown only once and cannot be retrieved later.\n")

    path.write_text(written(new | {"designs": [{"id": 1, "name": "Deep Blue"}], "credentials": []}))
    assert run("programme", "load", str(path)).stdout == (
        f"Programme manager {new['id']}, Small Programme:\n"
        "  ~ design 1 (Deep Blue)\n      name: Blue -> Deep Blue\n  - design 2 (Green)\n  - credential app\n"
    )


def test_programme_load_prints_the_changed_entries_of_a_group(path: Path) -> None:
    new = manager(fee_groups=[{"id": 1, "name": "Fees", "entries": [fee("ATM"), fee("CARD")]}])
    load(path, new)
    new["fee_groups"] = [{"id": 1, "name": "Fees", "entries": [fee("ATM", fixed=250), fee("CARD"), fee("NEW")]}]
    path.write_text(written(new))

    assert run("programme", "load", str(path)).stdout == (
        f"Programme manager {new['id']}, Small Programme:\n"
        "  ~ fee group 1 (Fees)\n"
        "      entries.ATM: code ATM, title Cash, fixed 100, currency 978 -> "
        "code ATM, title Cash, fixed 250, currency 978\n"
        "      entries.NEW: nothing -> code NEW, title Cash, fixed 100, currency 978\n"
    )


def test_programme_load_dry_run_shows_the_difference_and_changes_nothing(causeway: Causeway, path: Path) -> None:
    new = manager()
    load(path, new)
    before = rows(causeway)
    path.write_text(written(new | {"name": "Renamed", "credentials": [credential("other")]}))

    told = done("programme", "load", str(path), "--dry-run")
    spoken = run("programme", "load", str(path), "--dry-run")

    assert rows(causeway) == before
    assert told["changed"] is False
    assert [change["what"] for change in told["managers"][0]["changes"]] == ["change", "add", "remove"]
    assert told["managers"][0]["changes"][0]["members"] == {"name": {"from": "Small Programme", "to": "Renamed"}}
    assert told["managers"][0]["credentials"] == {}
    assert "access_api" not in spoken.stdout
    assert spoken.stdout.endswith("Nothing was changed: this was a dry run.\n")


def test_programme_load_refuses_to_remove_entries_in_use(causeway: Causeway, path: Path) -> None:
    new = manager()
    load(path, new)
    hub = causeway.another_process()
    hub.cards.programmes.mark_used(hub.cards.programmes.catalogue(new["id"]), [("design", 2)])
    before = rows(causeway)
    path.write_text(written(new | {"designs": new["designs"][:1], "name": "Renamed"}))

    assert refused("programme", "load", str(path)) == (
        f"programme manager {new['id']} was not changed, because these entries are in use: design 2 (Green)"
    )
    rehearsed = run("programme", "load", str(path), "--dry-run")
    assert rehearsed.exit_code == 1
    assert rehearsed.stdout.endswith(
        "Loading it would be refused, because these entries are in use: design 2 (Green).\n"
    )
    document = json.loads(run("programme", "load", str(path), "--dry-run", "--json").stdout)
    assert document["in_use"] == ["design 2 (Green)"]
    assert rows(causeway) == before


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("programme_managers: [", "line 1, column 22: expected the node content, but found '<stream end>'"),
        ("programme_managers: 1", "programme_managers must be a list"),
        (written(manager(designs=[], products=[])), "programme_managers.0.card_programmes.0.product_ids refers to the"),
    ],
)
def test_programme_load_rejects_an_invalid_file_and_changes_nothing(
    causeway: Causeway, path: Path, text: str, said: str
) -> None:
    before = rows(causeway)
    path.write_text(text)

    assert refused("programme", "load", str(path)).startswith(said)
    assert rows(causeway) == before


def test_an_unreadable_programme_file_is_refused(path: Path) -> None:
    assert refused("programme", "load", str(path)) == f"{path} cannot be read: No such file or directory"
    path.write_bytes(b"\xff\xfe\x00")
    assert refused("programme", "load", str(path)) == f"{path} cannot be read: it is not a text file"


def test_programme_load_rejects_bins_outside_the_test_ranges_except_in_production(path: Path) -> None:
    path.write_text(written(manager(test_bins=[])))

    assert "other BINs are allowed only in production" in refused("programme", "load", str(path))


def test_a_concurrent_programme_load_is_rejected(causeway: Causeway, path: Path) -> None:
    new = manager()
    load(path, new)
    path.write_text(written(new | {"name": "Ours"}))
    with causeway.meanwhile("transact", lambda: loaded(causeway.hub, new | {"name": "Theirs"})):
        result = run("programme", "load", str(path))

    assert result.exit_code == 1
    assert result.stderr == "Error: this programme manager was loaded concurrently: load again\n"


def test_programme_load_prints_new_credentials_even_if_a_later_manager_fails(
    causeway: Causeway, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = manager(), manager()
    path.write_text(written(first, second))
    real = loading.carry_out

    def fails(hub: Any, plan: Any) -> None:
        if plan.catalogue.manager_id == second["id"]:
            raise LoadConflict("load again")
        real(hub, plan)

    monkeypatch.setattr(loading, "carry_out", fails)
    told = run("programme", "load", str(path), "--json")

    assert told.exit_code == 1
    document = json.loads(told.stdout)
    assert document["error"] == "the rest of the file was not loaded: load again"
    assert [each["id"] for each in document["managers"]] == [first["id"]]
    assert set(document["managers"][0]["credentials"]["app"]) == set(PARTS)
    other = run("programme", "load", str(path))
    assert (other.exit_code, other.stderr) == (1, "Error: load again\n"), "nothing was made, so nothing is shown"


def test_programme_show_lists_programme_managers(path: Path) -> None:
    new = manager(name="Listed")
    load(path, new)

    listed = done("programme", "show")["managers"]
    assert {"id": new["id"], "name": "Listed"} in listed
    assert {"id": 1, "name": "Demo Programme"} in listed
    assert re.search(rf"^{new['id']} +Listed$", run("programme", "show").stdout, re.MULTILINE)


def test_programme_show_without_programme_managers_prints_the_command_programme_load(
    causeway: Causeway, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(causeway.hub.store, "scan", lambda table: iter(()))

    assert run("programme", "show").stdout == "There are no programme managers: load some with `programme load`.\n"


def test_programme_show_prints_entries_in_use_and_no_digests(causeway: Causeway, path: Path) -> None:
    demo = causeway.another_process()
    demo.cards.programmes.mark_used(demo.cards.programmes.catalogue(1), [("design", 21)])
    shown = done("programme", "show", "1")

    assert shown["manager"]["rates"]["978/840"] == {"base": "1.0845", "markup_percent": "1.5"}
    designs = {each["id"]: each for each in shown["manager"]["designs"]}
    assert designs[21] == {"id": 21, "name": "Plain Blue", "in_use": True}
    credentials = {each["name"]: each for each in shown["credentials"]}
    assert credentials["full"]["actions"] == "all"
    assert credentials["support"]["pan"] == "masked"
    assert re.fullmatch("[0-9a-f]{16}", credentials["encrypted"]["encryption_key"])
    assert credentials["full"]["keys_made_at"] == ["2026-03-02T09:00:00+00:00"]
    text = run("programme", "show", "1").stdout
    assert re.search(r"^Card programmes\nid +name +in use\n101 +Everyday Card", text, re.MULTILINE)
    assert re.search(r"^rates +978/826 base 0\.8612, markup_percent 0\n +826/978", text, re.MULTILINE)
    assert re.search(r"^Fee groups\nid +name +entries +in use\n301 +Standard Fees +7 ", text, re.MULTILINE)
    assert re.search(r"^Risk groups\nid +name +rules +in use\n401 +Standard Risk +3 ", text, re.MULTILINE)
    assert re.search(r"^Usage groups\nid +name +in use\n601 +Everything ", text, re.MULTILINE)
    assert re.search(r"^events url +", text, re.MULTILINE)
    fees = {each["id"]: each["entries"] for each in shown["manager"]["fee_groups"]}
    assert fees[301][0]["code"] == "ATM"
    assert fees[302] == []
    digests = [row["access_key"] for row in rows(causeway) if "access_key" in row]
    assert digests
    assert not [each for each in digests if each in text or each in json.dumps(shown)]


def test_programme_show_prints_the_short_id_of_the_events_encryption_key(path: Path) -> None:
    key = rsa.generate_private_key(65537, 3072).public_key()
    members = {"events_encryption_key": signatures.public_pem(key), "delivers_validation_values": True}
    new = manager(events_url=EVENTS_URL, **members)
    load(path, new)

    shown = done("programme", "show", str(new["id"]))["manager"]
    text = run("programme", "show", str(new["id"])).stdout

    assert [shown[name] for name in members] == [signatures.key_id(key), True]
    assert re.search(rf"^events encryption key +{signatures.key_id(key)}$", text, re.MULTILINE)
    assert re.search("^delivers validation values +yes$", text, re.MULTILINE)
    assert "PUBLIC KEY" not in text
    silent = run("programme", "show", "1").stdout
    assert re.search("^delivers validation values +no$", silent, re.MULTILINE)


def test_a_command_for_an_unknown_programme_manager_or_credential_is_rejected() -> None:
    assert refused("programme", "show", "8999").startswith("there is no programme manager 8999")
    for command in ("rotate-key", "drop-key"):
        assert refused("programme", command, "1", "nobody") == "programme manager 1 has no credential nobody"


EVENTS_URL = "https://manager.example.com/events"


def signing(causeway: Causeway, manager_id: int) -> list[str]:
    hub = causeway.hub
    return open_secrets(manager_id, hub.store.get(*secrets_key(manager_id)), hub.vault, causeway.clock.time())


def test_programme_load_creates_the_events_secret_with_the_first_events_url(causeway: Causeway, path: Path) -> None:
    new = manager()
    assert load(path, new)["managers"][0]["events_secret"] is None
    path.write_text(written(new | {"events_url": EVENTS_URL}))

    assert done("programme", "load", str(path), "--dry-run")["managers"][0]["events_secret"] is None
    assert signing(causeway, new["id"]) == []
    told = run("programme", "load", str(path)).stdout

    (shown,) = re.findall(r"^The secret of its events: (whsec_\S+)\nIt is shown only once", told, re.MULTILINE)
    assert signing(causeway, new["id"]) == [shown]
    assert f"  + events secret {new['id']} (Small Programme)\n" in told
    load(path, new)
    assert load(path, new | {"events_url": EVENTS_URL})["managers"][0]["events_secret"] is None
    assert signing(causeway, new["id"]) == [shown]
    assert shown.removeprefix("whsec_") not in str(rows(causeway)) + run("programme", "show", str(new["id"])).stdout


def test_programme_load_prints_the_events_secret_after_the_credentials(path: Path) -> None:
    new = manager(events_url=EVENTS_URL)
    path.write_text(written(new))

    told = run("programme", "load", str(path)).stdout

    assert told.index("access_api_key") < told.index("These parts are shown") < told.index("The secret of its events")


def test_the_events_secret_of_a_manager_is_rotated_with_or_without_an_overlap(causeway: Causeway, path: Path) -> None:
    new = manager(events_url=EVENTS_URL)
    first = load(path, new)["managers"][0]["events_secret"]

    told = done("programme", "rotate-events-secret", str(new["id"]))
    assert signing(causeway, new["id"]) == [told["events_secret"], first]
    assert told["old_until"] == timestamp(causeway.clock.time() + output.OVERLAP)

    spoken = run("programme", "rotate-events-secret", str(new["id"]), "--overlap", "0").stdout
    (alone,) = signing(causeway, new["id"])
    assert f"manager {new['id']}: {alone}\n" in spoken
    assert spoken.endswith("It signs from now on, alone.\n")


def test_rotate_events_secret_without_an_events_url_is_refused() -> None:
    assert refused("programme", "rotate-events-secret", "2").startswith("programme manager 2 has no Events URL")


def test_rotate_key_adds_a_credential_key_and_drop_key_removes_the_older_key(causeway: Causeway, path: Path) -> None:
    new = manager()
    first = load(path, new)["managers"][0]["credentials"]["app"]
    assert refused("programme", "drop-key", str(new["id"]), "app").startswith("app has only one live key")

    told = run("programme", "rotate-key", str(new["id"]), "app").stdout
    second = dict(re.findall(r"^  (access_\w+) +(\w+)$", told, re.MULTILINE))
    assert list(second) == ["access_api_id", "access_api_key"]

    def live() -> list[bool]:
        both = (first, first | second)
        checks = causeway.another_process().cards.credentials.check
        return [checks(*(parts[part] for part in PARTS)) is not None for parts in both]

    assert live() == [True, True]
    assert done("programme", "drop-key", str(new["id"]), "app") == {"credential": "app", "keys": 1}
    assert live() == [False, True]


def test_reloading_the_demo_programme_changes_nothing() -> None:
    assert done("programme", "load", str(file.DEMO))["changed"] is False
