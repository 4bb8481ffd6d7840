"""Tests of the leak search for card data: every planted leak is detected, and no false leak is reported."""

import base64
import json
import random
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psec
import pytest

from chalicelib import bootstrap
from chalicelib.cards.card_data import numbers
from chalicelib.delivery import event_sender
from chalicelib.foundation import log
from chalicelib.foundation.dynamodb.store import Put, Update
from chalicelib.foundation.settings import Settings
from tests.cards.leak_search import MANY, Leak, Seen, Written, leaks
from tests.cards.leak_watch import Watch, add_lines, opened, read_in_stack
from tests.causeway import START, Causeway
from tests.kit.logs import Lines
from tests.kit.time import ManualClock, count_statements

CARD = 987_001
PAN, PIN, CVC2, PASSWORD = "4111117260385914", "7305", "946", "Kx9!quiet-Otter"
VALUE = "830472"
ISO_1 = f"14{PIN}0A1B2C3D4E"
BLOCKS = {
    "format 0": psec.pinblock.encode_pinblock_iso_0(PIN, PAN).hex(),
    "format 1": ISO_1,
    "format 2": psec.pinblock.encode_pinblock_iso_2(PIN).hex(),
    "format 3": psec.pinblock.encode_pinblock_iso_3(PIN, PAN).hex().upper(),
    "format 4": psec.pinblock.encode_pin_field_iso_4(PIN).hex(),
}
ANYWHERE: dict[str, tuple[str, Any]] = {
    "a number": ("card number", PAN),
    "a number as a number": ("card number", int(PAN)),
    "a number in groups": ("card number", "card 4111 1172 6038 5914 refused"),
    "a number in a sentence": ("card number", f"no card has {PAN}."),
    "a number in base64": ("card number", base64.b64encode(PAN.encode()).decode()),
    "an answer in base64": ("card number", base64.b64encode(json.dumps({"x": "y", "pan": PAN}).encode()).decode()),
    "a number in hexadecimal": ("card number", PAN.encode().hex()),
    "a number in bytes": ("card number", b"\x00\x01" + PAN.encode()),
    "a number in packed bytes": ("card number", bytes.fromhex(PAN)),
    "a number that names a member": ("card number", {PAN: 1}),
    "a password": ("ACS password", PASSWORD),
    "a password in a sentence": ("ACS password", f"the password {PASSWORD}, changed"),
    "a password in JSON": ("ACS password", json.dumps([{"it": PASSWORD}])),
    "a password in base64": ("ACS password", base64.urlsafe_b64encode(f"?{PASSWORD}?".encode()).decode()),
    "a password in bytes": ("ACS password", PASSWORD.encode()),
    "a PIN by its name": ("pin", {"members": {"card_pin": PIN}}),
    "a PIN as a number": ("pin", {"pin": int(PIN)}),
    "a PIN in JSON": ("pin", json.dumps({"data": {"pin": PIN}})),
    "a PIN in a sentence": ("pin", f"wrong PIN: {PIN}"),
    "a CVC2 by its name": ("cvc2", {"card_cvc2": CVC2}),
    "a CVC2 in JSON": ("cvc2", json.dumps({"cvc2": CVC2})),
    "a CVC2 in a sentence": ("cvc2", f"cvc2={CVC2} does not match"),
    "a validation value by its name": ("validation_value", {"validation_value": VALUE}),
    "a validation value in JSON": ("validation_value", json.dumps({"data": {"validation_value": VALUE}})),
    "a validation value in a sentence": ("validation_value", f"validation value {VALUE} sent"),
    **{f"a PIN block of {name}": ("PIN block", block) for name, block in BLOCKS.items()},
    **{f"a PIN block of {name} in bytes": ("PIN block", bytes.fromhex(block)) for name, block in BLOCKS.items()},
    "a PIN block in base64": ("PIN block", base64.b64encode(bytes.fromhex(BLOCKS["format 0"])).decode()),
}


@pytest.fixture
def seen() -> Seen:
    seen = Seen()
    noted = {"pan": PAN, "pin": PIN, "cvc2": CVC2, "acs_password": PASSWORD, "validation_value": VALUE}
    for name, text in noted.items():
        seen.note(name, text, CARD)
    return seen


@pytest.fixture
def hub(shared_causeway: Causeway) -> bootstrap.Hub:
    shared_causeway.forget_journeys()
    hub = bootstrap.Hub(Settings.from_environment({"STAGE": "local"}), ManualClock(START))
    hub.keyring.initialise()
    hub.cards.keys.initialise()
    return hub


