"""``causeway listen`` on the whole stack forwards real events despite every failure of an event delivery."""

import random
import re
import sys
import threading
import time
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from causeway import tpp as sdk
from chalicelib import bootstrap
from chalicelib.openbanking.protocol.tpp_calls import EventsQuery
from chalicelib.openbanking.records.client_record import Client
from infra.psu_browser import confirm_payment
from tests.e2e.sdk_processes import ForwardReceiver, ListenProcess, environment, listening, receiving
from tests.e2e.sdk_users import browser, consent_of, order
from tests.kit.documents import blocks
from tests.kit.lossy_proxy import lossy_proxy
from tests.kit.time import PATIENCE_SECONDS, wait_for

pytestmark = [pytest.mark.e2e, pytest.mark.sdk]
README = (Path(__file__).parents[2] / "sdk" / "README.md").read_text("utf-8")


@dataclass(frozen=True)
class Poller:
    operator: bootstrap.Hub
    client: Client
    secret: str
    environ: dict[str, str]

    def cause(self, count: int) -> list[str]:
        """Create test events. Return their ids in event order, which can differ from the call order within a
        millisecond.
        """
        events = self.operator.openbanking.tpp_events
        caused = {events.send_test(self.client) for _ in range(count)}
        listed = events.list_events(self.client, EventsQuery(limit=100))
        return [entry["id"] for entry in listed["events"] if entry["id"] in caused]


@pytest.fixture
def poller(stack: dict[str, Any], operator: bootstrap.Hub, tmp_path: Path) -> Poller:
    made = operator.openbanking.clients.create(owner="sdk@example.com", title="Poller", secret=True, events="poll")
    secret = str(made.secret)
    environ = environment(stack["base_url"], made.client.client_id, secret, tmp_path / "state.json")
    return Poller(operator, made.client, secret, environ)


def received(receiver: ForwardReceiver, ids: list[str]) -> None:
    wait_for(lambda: set(ids) <= set(receiver.ids), f"not all of {len(ids)} events came: {receiver.ids}")


def test_events_of_consents_and_payments_are_forwarded(stack: dict[str, Any], poller: Poller) -> None:
    with receiving() as receiver, listening(poller.environ, "--forward-to", receiver.url) as process:
        with sdk.Tpp(stack["base_url"], client_id=poller.client.client_id, client_secret=poller.secret) as tpp:
            consents = [consent_of(tpp, stack, bank) for bank in stack["banks"]]
            for consent in consents:
                paid = consent.pay(order(stack, consent.native.version()))
                confirm_payment(browser(stack, "/payments/callback"), paid.confirmation_url)
                assert sdk.is_paid(consent.wait_for_payment(paid.payment_id, timeout=PATIENCE_SECONDS))
                consent.revoke()
            recorded = [entry.id for entry in tpp.events()]
        received(receiver, recorded)
        secret, code = process.secret, process.interrupt()

    told = Counter((event["type"], event["data"]["consent_id"]) for event in receiver.verified(secret))
    for consent in consents:
        assert told["consent.authorised", consent.consent_id] == told["consent.revoked", consent.consent_id] == 1
        assert told["payment.status_changed", consent.consent_id] >= 1
    assert receiver.ids == recorded
    assert (code, process.lines[-1]) == (0, "Stopped. The next start goes on here.")
    assert sum(" 204 in " in line for line in process.lines) == len(recorded)


def test_a_listener_killed_before_a_response_forwards_the_event_again(poller: Poller) -> None:
    ids, release = poller.cause(4), threading.Event()

    def behaviour(event_id: str) -> int:
        if event_id == ids[1]:
            release.wait(PATIENCE_SECONDS)
        return 204

    with receiving() as receiver:
        receiver.behaviour = behaviour
        with listening(poller.environ, "--forward-to", receiver.url) as process:
            received(receiver, ids[:2])
            process.wait_for_line(f"{ids[0]}  204")
            process.kill()
        release.set()
        with listening(poller.environ, "--forward-to", receiver.url) as process:
            received(receiver, ids)

    assert receiver.ids == [ids[0], ids[1], ids[1], ids[2], ids[3]]


def test_a_killed_listener_duplicates_at_most_one_event_and_loses_none(poller: Poller) -> None:
    ids, chance, kills = poller.cause(40), random.Random(7), 0

    def behaviour(event_id: str) -> int:
        time.sleep(0.03)
        return 204

    with receiving() as receiver:
        receiver.behaviour = behaviour
        for part in (8, 16, 24, 32):
            with listening(poller.environ, "--forward-to", receiver.url) as process:
                received(receiver, ids[:part])
                time.sleep(chance.uniform(0, 0.06))
                process.kill()
                kills += 1
        with listening(poller.environ, "--forward-to", receiver.url) as process:
            received(receiver, ids)
            assert process.interrupt() == 0

    assert list(dict.fromkeys(receiver.ids)) == ids
    assert len(receiver.ids) - len(ids) <= kills


def test_an_interrupted_listener_awaits_the_response_and_the_next_run_repeats_no_event(poller: Poller) -> None:
    ids = poller.cause(3)

    def behaviour(event_id: str) -> int:
        time.sleep(0.3)
        return 204

    with receiving() as receiver:
        receiver.behaviour = behaviour
        with listening(poller.environ, "--forward-to", receiver.url) as process:
            received(receiver, ids[:2])
            assert process.interrupt() == 0
        with listening(poller.environ, "--forward-to", receiver.url):
            received(receiver, ids)

    assert receiver.ids == ids


