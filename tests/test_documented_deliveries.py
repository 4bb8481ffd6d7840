"""The documents agree with the code on deliveries, events and deferred calls."""

import http.client
import re
import time
from itertools import chain
from typing import Any

from chalicelib.bootstrap import PLANS
from chalicelib.cards import container as cards
from chalicelib.delivery import (
    client_events,
    delivery_plan,
    delivery_record,
    receiver_slots,
    recorded_exchange,
    sealed_bodies,
    sweeper,
)
from chalicelib.foundation import jsontext
from chalicelib.foundation.aws.queues import Queue
from chalicelib.foundation.crypto import event_signing
from chalicelib.foundation.dynamodb import sharded_index
from chalicelib.foundation.http import deadline_connections, outbound
from chalicelib.openbanking import delivery_plans as openbanking_plans
from chalicelib.openbanking.bank_client.bank_circuits import FAILURES
from chalicelib.openbanking.bank_client.bank_failures import OPEN_SECONDS
from chalicelib.openbanking.protocol import own_answers, refusals
from chalicelib.website import delivery_plans as mail_plans
from infra.render.openapi.models import model_of
from infra.render.openapi.own_calls import ACCEPTED_REQUEST
from tests.kit.documents import (
    BANK,
    DATA,
    DEFERRED,
    DELIVERY,
    OPERATIONS,
    REQUESTS,
    ROOT,
    blocks,
    rows,
    section,
    tables,
)

# -- Deliveries


def flowing(text: str) -> str:
    return re.sub(r"\s+", " ", text)


def seconds(text: str) -> list[int]:
    """Return the durations in a text such as ``5 s, 30 min``, in seconds."""
    units = {"s": 1, "min": 60, "h": 3600, "days": 24 * 3600}
    return [int(number) * units[unit] for number, unit in re.findall(r"(\d+) (s|min|h|days)\b", text)]


def test_docs_list_exactly_the_kinds_of_deliveries_with_their_retry_plans() -> None:
    found = tables(section(DELIVERY, "## Attempts"))
    kinds = next(table[2:] for table in found if table[0][0] == "Kind")
    plans = next(table[2:] for table in found if table[0][0] == "Plan")

    assert sorted(row[0] for row in kinds) == sorted(PLANS)
    assert sorted(PLANS) == sorted(chain(openbanking_plans.PLANS, cards.PLANS, mail_plans.PLANS))
    assert sorted(name for row in plans for name in row[0].split(", ")) == sorted(PLANS)
    for names, waits, lasts, kept in plans:
        for plan in (PLANS[name] for name in PLANS if name in names.split(", ")):
            assert seconds(waits) == list(plan.waits)
            assert (seconds(lasts), seconds(kept)) == ([plan.lifetime], [plan.retention])
            assert ("beginning" in kept, "end" in kept) == (plan.has_caller, not plan.has_caller)


def test_docs_state_the_retry_waits_of_events_and_reads() -> None:
    (events,) = [row[1:] for row in rows(section(DELIVERY, "## Receive an event")) if row[0].startswith("Wait,")]
    (reads,) = re.findall("Waits between attempts of a read: (.*?), each", DEFERRED)
    first, *later = PLANS["relay"].waits

    assert seconds(", ".join(events)) == list(PLANS["event"].waits) == list(PLANS["revoke_token"].waits)
    assert seconds(reads) == list(dict.fromkeys((first, *later)))


def test_docs_state_the_numeric_limits_of_deliveries() -> None:
    text, (wait,) = flowing(DELIVERY), PLANS["payment"].waits

    assert f"each for {receiver_slots.SLOTS} parallel attempts (slots)" in text
    assert f"A claim ends after {delivery_record.CLAIMED_SECONDS} s" in text
    assert (
        f"took {receiver_slots.LONG_SECONDS} s or longer the slot is not used for {receiver_slots.RESTING_SECONDS} s"
        in text
    )
    assert f"Waits of up to {Queue.LONGEST_DELAY} s" in text
    assert f"the last {delivery_record.HISTORY} attempts are kept" in text
    assert f"stops at {sweeper.BACKLOG} waiting messages" in flowing(OPERATIONS)
    assert f"nothing is added while {sweeper.BACKLOG:,} messages wait" in text
    most = PLANS["event"].max_postponement // 60
    waits = f"after about {delivery_plan.SHORTEST_POSTPONEMENT} s and later up to {most} min"
    assert f"{waits} (`relay`, `payment`: {PLANS['relay'].max_postponement} s)" in text
    assert f"spread over {sharded_index.SHARDS} shards" in flowing(DATA)
    assert f"parts of at most {sealed_bodies.PART_BYTES} bytes" in DATA
    assert f"At most {receiver_slots.SLOTS} events are sent to one receiver in parallel" in text
    assert re.findall(
        "At one bank, at most ([0-9]+) notices, ([0-9]+) deferred reads and ([0-9]+) ", flowing(BANK)
    ) == [(str(receiver_slots.SLOTS),) * 3]
    assert f"Retried once, about {wait} s later" in DEFERRED
    assert {plan.lifetime for plan in (PLANS["relay"], PLANS["payment"])} == {5 * 60}
    assert "| 5 minutes after the 202 |" in DEFERRED


