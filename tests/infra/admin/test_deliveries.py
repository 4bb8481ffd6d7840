"""The commands that list, show and resend deliveries."""

import itertools

import pytest

from chalicelib.delivery.delivery_record import update_due_time
from chalicelib.delivery.outcomes import Undeliverable
from chalicelib.foundation.clock import timestamp
from chalicelib.foundation.http.outbound import Reply
from chalicelib.foundation.identifiers import new_uuid
from infra.admin import connection, output
from infra.admin.output import CommandRefused
from tests.causeway import Causeway
from tests.delivery.conftest import Receiver, worker_for
from tests.infra.admin.command_line import done, refused, run

ALPHA, BETA = "ALPHGB21", "BETADEF1"
SECRET = "what-nobody-is-shown"
COMMANDS = ("list", "show", "resend", "resend-failed")
NOW = 1_772_442_000


@pytest.fixture(autouse=True)
def connected(causeway: Causeway, monkeypatch: pytest.MonkeyPatch) -> Causeway:
    monkeypatch.setattr(connection, "connect", lambda: causeway.hub)
    causeway.queued()  # what other tests left behind
    return causeway


def recorded(causeway: Causeway, bic: str = ALPHA) -> str:
    client_id = causeway.tpp.client_id
    made = causeway.hub.delivery.outbox.record(
        "event", "test", receiver=f"client#{client_id}", bic=bic, client_id=client_id, consent_id=None, body=SECRET
    )
    causeway.hub.store.transact(made.operations)
    return made.delivery_ids[0]


def recorded_for_manager(causeway: Causeway) -> str:
    made = causeway.hub.delivery.outbox.record(
        "card_event", "card.created", receiver="manager#1", manager_id=1, body=SECRET
    )
    causeway.hub.store.transact(made.operations)
    return made.delivery_ids[0]


def failed(causeway: Causeway, bic: str = ALPHA, said: str = "gone") -> str:
    delivery_id = recorded(causeway, bic)
    worker_for(causeway, Receiver(failures=[Undeliverable(said, final=True, status=410)])).attempt(delivery_id)
    return delivery_id


@pytest.mark.parametrize("command", COMMANDS)
def test_delivery_command_help_shows_an_example_and_the_json_option(command: str) -> None:
    text = run("deliveries", command, "--help").stdout

    assert f".venv/bin/python -m infra.admin deliveries {command}" in text
    assert "--json" in text
    assert command in run("deliveries", "--help").stdout


def test_deliveries_list_filters_by_bank_client_state_and_time(causeway: Causeway) -> None:
    lost = failed(causeway, ALPHA)
    causeway.clock.advance(3600)
    due = recorded(causeway, BETA)

    def listed(*options: str) -> list[str]:
        return [row["delivery_id"] for row in done("deliveries", "list", *options)["deliveries"]]

    assert listed() == [lost, due]
    assert listed("--bank", ALPHA.lower()) == [lost]
    assert listed("--client", causeway.tpp.client_id, "--limit", "1") == [due]
    assert listed("--state", "failed") == [lost]
    assert listed("--state", "failed", "--since", "30m") == []
    assert listed("--state", "failed", "--since", timestamp(causeway.clock.time() - 3600)) == [lost]
    assert run("deliveries", "list", "--state", "delivered", "--bank", BETA).stdout == "There are no such deliveries.\n"
    assert lost in run("deliveries", "list").stdout


def test_the_operator_lists_displays_and_resends_deliveries_of_a_programme_manager(causeway: Causeway) -> None:
    recorded(causeway)
    delivery_id = recorded_for_manager(causeway)
    causeway.hub.delivery.worker.attempt(delivery_id)  # its set-up has no Events URL

    (row,) = done("deliveries", "list", "--manager", "1")["deliveries"]
    shown = done("deliveries", "show", delivery_id)["delivery"]

    assert row == shown
    assert shown["kind"] == "card_event"
    assert shown["topic"] == "card.created"
    assert shown["state"] == "failed"
    assert (shown["manager_id"], shown["receiver"], shown["bic"], shown["client_id"]) == (1, "manager#1", None, None)
    assert SECRET not in str(shown)
    assert done("deliveries", "list", "--manager", "2")["deliveries"] == []
    assert done("deliveries", "resend-failed", "--since", "1h", "--manager", "2")["resent"] == 0
    assert done("deliveries", "resend-failed", "--since", "1h", "--manager", "1")["resent"] == 1
    assert done("deliveries", "resend", delivery_id)["delivery"]["state"] == "due"


