"""Tests of storage faults during requests of the web interface."""

from collections.abc import Callable, Generator
from contextlib import suppress
from datetime import timedelta
from functools import partial, wraps

import pytest

from chalicelib.foundation.clock import milliseconds
from chalicelib.foundation.http.outbound import Reply
from chalicelib.foundation.identifiers import new_id
from chalicelib.openbanking.flows.consent.tokens import end_consent
from chalicelib.openbanking.records.client_record import Client
from chalicelib.statistics import day_overviews
from chalicelib.statistics.days import hours_of
from chalicelib.website.accounts import account_flow
from tests.causeway import Answer, Causeway
from tests.openbanking.fault_scenarios import Run, scenario
from tests.openbanking.faults import Fault
from tests.statistics.bank_days import hourly, put_counters, record
from tests.website.web_user import WebUser

pytestmark = pytest.mark.faults

Calls = Generator[Callable[[], Answer], Answer, None]
"""A generator that yields calls to run with a fault, and receives the response to each call."""


def web_request(prepare: Callable[[Causeway], Calls]) -> None:
    """Register a scenario that makes web calls with every fault and retries calls that report a storage failure."""

    @wraps(prepare)
    def requests(causeway: Causeway) -> Run:
        def run(fault: Fault) -> None:
            calls = prepare(causeway)
            call = next(calls)
            with suppress(StopIteration):
                while True:
                    call = calls.send(_answer(fault, call))

        return run

    scenario()(requests)


def _answer(fault: Fault, call: Callable[[], Answer]) -> Answer:
    with fault:
        answer = call()
    if answer.status == 503:
        assert "storage did not respond" in answer.text
        answer = call()
    return answer


def user_with_client(causeway: Causeway) -> tuple[WebUser, Client]:
    owner, url = f"{new_id()}@example.com", causeway.receiver.url
    client = causeway.hub.openbanking.clients.create(owner=owner, title="Eventful", events_url=url).client
    return WebUser.signed_in(causeway, owner), client


@web_request
def create_a_client_in_the_web_interface(causeway: Causeway) -> Calls:
    owner = f"{new_id()}@example.com"
    user = WebUser.signed_in(causeway, owner)
    user.get("/clients/new")
    draft = user.hidden("draft")
    answer = yield lambda: user.post("/clients/new", draft=draft, title="Once", secret="yes", token=user.token)
    assert answer.status == 201
    (client,) = causeway.hub.openbanking.clients.all(owner)
    secret = answer.text.partition('<code id="client-secret">')[2].partition("<")[0]
    assert client.accepts_secret(secret, causeway.clock.time())


@web_request
def change_a_client_in_the_web_interface(causeway: Causeway) -> Calls:
    """After a lost response, the same form can be submitted again and is accepted."""
    user, client = user_with_client(causeway)
    user.get(f"/clients/{client.client_id}/settings")
    address, fields = user.form("general")
    token = user.token
    answer = yield lambda: user.post(address, token, form=fields | {"title": "Renamed"})
    changed = causeway.hub.openbanking.clients.get(client.client_id)
    assert (answer.status, changed.title, changed.revision) == (303, "Renamed", 1)


@web_request
def archive_a_client_in_the_web_interface(causeway: Causeway) -> Calls:
    user, client = user_with_client(causeway)
    place = f"/clients/{client.client_id}"
    user.get(f"{place}?ask=archive")
    token = user.token
    answer = yield lambda: user.post(place, token, action="archive")
    archived = causeway.hub.openbanking.clients.get(client.client_id)
    assert (answer.status, archived.is_archived, archived.revision) == (303, True, 1)


@web_request
def look_at_clients_in_the_web_interface(causeway: Causeway) -> Calls:
    """One search uses a part of the title, and another search uses the complete Client ID."""
    user, client = user_with_client(causeway)
    for query in ("title=event", f"client_id={client.client_id}"):
        answer = yield partial(user.get, f"/clients?{query}")
        assert (answer.status, "Eventful" in answer.text) == (200, True)