@pytest.fixture
def watch() -> Iterator[Watch]:
    """Yield a separate leak watch, so that the planted leaks do not fail this test."""
    watch = Watch()
    with watch.installed():
        yield watch


@pytest.mark.parametrize(("kind", "value"), ANYWHERE.values(), ids=ANYWHERE)
def test_the_leak_search_finds_card_data_in_every_encoding(seen: Seen, kind: str, value: Any) -> None:
    written = Written()
    written.add("cards", {"owner": "card#987001", "version": 3})
    written.add("cards", {"owner": "note#12", "note": value})

    assert {found.kind for found in leaks(written, seen)} == {kind}
    assert {found.place.split(".")[1].split("{")[0] for found in leaks(written, seen)} == {"note"}


@pytest.mark.parametrize(
    "form",
    [
        "a number",
        "a number in groups",
        "a number in a sentence",
        "a password",
        "a PIN by its name",
        "a CVC2 by its name",
    ]
    + [f"a PIN block of format {number}" for number in (0, 2, 3, 4)],
)
def test_the_leak_search_finds_plain_text_card_data_among_very_many_cards(seen: Seen, form: str) -> None:
    generator = random.Random(2026)
    for card in range(2 * MANY):
        seen.note("pan", numbers.new_pan("411111", 16), card)
        seen.note("pin", f"{generator.randrange(10_000):04}", card)
        seen.note("acs_password", generator.randbytes(6).hex())
    kind, value = ANYWHERE[form]
    written = Written()
    written.add("cards", {"owner": "note#12", "claim": generator.randbytes(2000).hex(), "note": value})

    assert {found.kind for found in leaks(written, seen)} == {kind}


def test_a_leak_report_omits_the_leaked_value(seen: Seen) -> None:
    written = Written()
    written.add("cards", {"note": PAN})

    assert [str(found) for found in leaks(written, seen)] == ["a card number in clear at cards.note"]


# -- where


def put(hub: bootstrap.Hub) -> None:
    hub.store.put("cards", {"owner": "leak#1", "part": "leak", "note": {"inner": [PAN]}})


def update(hub: bootstrap.Hub) -> None:
    hub.store.update("cards", {"owner": "leak#1", "part": "leak"}, set={"note": PAN, "other": 1})


def transaction(hub: bootstrap.Hub) -> None:
    key = {"owner": "leak#2", "part": "leak"}
    hub.store.transact(
        [Put("cards", key | {"seen": 1}), Update("cards", {"owner": "leak#1", "part": "leak"}, set={"note": PAN})]
    )


def stored_answer(hub: bootstrap.Hub) -> None:
    answer = json.dumps({"status": "success", "data": {"pan": PAN}})
    hub.store.put("idempotency", {"claim": "leak#1", "answer": answer.encode()})


def message(hub: bootstrap.Hub) -> None:
    hub.delivery.queue.send(json.dumps({"notice": PAN}))


def messages(hub: bootstrap.Hub) -> None:
    hub.delivery.queue.send_all(["first", f"second {PAN}"])


def event(hub: bootstrap.Hub) -> None:
    event_sender.body("three_d_secure.requested", 0, {"auth_request_id": 100000066, "note": PAN})


def line(hub: bootstrap.Hub) -> None:
    log.info("card made", number=PAN)


def line_of_a_defect(hub: bootstrap.Hub) -> None:
    log.defect(f"no card {PAN}", ValueError())


@pytest.mark.parametrize(
    ("leak", "place"),
    [
        (put, "causeway-local-cards.note.inner"),
        (update, "causeway-local-cards.note"),
        (transaction, "causeway-local-cards.note"),
        (stored_answer, "causeway-local-idempotency.answer"),
        (message, "causeway-local-deliveries.MessageBody{}.notice"),
        (messages, "causeway-local-deliveries.Entries.MessageBody"),
        (event, "event{}.data.note"),
        (line, "log, 'card made'.number"),
        (line_of_a_defect, "log, 'no card #'.message"),
    ],
)
def test_a_planted_leak_is_found_in_tables_queues_stored_responses_and_logs(
    hub: bootstrap.Hub, watch: Watch, lines: Lines, leak: Callable[[bootstrap.Hub], None], place: str
) -> None:
    watch.note("pan", PAN)
    leak(hub)

    assert Leak("card number", place) in watch.found()
    assert watch.found() == [], "once told, it is not held against the next test"


