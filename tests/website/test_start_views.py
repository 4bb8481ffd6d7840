"""The start page of a user: clients, latest calls and errors, and the next steps."""

import re

import pytest

from chalicelib.foundation.http.outbound import Reply
from chalicelib.website.start_views import CLIENTS, RECEIVERS, STEPS
from tests.causeway import Causeway
from tests.kit.storage import record_calls
from tests.website.statistics_data import fill_activity
from tests.website.web_user import PAGE_BYTES, WebUser, attempt_due_deliveries


def steps(user: WebUser) -> list[str]:
    return re.findall(r'<li class="card">\s*<h3>.*?</svg>([^<]+)</h3>', user.last.text, re.DOTALL)


def section(user: WebUser, heading: str) -> str:
    return user.last.text.partition(f'aria-labelledby="{heading}"')[2].partition("</section>")[0]


def test_a_new_user_sees_steps_for_client_consent_and_call(user: WebUser) -> None:
    user.get("/")

    assert steps(user) == ["Create a client", "Get a consent", "Make a call"]
    assert section(user, "clients") == ""
    assert user.last.text.count(">Create a client</a>") == 1


@pytest.mark.parametrize("order", ["/tpp/payment_initiation", "/tpp/unified/bulk_payments"])
def test_completed_steps_are_replaced_by_further_steps(causeway: Causeway, user: WebUser, order: str) -> None:
    client_id = user.create_client("Budget Friend")
    user.get("/")
    assert steps(user) == ["Get a consent", "Make a call", "Make a payment"]
    user.get_tokens(client_id)
    user.get("/")
    assert steps(user) == ["Make a call", "Make a payment", "Receive events"]
    causeway.tpp.call("GET", "/tpp/banks", client_id=client_id)
    causeway.tpp.call("POST", order, {}, client_id=client_id)
    user.get("/")
    assert steps(user) == ["Receive events", "Compare banks", "Build your application"]


def test_the_start_page_shows_three_steps_even_if_all_steps_are_completed(causeway: Causeway, user: WebUser) -> None:
    client_id = user.create_client("Eventful", events_url=causeway.receiver.url)
    user.get_tokens(client_id)
    causeway.tpp.call("POST", "/tpp/payment_initiation", {}, client_id=client_id)
    user.get("/")

    assert steps(user) == ["Compare banks", "Build your application", "Look after consents"]
    assert len(steps(user)) == STEPS


def test_the_start_page_shows_clients_with_the_numbers_of_their_calls_and_errors(
    causeway: Causeway, user: WebUser
) -> None:
    client_id = user.create_client("Budget Friend")
    causeway.tpp.call("GET", "/tpp/banks", client_id=client_id)
    causeway.tpp.call("GET", "/tpp/consents?after=nothing", client_id=client_id)
    user.get("/")

    assert re.search(rf"Budget Friend {client_id} active 2 1 2 Mar 2026", user.text)
    assert "GET /tpp/banks" in section(user, "calls")
    assert "GET /tpp/consents" in section(user, "calls")
    assert "GET /tpp/consents" in section(user, "failures")
    assert "GET /tpp/banks" not in section(user, "failures")


def test_the_start_page_shows_only_the_newest_clients(causeway: Causeway, user: WebUser) -> None:
    for number in range(CLIENTS + 1):
        user.create_client(f"Client {number}")
        causeway.clock.advance(1)
    user.get("/")

    assert "Client 0" not in section(user, "clients")
    assert "Client 1" in section(user, "clients")
    assert f"These are the newest {CLIENTS} clients. All clients" in user.text


def test_a_complete_list_of_clients_has_no_link_to_all_clients(user: WebUser) -> None:
    for number in range(CLIENTS):
        user.create_client(f"Client {number}")
    user.get("/")

    assert "All clients" not in user.text


def test_the_start_page_shows_undeliverable_events(causeway: Causeway, user: WebUser, email: str) -> None:
    client_id = user.create_client("Eventful", events_url=causeway.receiver.url)
    path = user.send_test_event(client_id)
    user.get("/")
    assert section(user, "deliveries") == ""
    while causeway.delivery(path.rpartition("/")[2]).state == "due":
        causeway.receiver.answers = [Reply(503, b"", {}, 0.1)]
        attempt_due_deliveries(causeway)
        causeway.clock.advance(30 * 3600)
    user = WebUser.signed_in(causeway, email)
    user.get("/")

    assert f'href="{path}"' in section(user, "deliveries")
    assert "503" in section(user, "deliveries")


def test_the_start_page_does_not_show_clients_and_calls_of_other_users(causeway: Causeway, user: WebUser) -> None:
    other = WebUser.signed_in(causeway, "other@example.com")
    client_id = other.create_client("Foreign")
    causeway.tpp.call("GET", "/tpp/banks", client_id=client_id)
    user.create_client("Own")
    user.get("/")

    assert "Foreign" not in user.text
    assert "GET /tpp/banks" not in user.text


def test_the_start_page_makes_a_constant_number_of_storage_calls(causeway: Causeway, user: WebUser) -> None:
    for number in range(2 * CLIENTS):
        client_id = user.create_client(f"Client {number}", events_url=causeway.receiver.url)
        for _ in range(3):
            causeway.tpp.call("GET", "/tpp/banks", client_id=client_id)
    user.get("/")
    with record_calls(causeway) as calls:
        user.get("/")

    assert calls == ["BatchGetItem", *["Query"] * (1 + 2 * CLIENTS + 1 + 3 * 8)]


def test_the_start_page_of_a_busy_user_is_within_its_size_budget(causeway: Causeway, user: WebUser) -> None:
    """Each client is served by twenty processes and has an undeliverable event."""
    for number in range(CLIENTS):
        client_id = user.create_client(f"{number} {'W' * 126}", events_url=causeway.receiver.url)
        fill_activity(causeway, client_id, processes=20)
        user.send_test_event(client_id)
    causeway.receiver.answers = [Reply(410, b"", {}, 0.1)] * CLIENTS
    attempt_due_deliveries(causeway)
    user.get("/")

    assert section(user, "deliveries").count("<tr>") == 1 + RECEIVERS
    assert section(user, "clients").count("at least") == 3 * CLIENTS
    assert len(user.last.text.encode()) <= PAGE_BYTES