@web_request
def look_at_a_journey_in_the_web_interface(causeway: Causeway) -> Calls:
    """The page of an authorization reports that the consent has ended."""
    owner = f"{new_id()}@example.com"
    user = WebUser.signed_in(causeway, owner)
    state = user.get_tokens(user.create_client())
    (journey,) = causeway.hub.website.journeys.list_latest(owner)
    consent = causeway.hub.openbanking.consent_list.find(str(journey.consent_id))
    assert consent is not None
    causeway.hub.openbanking.call(end_consent, consent, by="bank")
    answer = yield lambda: user.get(f"/authorize/callback?state={state}")
    assert (answer.status, "The consent has ended" in answer.text) == (200, True)


@web_request
def look_at_deliveries_in_the_web_interface(causeway: Causeway) -> Calls:
    user, client = user_with_client(causeway)
    delivery_id = causeway.hub.openbanking.tpp_events.send_test(client)
    answer = yield lambda: user.get(f"/deliveries?client_id={client.client_id}")
    assert (answer.status, delivery_id in answer.text) == (200, True)


@web_request
def look_at_an_event_in_the_web_interface(causeway: Causeway) -> Calls:
    user, client = user_with_client(causeway)
    causeway.receiver.answers = [Reply(503, b"words of the receiver", {}, 0.1)]
    delivery_id = causeway.hub.openbanking.tpp_events.send_test(client)
    causeway.hub.delivery.worker.attempt(delivery_id)
    answer = yield lambda: user.get(f"/deliveries/{delivery_id}")
    assert all(words in answer.text for words in ("This is a test.", "words of the receiver"))


@web_request
def look_at_consents_in_the_web_interface(causeway: Causeway) -> Calls:
    user, client = user_with_client(causeway)
    causeway.tpp.client = client
    consent_id = causeway.psu.approve(1).bank_token.partition(".")[0]
    answer = yield lambda: user.get(f"/consents?client_id={client.client_id}")
    assert (answer.status, consent_id in answer.text) == (200, True)


@web_request
def look_at_the_deliveries_of_a_consent_in_the_web_interface(causeway: Causeway) -> Calls:
    user, causeway.tpp.client = user_with_client(causeway)
    consent_id = causeway.psu.approve(1).bank_token.partition(".")[0]
    consent = causeway.hub.openbanking.consent_list.find(consent_id)
    assert consent is not None
    causeway.hub.openbanking.call(end_consent, consent, by="bank")
    events = [each.delivery_id for each in causeway.recorded("event") if each.consent_id == consent_id]
    answer = yield lambda: user.get(f"/consents/{consent_id}")
    assert answer.status == 200
    assert events
    assert all(delivery_id in answer.text for delivery_id in events)


@web_request
def look_at_an_event_for_fetching_in_the_web_interface(causeway: Causeway) -> Calls:
    user, client = user_with_client(causeway)
    client = causeway.hub.openbanking.clients.update(client.client_id, events="poll").client
    event_id, at = causeway.hub.openbanking.tpp_events.send_test(client), milliseconds(causeway.clock)
    place = f"/deliveries/{event_id}?client_id={client.client_id}&at={at}"
    answer = yield lambda: user.get(place)
    assert "This is a test." in answer.text


@web_request
def look_at_activity_in_the_web_interface(causeway: Causeway) -> Calls:
    user, causeway.tpp.client = user_with_client(causeway)
    assert causeway.tpp.call("GET", "/tpp/banks").status == 200
    causeway.hub.statistics.measurements.write()
    for place in (f"/clients/{causeway.tpp.client_id}/activity", "/"):
        answer = yield partial(user.get, place)
        assert (answer.status, "GET /tpp/banks" in answer.text) == (200, True)


@web_request
def end_a_consent_in_the_web_interface(causeway: Causeway) -> Calls:
    """If the page reports the end, the consent has ended and the bank has been notified once."""
    user, causeway.tpp.client = user_with_client(causeway)
    consent_id = causeway.psu.approve(1).bank_token.partition(".")[0]
    place = f"/consents/{consent_id}"
    user.get(f"{place}?ask=end")
    token = user.token
    answer = yield lambda: user.post(place, token)
    assert answer.status == 303
    found = causeway.hub.openbanking.consent_list.find(consent_id)
    assert found is not None
    assert (found.status, found.ended_by) == ("revoked", "tpp")
    notices = [delivery for delivery in causeway.recorded("revoke_token") if delivery.consent_id == consent_id]
    assert len(notices) == 1