def test_docs_state_the_waiting_times_of_the_sweeper_job() -> None:
    first, second, third, longest = (wait // 60 for wait in delivery_plan.SWEEP_WAITS)

    text = section(DELIVERY, "## Sweeper")
    assert first == 2
    assert f"Two minutes after it was due, then after {second}, {third}, {longest}, {longest}, … more minutes" in text
    assert [name for name, plan in PLANS.items() if plan.has_caller] == ["relay", "payment"]


def test_docs_list_exactly_the_headers_whose_values_are_stored() -> None:
    text = section(OPERATIONS, "### Headers of an attempt")
    ((first, *_),) = [table[2:] for table in tables(text)]

    assert first[0].split(", ") == sorted(recorded_exchange.HARMLESS)
    assert f"`{recorded_exchange.MASK}`" in text
    assert f"at most {recorded_exchange.MOST} headers of a message" in flowing(text)
    assert (
        f"names up to {recorded_exchange.NAME_LENGTH} characters and values up to {recorded_exchange.VALUE_LENGTH}"
        in flowing(text)
    )
    assert f"| {client_events.LOOKED_THROUGH}, the latest |" in OPERATIONS


def test_docs_state_the_stored_length_of_a_response_body() -> None:
    text = flowing(section(OPERATIONS, "### Answer to an attempt"))

    assert f"first {recorded_exchange.MAX_RECORDED_BYTES} bytes" in text
    assert f"`{recorded_exchange.MASK}`" in text
    assert {kind for kind, plan in PLANS.items() if plan.keeps_replies} == {"event", "relay", "payment"}


def test_docs_state_the_thresholds_of_the_circuit_breaker() -> None:
    text = section(REQUESTS, "### A bank that keeps failing")
    assert f"After {FAILURES} failures in a row" in text
    assert f"for {OPEN_SECONDS} s" in flowing(text)

    text = section(BANK, "### When the bank does not answer")
    assert f"| {FAILURES} times in a row" in text
    assert f"Pauses calls to the bank for {OPEN_SECONDS} s" in text


def test_docs_state_the_time_limits_of_a_call_for_tpps_and_banks() -> None:
    text = section(BANK, "### Answers")
    total, connect = int(outbound.TOTAL_SECONDS), int(deadline_connections.CONNECT_SECONDS)

    assert f"| Connecting | {connect} s |" in text
    assert f"| {total} s, however slowly" in text
    assert f"| {outbound.ANSWER_BYTES // 1_000_000} MB, not compressed" in text
    lines, length = vars(http.client)["_MAXHEADERS"], vars(http.client)["_MAXLINE"]
    assert f"At most {lines} lines of at most {length} bytes each" in text
    assert f"After {connect} s without a connection, or {total} s without a whole answer" in DELIVERY
    assert f"within {connect} s for the connection and {total} s in all" in REQUESTS


def test_docs_list_exactly_the_database_indexes() -> None:
    made = re.findall("IndexName: ([a-z-]+)", (ROOT / "infra/resources.yaml").read_text("utf-8"))
    text = DATA
    (table,) = [table[2:] for table in tables(text) if table[0][0] == "Index"]
    others = re.findall(r"`[a-z]+` \(`([a-z]+)`\)", text)

    assert sorted([*(name for row in table for name in row[0].split(", ")), *others]) == sorted(made)


def test_the_receiver_example_verifies_events_and_detects_duplicates() -> None:
    (example,) = [block for block in blocks(DELIVERY, "python") if "standardwebhooks" in block]
    printed: list[Any] = []
    names: dict[str, Any] = {"print": lambda *values: printed.append(values)}
    exec(compile(example, "docs/concepts/delivery.md", "exec"), names)  # noqa: S102 - our own document
    names["SECRET"] = event_signing.new_secret()
    body = b'{"type":"test","timestamp":"2026-11-21T13:00:00+00:00","data":{"message":"This is a test."}}'
    headers = event_signing.headers([names["SECRET"]], "id", int(time.time()), body)

    assert [names["receive"](headers, body) for _ in range(2)] == [204, 204]
    assert names["receive"](headers, body + b" ") == 400
    assert printed == [("test", {"message": "This is a test."})]


# -- Calls that are answered later, and events


def test_docs_show_the_202_response_of_a_deferred_call() -> None:
    (exchange,) = blocks(DEFERRED, "http")
    head, _, body = exchange.partition("\n\n")
    accepted = model_of(own_answers.Accepted).read(jsontext.loads(body)).model_dump()

    assert f"Location: {ACCEPTED_REQUEST.replace('{request_id}', accepted['request_id'])}\n" in head
    assert head.endswith("Preference-Applied: respond-async")


def test_docs_quote_the_error_for_a_payment_of_unknown_acceptance() -> None:
    (words,) = re.findall("`(it is unknown whether .*?)`", DEFERRED)

    assert words in refusals.ACCEPTANCE_UNKNOWN.sentence


def test_docs_list_the_headers_of_events() -> None:
    (table,) = [table[2:] for table in tables(section(DELIVERY, "## Receive an event")) if table[0][0] == "Header"]

    assert [row[0] for row in table] == list(event_signing.headers([event_signing.new_secret()], "id", 0, b""))