def test_the_leak_search_finds_only_an_unencrypted_3ds_value_in_an_event(watch: Watch) -> None:
    for value, found in ((VALUE, {"event", "event{}.data.validation_value"}), ("hx0Q3A+w==" * 50, set())):
        watch.note("validation_value", VALUE)
        event_sender.body("three_d_secure.requested", 0, {"auth_request_id": 100000066, "validation_value": value})

        assert {leak.place for leak in watch.found()} == found


def test_the_final_leak_search_in_the_tables_reports_plain_text_card_data(hub: bootstrap.Hub, watch: Watch) -> None:
    key = {"owner": "leak#3", "part": "leak"}
    hub.store.put("cards", key | {"note": f"{PAN}"})
    watch.everything.note("pan", PAN)

    try:
        with pytest.raises(AssertionError, match="a card number in clear at causeway-local-cards"):
            watch.search_tables()
    finally:
        for owner in ("leak#1", "leak#2", "leak#3"):
            hub.store.delete("cards", {"owner": owner, "part": "leak"})
        hub.store.delete("idempotency", {"claim": "leak#1"})
    watch.search_tables()


def test_the_leak_search_records_card_data_that_the_service_encrypts_decrypts_and_computes(
    hub: bootstrap.Hub, watch: Watch
) -> None:
    data = hub.cards.card_data
    pan = numbers.new_pan("411111", 16)
    cvc2 = data.cvc2(pan, year=2029, month=12, version=1)
    data.open(CARD, "pin", data.seal(CARD, "pin", PIN))
    data.seal(CARD, "pan", pan)
    hub.vault.seal(json.dumps({"data": {"acs_password": PASSWORD}}), "idempotency/1")

    noted = {"pan": {pan}, "pin": {PIN}, "cvc2": {cvc2}, "acs_password": {PASSWORD}}
    assert {name: texts for name, texts in watch.seen.fields.items() if texts} == noted
    assert list(watch.seen.pairs()) == [(pan, PIN)]


def test_the_leak_search_records_card_data_in_requests_and_responses(watch: Watch) -> None:
    asked = {"action": "activateCard", "card_pan": PAN, "card_cvc2": CVC2, "card_expiration_year": 2029}
    shown = {"pin": PIN, "acs_password": PASSWORD, "pan": "411111******5914", "validation_value": VALUE}
    answered = {"status": "success", "data": shown}

    for path, body, answer in (
        ("/api", json.dumps(asked), json.dumps(answered)),
        ("/simulator", "{", ""),
        ("/tpp/pin", json.dumps({"pin": "1234"}), ""),
    ):
        watch._asked({"requestContext": {"resourcePath": path}, "body": body}, {"body": answer})
    short = {"pin": {PIN}, "cvc2": {CVC2}, "validation_value": {VALUE}}
    assert watch.seen.fields == {"pan": {PAN}, "acs_password": {PASSWORD}, **short}


def test_encrypted_card_data_is_not_reported_as_a_leak(hub: bootstrap.Hub, watch: Watch, lines: Lines) -> None:
    key = {"owner": f"card#{CARD}", "part": "card"}
    sealed = {"pan": hub.cards.card_data.seal(CARD, "pan", PAN), "pin": hub.cards.card_data.seal(CARD, "pin", PIN)}
    hub.store.put("cards", key | sealed | {"pvv": hub.cards.card_data.pvv(PAN, PIN, 1), "masked": numbers.mask(PAN)})
    log.info("card made", card_id=CARD)

    try:
        assert watch.found() == []
        assert opened(hub).fields["pan"] >= {PAN}
    finally:
        hub.store.delete("cards", key)


# -- the running stack


def test_the_leak_search_of_the_stack_finds_data_of_stored_cards_in_logs(
    hub: bootstrap.Hub, watch: Watch, tmp_path: Path
) -> None:
    key = {"owner": f"card#{CARD}", "part": "card"}
    members = {"pan": hub.cards.card_data.seal(CARD, "pan", PAN)}
    members |= {"acs_password": hub.cards.card_data.seal(CARD, "acs_password", PASSWORD)}
    hub.store.put("cards", key | members)
    printed, logged = tmp_path / "log", tmp_path / "stack.log.jsonl"
    printed.write_text("Ready.\n")
    logged.write_text(json.dumps({"message": "request", "card": PASSWORD}) + "\n")
    content = {"environment": {"STAGE": "local"}, "log": str(logged)}

    try:
        assert read_in_stack(content, printed) == [Leak("ACS password", "log, 'request'.card")]
        printed.write_text(f"Traceback: {PAN}\n")
        assert Leak("card number", "log") in read_in_stack(content, printed)
    finally:
        hub.store.delete("cards", key)


