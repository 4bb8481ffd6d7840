"""What users do in the web interface, to be played with every fault of the storage."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta

from chalicelib.foundation.clock import milliseconds
from chalicelib.foundation.http.outbound import Reply
from chalicelib.foundation.identifiers import new_id
from chalicelib.openbanking.flows.consent.tokens import end_consent
from chalicelib.openbanking.records.client_record import Client
from chalicelib.statistics import day_overviews
from chalicelib.statistics.days import hours_of
from chalicelib.website.accounts import account_flow
from tests.causeway import Answer, Causeway
from tests.openbanking.faults import Fault
from tests.openbanking.payment_scenes import scene
from tests.openbanking.scenes import Run
from tests.statistics.bank_days import hourly, put_counters, record
from tests.website.web_user import WebUser


def shown(fault: Fault, ask: Callable[[], Answer]) -> Answer:
    """The page, at the second attempt if the first one said that the storage did not respond."""
    with fault:
        answer = ask()
    if answer.status == 503:
        assert "storage did not respond" in answer.text
        answer = ask()
    return answer


def somebody(causeway: Causeway) -> tuple[WebUser, Client]:
    """A user, with a client that has events sent."""
    owner = f"{new_id()}@example.com"
    client = causeway.hub.openbanking.clients.create(
        owner=owner, title="Eventful", events_url=causeway.receiver.url
    ).client
    return WebUser.signed_in(causeway, owner), client


@scene()
def create_a_client_in_the_web_interface(causeway: Causeway) -> Run:
    def run(fault: Fault) -> None:
        owner = f"{new_id()}@example.com"
        person = WebUser.signed_in(causeway, owner)
        person.get("/clients/new")
        draft = person.hidden("draft")
        answer = shown(
            fault, lambda: person.post("/clients/new", draft=draft, title="Once", secret="yes", token=person.token)
        )
        assert answer.status == 201
        (client,) = causeway.hub.openbanking.clients.all(owner)
        secret = answer.text.partition('<code id="client-secret">')[2].partition("<")[0]
        assert client.accepts_secret(secret, causeway.clock.time())

    return run


@scene()
def change_a_client_in_the_web_interface(causeway: Causeway) -> Run:
    """A form that is sent again after a lost answer is not taken for an outdated one."""

    def run(fault: Fault) -> None:
        person, client = somebody(causeway)
        person.get(f"/clients/{client.client_id}/settings")
        address, fields = person.form("general")
        token = person.token
        answer = shown(fault, lambda: person.post(address, token, form=fields | {"title": "Renamed"}))
        changed = causeway.hub.openbanking.clients.get(client.client_id)
        assert (answer.status, changed.title, changed.revision) == (303, "Renamed", 1)

    return run


@scene()
def archive_a_client_in_the_web_interface(causeway: Causeway) -> Run:
    def run(fault: Fault) -> None:
        person, client = somebody(causeway)
        place = f"/clients/{client.client_id}"
        person.get(f"{place}?ask=archive")
        token = person.token
        answer = shown(fault, lambda: person.post(place, token, action="archive"))
        archived = causeway.hub.openbanking.clients.get(client.client_id)
        assert (answer.status, archived.is_archived, archived.revision) == (303, True, 1)

    return run


@scene()
def look_at_clients_in_the_web_interface(causeway: Causeway) -> Run:
    """By a part of the title, and by the whole Client ID."""

    def run(fault: Fault) -> None:
        person, client = somebody(causeway)
        for query in ("title=event", f"client_id={client.client_id}"):
            answer = shown(fault, lambda query=query: person.get(f"/clients?{query}"))  # type: ignore[misc]
            assert (answer.status, "Eventful" in answer.text) == (200, True)

    return run


@scene()
def look_at_a_journey_in_the_web_interface(causeway: Causeway) -> Run:
    """The page says so when its consent has ended, with or without a second look."""

    def run(fault: Fault) -> None:
        owner = f"{new_id()}@example.com"
        person = WebUser.signed_in(causeway, owner)
        state = person.get_tokens(person.create_client())
        (journey,) = causeway.hub.website.journeys.list_latest(owner)
        consent = causeway.hub.openbanking.consent_list.find(str(journey.consent_id))
        assert consent is not None
        causeway.hub.openbanking.call(end_consent, consent, by="bank")
        answer = shown(fault, lambda: person.get(f"/authorize/callback?state={state}"))
        assert (answer.status, "The consent has ended" in answer.text) == (200, True)

    return run


@scene()
def look_at_deliveries_in_the_web_interface(causeway: Causeway) -> Run:
    def run(fault: Fault) -> None:
        person, client = somebody(causeway)
        delivery_id = causeway.hub.openbanking.tpp_events.send_test(client)
        answer = shown(fault, lambda: person.get(f"/deliveries?client_id={client.client_id}"))
        assert (answer.status, delivery_id in answer.text) == (200, True)

    return run


@scene()
def look_at_an_event_in_the_web_interface(causeway: Causeway) -> Run:
    def run(fault: Fault) -> None:
        person, client = somebody(causeway)
        causeway.receiver.answers = [Reply(503, b"words of the receiver", {}, 0.1)]
        delivery_id = causeway.hub.openbanking.tpp_events.send_test(client)
        causeway.hub.delivery.worker.attempt(delivery_id)
        answer = shown(fault, lambda: person.get(f"/deliveries/{delivery_id}"))
        assert all(words in answer.text for words in ("This is a test.", "words of the receiver"))

    return run


@scene()
def look_at_consents_in_the_web_interface(causeway: Causeway) -> Run:
    def run(fault: Fault) -> None:
        person, client = somebody(causeway)
        causeway.tpp.client = client
        consent_id = causeway.psu.approve(1).bank_token.partition(".")[0]
        answer = shown(fault, lambda: person.get(f"/consents?client_id={client.client_id}"))
        assert (answer.status, consent_id in answer.text) == (200, True)

    return run


@scene()
def look_at_the_deliveries_of_a_consent_in_the_web_interface(causeway: Causeway) -> Run:
    def run(fault: Fault) -> None:
        person, causeway.tpp.client = somebody(causeway)
        consent_id = causeway.psu.approve(1).bank_token.partition(".")[0]
        consent = causeway.hub.openbanking.consent_list.find(consent_id)
        assert consent is not None
        causeway.hub.openbanking.call(end_consent, consent, by="bank")
        events = [each.delivery_id for each in causeway.recorded("event") if each.consent_id == consent_id]
        answer = shown(fault, lambda: person.get(f"/consents/{consent_id}"))
        assert answer.status == 200
        assert events
        assert all(delivery_id in answer.text for delivery_id in events)

    return run


@scene()
def look_at_an_event_for_fetching_in_the_web_interface(causeway: Causeway) -> Run:
    def run(fault: Fault) -> None:
        person, client = somebody(causeway)
        client = causeway.hub.openbanking.clients.update(client.client_id, events="poll").client
        event_id, at = causeway.hub.openbanking.tpp_events.send_test(client), milliseconds(causeway.clock)
        place = f"/deliveries/{event_id}?client_id={client.client_id}&at={at}"
        answer = shown(fault, lambda: person.get(place))
        assert "This is a test." in answer.text

    return run


@scene()
def look_at_activity_in_the_web_interface(causeway: Causeway) -> Run:
    def run(fault: Fault) -> None:
        person, causeway.tpp.client = somebody(causeway)
        assert causeway.tpp.call("GET", "/tpp/banks").status == 200
        causeway.hub.statistics.measurements.write()
        for place in (f"/clients/{causeway.tpp.client_id}/activity", "/"):
            answer = shown(fault, lambda place=place: person.get(place))  # type: ignore[misc]
            assert (answer.status, "GET /tpp/banks" in answer.text) == (200, True)

    return run


@scene()
def end_a_consent_in_the_web_interface(causeway: Causeway) -> Run:
    """The consent has ended when the page says so, and the bank is told once."""

    def run(fault: Fault) -> None:
        person, causeway.tpp.client = somebody(causeway)
        consent_id = causeway.psu.approve(1).bank_token.partition(".")[0]
        place = f"/consents/{consent_id}"
        person.get(f"{place}?ask=end")
        token = person.token
        answer = shown(fault, lambda: person.post(place, token))
        assert answer.status == 303
        found = causeway.hub.openbanking.consent_list.find(consent_id)
        assert found is not None
        assert (found.status, found.ended_by) == ("revoked", "tpp")
        notices = [delivery for delivery in causeway.recorded("revoke_token") if delivery.consent_id == consent_id]
        assert len(notices) == 1

    return run


@scene()
def look_at_performance_in_the_web_interface(causeway: Causeway) -> Run:
    def run(fault: Fault) -> None:
        today = causeway.clock.now().date()
        yesterday = today - timedelta(days=1)
        earlier, now = (hourly("ALPHGB21", hours_of(day)[8], answered=7) for day in (yesterday, today))
        causeway.hub.store.transact([record("ALPHGB21", yesterday, earlier).put(), put_counters(now)])
        causeway.hub.openbanking.banks.directory()
        causeway.hub.statistics.__dict__.pop("today", None)  # it would remember the day
        answer = shown(fault, lambda: WebUser(causeway).get("/performance?bic=ALPHGB21"))
        assert (answer.status, answer.text.count("<dd>7</dd>")) == (200, 2)

    return run


@scene()
def look_at_the_performance_of_all_banks_in_the_web_interface(causeway: Causeway) -> Run:
    def run(fault: Fault) -> None:
        yesterday = causeway.clock.now().date() - timedelta(days=1)
        counters = hourly("ALPHGB21", hours_of(yesterday)[8], answered=7)
        causeway.hub.store.transact([record("ALPHGB21", yesterday, counters).put()])
        day_overviews.build_overviews(causeway.hub.store, [yesterday], ["ALPHGB21"])
        causeway.hub.openbanking.banks.directory()
        causeway.hub.statistics.__dict__.pop("open_downtimes", None)  # it would remember which banks are down
        answer = shown(fault, lambda: WebUser(causeway).get("/performance"))
        assert (answer.status, answer.text.count('class="number">7</td>')) == (200, 1)

    return run


@scene()
def send_a_delivery_again_in_the_web_interface(causeway: Causeway) -> Run:
    def run(fault: Fault) -> None:
        person, client = somebody(causeway)
        delivery_id = causeway.hub.openbanking.tpp_events.send_test(client)
        causeway.hub.delivery.worker.attempt(delivery_id)
        assert causeway.delivery(delivery_id).state == "delivered"
        person.get(f"/deliveries/{delivery_id}")
        token = person.token
        answer = shown(fault, lambda: person.post(f"/deliveries/{delivery_id}", token))
        assert answer.status == 303
        assert causeway.delivery(delivery_id).state == "due"

    return run


@scene()
def set_a_password_by_a_link_in_the_web_interface(causeway: Causeway) -> Run:
    """The link is used up with the new password, or not at all."""

    def run(fault: Fault) -> None:
        user = causeway.hub.website.users.add(f"{new_id()}@example.com", terms_accepted=True)
        link = causeway.hub.website.call(account_flow.issue_operator_link, user)
        place = link.removeprefix(causeway.hub.settings.public_url)
        person = WebUser(causeway)
        person.get(place)
        token = person.token
        answer = shown(fault, lambda: person.post(place, token, password="rain on a tin roof"))
        assert answer.status in (303, 404), "after an answer that was lost the link has been used"
        changed = causeway.hub.website.users.get(user.email)
        assert (changed.has_password, changed.generation) == (True, 1)
        assert person.get(place).status == 404

    return run


@scene()
def ask_for_a_new_password_in_the_web_interface(causeway: Causeway) -> Run:
    """Whoever was told that a mail is on its way gets one whose link is good."""

    def run(fault: Fault) -> None:
        user = causeway.hub.website.users.add(f"{new_id()}@example.com", terms_accepted=True)
        person = WebUser(causeway)
        person.get("/forgotten")
        token = person.token
        answer = shown(fault, lambda: person.post("/forgotten", token, email=user.email))
        assert answer.status == 200
        for delivery in causeway.recorded("mail"):
            causeway.hub.delivery.worker.attempt(delivery.delivery_id)
        links = [
            mail.text.partition("/reset/")[2].partition("\n")[0] for mail in causeway.mails if mail.to == user.email
        ]
        assert links
        assert causeway.hub.website.call(account_flow.find_reset_user, links[-1]) == user

    return run