@web_request
def look_at_performance_in_the_web_interface(causeway: Causeway) -> Calls:
    today = causeway.clock.now().date()
    yesterday = today - timedelta(days=1)
    earlier, now = (hourly("ALPHGB21", hours_of(day)[8], answered=7) for day in (yesterday, today))
    causeway.hub.store.transact([record("ALPHGB21", yesterday, earlier).put(), put_counters(now)])
    causeway.hub.openbanking.banks.directory()
    causeway.hub.statistics.__dict__.pop("today", None)  # it would remember the day
    answer = yield lambda: WebUser(causeway).get("/performance?bic=ALPHGB21")
    assert (answer.status, answer.text.count("<dd>7</dd>")) == (200, 2)


@web_request
def look_at_the_performance_of_all_banks_in_the_web_interface(causeway: Causeway) -> Calls:
    yesterday = causeway.clock.now().date() - timedelta(days=1)
    counters = hourly("ALPHGB21", hours_of(yesterday)[8], answered=7)
    causeway.hub.store.transact([record("ALPHGB21", yesterday, counters).put()])
    day_overviews.build_overviews(causeway.hub.store, [yesterday], ["ALPHGB21"])
    causeway.hub.openbanking.banks.directory()
    causeway.hub.statistics.__dict__.pop("open_downtimes", None)  # it would remember which banks are down
    answer = yield lambda: WebUser(causeway).get("/performance")
    assert (answer.status, answer.text.count('class="number">7</td>')) == (200, 1)


@web_request
def send_a_delivery_again_in_the_web_interface(causeway: Causeway) -> Calls:
    user, client = user_with_client(causeway)
    delivery_id = causeway.hub.openbanking.tpp_events.send_test(client)
    causeway.hub.delivery.worker.attempt(delivery_id)
    assert causeway.delivery(delivery_id).state == "delivered"
    user.get(f"/deliveries/{delivery_id}")
    token = user.token
    answer = yield lambda: user.post(f"/deliveries/{delivery_id}", token)
    assert answer.status == 303
    assert causeway.delivery(delivery_id).state == "due"


@web_request
def set_a_password_by_a_link_in_the_web_interface(causeway: Causeway) -> Calls:
    """The link becomes invalid only if the new password is stored."""
    account = causeway.hub.website.users.add(f"{new_id()}@example.com", terms_accepted=True)
    link = causeway.hub.website.call(account_flow.issue_operator_link, account)
    place = link.removeprefix(causeway.hub.settings.public_url)
    user = WebUser(causeway)
    user.get(place)
    token = user.token
    answer = yield lambda: user.post(place, token, password="rain on a tin roof")
    assert answer.status in (303, 404), "after an answer that was lost the link has been used"
    changed = causeway.hub.website.users.get(account.email)
    assert (changed.has_password, changed.generation) == (True, 1)
    assert user.get(place).status == 404


@web_request
def ask_for_a_new_password_in_the_web_interface(causeway: Causeway) -> Calls:
    """If the page announces a mail, the mail contains a valid link."""
    account = causeway.hub.website.users.add(f"{new_id()}@example.com", terms_accepted=True)
    user = WebUser(causeway)
    user.get("/forgotten")
    token = user.token
    answer = yield lambda: user.post("/forgotten", token, email=account.email)
    assert answer.status == 200
    for delivery in causeway.recorded("mail"):
        causeway.hub.delivery.worker.attempt(delivery.delivery_id)
    links = [
        mail.text.partition("/reset/")[2].partition("\n")[0] for mail in causeway.mails if mail.to == account.email
    ]
    assert links
    assert causeway.hub.website.call(account_flow.find_reset_user, links[-1]) == account


@pytest.mark.parametrize("name", scenario.of(__name__))
def test_a_storage_fault_during_a_web_page_neither_loses_nor_duplicates_data(
    causeway: Causeway, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    scenario.run_with_faults(causeway, name, monkeypatch)