def test_the_leak_search_of_the_stack_fails_if_card_data_cannot_be_decrypted(hub: bootstrap.Hub) -> None:
    key = {"owner": "card#5", "part": "card"}
    hub.store.put("cards", key | {"pan": b"sealed in another way"})

    try:
        with pytest.raises(AssertionError, match="does not know any more what opens their data"):
            opened(hub)
    finally:
        hub.store.delete("cards", key)


# -- few digits


def window(watch: Watch, generator: random.Random, leak: str = "", times: int = 1) -> list[Leak]:
    for _ in range(times):
        cvc2, pin = f"{generator.randrange(1000):03}", f"{generator.randrange(10_000):04}"
        watch.note("pan", numbers.new_pan("411111", 16))
        watch.note("cvc2", cvc2)
        watch.note("pin", pin)
        members = {
            "card_id": generator.randrange(1000, 2000),
            "expiry_year": 2029,
            "currency": 978,
            "amount": generator.randrange(10_000),
            "milliseconds": generator.randrange(1000),
            "note": f"{generator.randrange(1000)} of {generator.randrange(10_000)} at 2026-03-02T09:00:00+00:00",
            "claim": generator.randbytes(32).hex(),
            "sealed": generator.randbytes(200),
        }
        leaked = {"member": {"code": cvc2}, "sentence": {"note": f"code {cvc2} is wrong."}, "": {}}[leak]
        watch._calls.append(("PutItem", {"TableName": "cards", "Item": members | leaked}))
        watch._lines.append(json.dumps({"message": "request", **members, "sealed": ""}))
    return watch.found()


def test_digits_that_match_card_data_by_chance_are_not_reported_as_a_leak() -> None:
    watch, generator = Watch(), random.Random(2026)

    assert [found for _ in range(400) for found in window(watch, generator)] == []
    assert [found for _ in range(10) for found in window(watch, generator, times=50)] == []


@pytest.mark.parametrize(("leak", "place"), [("member", "cards.code"), ("sentence", "cards.note: code #")])
def test_the_leak_search_finds_the_cvc2_of_every_card_in_a_member_of_any_name(leak: str, place: str) -> None:
    watch, generator = Watch(), random.Random(2026)
    assert [found for _ in range(50) for found in window(watch, generator)] == [], "the member was innocent before"

    assert [found for _ in range(5) for found in window(watch, generator, leak)][-1:] == [Leak("cvc2", place)]


def test_a_constant_number_is_not_reported_as_a_leak() -> None:
    watch = Watch()
    for _ in range(20):
        watch.note("pin", "7305")
        watch._calls.append(("PutItem", {"TableName": "cards", "Item": {"amount": 7305}}))
        assert watch.found() == []


# -- the plugin


def test_a_leak_fails_the_test_that_caused_the_leak_and_the_run(tmp_path: Path) -> None:
    test = tmp_path / "test_leaking.py"
    test.write_text(
        "from chalicelib.cards.card_data import numbers\n"
        "from chalicelib.foundation import log\n\n"
        "def test_clean():\n    numbers.new_pan('411111', 16)\n\n"
        "def test_leaking():\n    log.info('made', number=numbers.new_pan('411111', 16))\n"
    )
    options = [
        "-p",
        "tests.cards.leak_watch",
        "-p",
        "no:cacheprovider",
        "--confcutdir",
        str(tmp_path),
        "-c",
        "/dev/null",
    ]
    command = [sys.executable, "-m", "pytest", *options, "--rootdir", str(tmp_path), str(test)]
    ended = subprocess.run(command, capture_output=True, text=True, check=False, cwd=Path(__file__).parents[2])

    assert ended.returncode == 1
    assert "2 passed, 1 error" in ended.stdout
    assert "a card number in clear at log, 'made'.number" in ended.stdout


def test_the_leak_search_executes_at_most_5000_statements_per_test_after_many_tests() -> None:
    watch, generator = Watch(), random.Random(2026)
    for _ in range(50):
        assert count_statements(lambda: window(watch, generator, times=3)) <= 5000


def test_the_leak_search_includes_log_lines_that_are_not_json(seen: Seen) -> None:
    written = Written()
    add_lines(written, ["Traceback (most recent call last):", f"  '{PAN}'", "[1]", '{"no": "message"}'])

    assert leaks(written, seen) == [Leak("card number", "log")]