def test_an_event_can_be_resent_while_another_process_listens(poller: Poller) -> None:
    ids = poller.cause(2)
    with receiving() as receiver, listening(poller.environ, "--forward-to", receiver.url) as process:
        received(receiver, ids)
        with listening(poller.environ, "--forward-to", receiver.url, "--resend", ids[0]) as again:
            assert again.wait() == 0
        with listening(poller.environ, "--forward-to", receiver.url) as second:
            assert second.wait() == 1
        more = poller.cause(1)
        received(receiver, more)

    assert receiver.ids == [*ids, ids[0], *more]
    assert receiver.verified(process.secret)
    assert again.lines[0].startswith(f"test  {ids[0]}  204 in ")
    assert "another causeway listen uses" in second.lines[-1]


def test_only_the_selected_event_types_are_forwarded(stack: dict[str, Any], poller: Poller) -> None:
    with sdk.Tpp(stack["base_url"], client_id=poller.client.client_id, client_secret=poller.secret) as tpp:
        consent_of(tpp, stack, stack["banks"][0]).revoke()
    ids = poller.cause(1)

    with receiving() as receiver:
        with listening(poller.environ, "--forward-to", receiver.url, "--types", "payment.*,t*") as process:
            received(receiver, ids)
        assert receiver.ids == ids
        assert [event["type"] for event in receiver.verified(process.secret)] == ["test"]


def test_a_receiver_receives_all_events_after_an_outage_and_a_failed_response(poller: Poller) -> None:
    with receiving() as receiver:
        port = receiver.server_port
    ids, url = poller.cause(2), f"http://127.0.0.1:{port}/events"

    with listening(poller.environ, "--forward-to", url) as process:
        process.wait_for_line("the receiver is away, waiting for it: no connection")
        with receiving(port) as receiver:
            receiver.behaviour = lambda event_id: 500 if len(receiver.ids) == 1 else 204
            received(receiver, ids)
            process.wait_for_line(f"{ids[1]}  204")

    assert receiver.ids == [ids[0], ids[0], ids[1]]
    assert sum("is away" in line for line in process.lines) == 1
    process.wait_for_line(f"{ids[0]}  500, again in 1 s")


def test_a_listener_waits_for_an_unreachable_hub(stack: dict[str, Any], poller: Poller) -> None:
    with receiving() as receiver, lossy_proxy(stack["base_url"]) as proxy:
        environ = poller.environ | {"CAUSEWAY_BASE_URL": proxy.url}
        proxy.plan = lambda path, attempts: "drop"
        with listening(environ, "--forward-to", receiver.url) as process:
            process.wait_for_line("the hub is away, waiting for it")
            ids = poller.cause(2)
            proxy.plan = lambda path, attempts: "pass"
            received(receiver, ids)
            assert process.interrupt() == 0

    assert receiver.ids == ids
    assert sum("the hub is away" in line for line in process.lines) == 1


def test_each_state_file_has_a_separate_secret_and_cursor(poller: Poller, tmp_path: Path) -> None:
    ids = poller.cause(1)
    with receiving() as receiver, listening(poller.environ, "--forward-to", receiver.url) as process:
        received(receiver, ids)
        other = poller.environ | {"CAUSEWAY_LISTEN_STATE": str(tmp_path / "other.json")}
        with listening(other, "--forward-to", receiver.url) as second:
            received_again(receiver, 2)
            secrets = {process.secret, second.secret}

    assert len(secrets) == 2
    assert receiver.ids == ids * 2


def received_again(receiver: ForwardReceiver, count: int) -> None:
    wait_for(lambda: len(receiver.ids) >= count, "the event did not come again")


def test_the_commands_of_the_readme_print_the_documented_output(stack: dict[str, Any], poller: Poller) -> None:
    (commands,) = (block for block in blocks(README, "sh") if "causeway listen" in block)
    (shown,) = (block for block in blocks(README, "text") if "Signing secret" in block)
    with sdk.Tpp(stack["base_url"], client_id=poller.client.client_id, client_secret=poller.secret) as tpp:
        consent_of(tpp, stack, stack["banks"][0])

    with receiving() as receiver:
        replaced = {
            "https://hub.example": stack["base_url"],
            "CLIENT_ID=client ": f"CLIENT_ID={poller.client.client_id} ",
            "the client client ": f"the client {poller.client.client_id} ",
            "CLIENT_SECRET=secret": f"CLIENT_SECRET={poller.secret}",
            "http://127.0.0.1:9701/events": receiver.url,
            "causeway listen": f"exec {sys.executable} -m causeway listen",
        }
        for old, new in replaced.items():
            commands, shown = commands.replace(old, new), shown.replace(old, new)
        process = ListenProcess(poller.environ, command=["bash", "-c", commands])
        process.wait_for_line("consent.authorised")
        assert process.interrupt() == 0

    pattern = re.escape(shown.strip()).replace("…", ".+")
    assert re.fullmatch(pattern, "\n".join(process.printed[:3])), process.printed


def test_a_listener_with_wrong_credentials_exits_with_1_and_prints_one_line(poller: Poller) -> None:
    environ = poller.environ | {"CAUSEWAY_CLIENT_SECRET": "wrong"}
    with receiving() as receiver, listening(environ, "--forward-to", receiver.url) as process:
        code = process.wait()

    assert code == 1
    assert process.lines[-1].startswith("causeway: 401 WRONG_CREDENTIALS")