def test_deliveries_show_prints_attempts_but_not_the_payload(causeway: Causeway) -> None:
    delivery_id = failed(causeway, said="gone\x1b[2J\nfor good")

    shown = done("deliveries", "show", delivery_id)["delivery"]
    text = run("deliveries", "show", delivery_id).stdout

    assert shown["state"] == "failed"
    assert shown["attempts"] == 1
    assert shown["attempt_under_way"] is False
    assert (shown["next_attempt_at"], shown["failed_at"]) == (None, timestamp(causeway.clock.time()))
    (attempt,) = shown["history"]
    assert (attempt["at"], attempt["status"]) == (timestamp(causeway.clock.time()), 410)
    assert "410: gone [2J for good\n" in text
    assert SECRET not in text + str(shown)
    assert "claimed_by" not in shown


def test_deliveries_show_prints_attempt_headers_and_masks_secrets(causeway: Causeway) -> None:
    causeway.tpp.set_events_url()
    causeway.receiver.answers = [Reply(503, b"", {"Server": "nginx", "Set-Cookie": SECRET}, 0.01)]
    delivery_id = causeway.hub.openbanking.tpp_events.send_test(causeway.tpp.client)
    causeway.hub.delivery.worker.attempt(delivery_id)

    (attempt,) = done("deliveries", "show", delivery_id)["delivery"]["history"]
    lines = run("deliveries", "show", delivery_id).stdout.splitlines()

    assert attempt["sent"]["webhook-id"] == delivery_id
    assert attempt["received"] == {"server": "nginx", "set-cookie": "***"}
    shown = [line.strip() for line in lines if line.strip().startswith((">", "<"))]
    assert shown == [
        "> content-type: application/json",
        f"> webhook-id: {delivery_id}",
        f"> webhook-timestamp: {causeway.clock.time()}",
        "> webhook-signature: ***",
        "< server: nginx",
        "< set-cookie: ***",
    ]


def test_a_delivery_in_progress_has_no_next_attempt_and_cannot_be_resent(causeway: Causeway) -> None:
    delivery_id = recorded(causeway)
    assert done("deliveries", "show", delivery_id)["delivery"]["next_attempt_at"] == timestamp(causeway.clock.time())

    assert causeway.hub.delivery.worker.begin(delivery_id) is not None

    shown = done("deliveries", "show", delivery_id)["delivery"]
    assert (shown["attempt_under_way"], shown["next_attempt_at"]) == (True, None)
    assert (
        refused("deliveries", "resend", delivery_id)
        == "an attempt is in progress; if it fails, it is retried automatically"
    )


@pytest.mark.parametrize(
    ("succeeds", "said", "state"),
    [(True, "has just been delivered by an attempt in progress", "delivered"), (False, "is being sent again", "due")],
)
def test_resend_waits_for_the_attempt_in_progress(
    causeway: Causeway, monkeypatch: pytest.MonkeyPatch, succeeds: bool, said: str, state: str
) -> None:
    delivery_id, pauses = recorded(causeway), itertools.count()
    attempt = causeway.hub.delivery.worker.begin(delivery_id)
    assert attempt is not None

    worker = worker_for(causeway, Receiver(failures=[] if succeeds else [Undeliverable("busy", status=503)]))

    def pause(_: float) -> None:
        if next(pauses) == 30:
            worker.carry_out(attempt)

    monkeypatch.setattr(causeway.hub.store, "pause", pause)

    assert run("deliveries", "resend", delivery_id).stdout.startswith(f"{delivery_id} {said}.\n")
    assert causeway.delivery(delivery_id).state == state


def test_deliveries_resend_queues_a_failed_delivery(causeway: Causeway) -> None:
    delivery_id = failed(causeway)

    assert done("deliveries", "resend", delivery_id)["delivery"]["state"] == "due"

    assert causeway.queued() == [delivery_id]
    assert f"deliveries show {delivery_id}" in run("deliveries", "resend", delivery_id).stdout


def test_deliveries_resend_queues_all_pending_deliveries_of_a_receiver(causeway: Causeway) -> None:
    delivery_id = recorded(causeway)
    receiver = causeway.delivery(delivery_id).receiver.partition("#")
    causeway.hub.store.transact([update_due_time(causeway.delivery(delivery_id), causeway.clock.time() + 36_000)])
    causeway.queued()
    options = (f"--{receiver[0]}", receiver[2])

    assert done("deliveries", "resend", "--manager", "1") == {"resent": 0, "skipped": 0}
    assert run("deliveries", "resend", *options).stdout == "1 delivery is being sent now.\n"
    assert causeway.queued() == [delivery_id]
    assert done("deliveries", "resend", *options) == {"resent": 0, "skipped": 0}


@pytest.mark.parametrize("arguments", [(), ("--bank", ALPHA, "--manager", "1"), ("some-id", "--bank", ALPHA)])
def test_deliveries_resend_accepts_either_an_id_or_one_receiver(arguments: tuple[str, ...]) -> None:
    assert "pass an id, or one of --bank, --client and --manager" in run("deliveries", "resend", *arguments).stderr


def test_resend_failed_queues_all_deliveries_that_failed_since_a_time(causeway: Causeway) -> None:
    before = failed(causeway)
    causeway.clock.advance(7200)
    lost = [failed(causeway, bic) for bic in (ALPHA, BETA)]

    assert done("deliveries", "resend-failed", "--since", "1h", "--bank", BETA)["resent"] == 1
    assert causeway.queued() == lost[1:]
    assert run("deliveries", "resend-failed", "--since", "1h").stdout == "1 delivery is sent again.\n"
    assert causeway.queued() == lost[:1]
    assert run("deliveries", "resend-failed", "--since", "1h").stdout == "0 deliveries are sent again.\n"
    assert causeway.delivery(before).state == "failed"


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("list", "--bank", "nonsense!"), "bic"),
        (("list", "--client", "nobody"), "no client has the id nobody: `clients list` shows them"),
        (("list", "--manager", "77"), "no programme manager has the id 77: `programme show` lists them"),
        (
            ("list", "--state", "delivered"),
            "completed deliveries can be searched only by bank, client or programme manager",
        ),
        (("list", "--since", "yesterday"), "'yesterday' is not a time: use a timestamp such as"),
        (("resend-failed", "--since", "2999-01-01"), "2999-01-01 is in the future"),
        (("show", "nothing"), "no delivery has the id nothing"),
        (("resend", "nothing"), "no delivery has the id nothing"),
    ],
)
def test_invalid_delivery_arguments_are_rejected_with_a_one_line_error_message(
    arguments: tuple[str, ...], sentence: str
) -> None:
    assert sentence in refused("deliveries", *arguments)


def test_resending_a_payment_delivery_is_rejected(causeway: Causeway) -> None:
    made = causeway.hub.delivery.outbox.record(
        "payment", "/tpp/payments", body="{}", receiver=f"bank#{ALPHA}", bic=ALPHA, client_id="one"
    )
    causeway.hub.store.transact(made.operations)

    assert "cannot be resent" in refused("deliveries", "resend", made.delivery_ids[0])


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("45s", NOW - 45),
        ("30m", NOW - 1800),
        (" 2h ", NOW - 7200),
        ("3d", NOW - 3 * 86400),
        ("999999d", 0),
        ("2026-03-02T09:00:00Z", NOW),
        ("2026-03-02T09:00:00", NOW),
        ("2026-03-02T10:00:00+01:00", NOW),
        ("2026-03-02", NOW - 9 * 3600),
    ],
)
def test_parse_time_accepts_timestamps_and_time_spans(text: str, seconds: int) -> None:
    assert output.parse_time(text, NOW) == seconds


@pytest.mark.parametrize("text", ["", "2", "h", "-2h", "2 h", "2026-13-01", "now", "1e9s", "٣h"])
def test_parse_time_refuses_invalid_times(text: str) -> None:
    with pytest.raises(CommandRefused, match="is not a time"):
        output.parse_time(text, NOW)


def test_deliveries_list_accepts_a_lowercase_bic_with_branch_code_xxx(causeway: Causeway) -> None:
    bic = causeway.banks[1].bic

    assert done("deliveries", "list", "--bank", f"{bic.lower()}xxx") == done("deliveries", "list", "--bank", bic)


def test_deliveries_of_an_unknown_bank_or_client_are_rejected() -> None:
    for command in (("list",), ("resend-failed", "--since", "1d")):
        assert refused("deliveries", *command, "--bank", "NOSUGB21").startswith("no bank has the BIC NOSUGB21")
        assert refused("deliveries", *command, "--client", new_uuid()).startswith("no client has the id")
