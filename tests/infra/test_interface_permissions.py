"""The policies of the API function and of ``settle`` grant exactly the rights that the functions' calls use.

The tests send requests of users, TPPs and banks, and record the rights that the calls use.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest

from chalicelib.application import Application
from chalicelib.foundation import parallel
from chalicelib.foundation.aws.calls import Call
from chalicelib.website.accounts import account_flow
from tests.causeway import Causeway
from tests.demo_bank.connected_banks import PAYMENT_SCOPES, Psu, connect_banks, payment, tokens
from tests.infra.deployment import CARD_TABLES, STAGES, Used, policy_rights, used_rights
from tests.kit.storage import observe_calls
from tests.kit.time import run_schedule
from tests.openbanking.key_holder import KeyHolder, secure
from tests.openbanking.payments import Pisp
from tests.website.web_user import WebUser, attempt_due_deliveries, ensure_user

TABLE = "arn:aws:dynamodb:*:*:table/causeway-local-"
EMAIL = "rights@example.com"
OF_DEMO_BANKS = f"{TABLE}demo-banks"


@dataclass
class Rights:
    of_requests: Used = field(default_factory=set)
    besides: Used = field(default_factory=set)


@pytest.fixture
def connected(causeway: Causeway) -> Iterator[Causeway]:
    with connect_banks(causeway):
        yield causeway


@pytest.fixture
def rights(connected: Causeway) -> Iterator[Rights]:
    """Record the rights that are used after this fixture starts."""
    patch = pytest.MonkeyPatch()
    patch.setattr(parallel, "WIDTH", 1)  # the emulator is not made for threads
    answering: list[object] = []  # and not a variable of the context: measurements are written in another thread
    taken = Rights()
    answer = Application.__call__

    def answered(application: Application, event: Any, context: Any) -> Any:
        answering.append(event)
        try:
            return answer(application, event, context)
        finally:
            answering.pop()

    def note(call: Call) -> None:
        looked_on = call.operation == "Scan" and not answering  # by the test
        if call.service in ("dynamodb", "sqs") and not looked_on:
            (taken.of_requests if answering else taken.besides).update(used_rights(call.operation, call.body))

    patch.setattr(Application, "__call__", answered)
    with observe_calls(note):
        yield taken
    patch.undo()


def visit(causeway: Causeway) -> None:
    """Perform the actions of a user at the web interface."""
    user = WebUser(causeway)
    user.register(EMAIL)
    client_id = user.create_client(events_url=causeway.receiver.url)
    user.get("/performance")
    user.get("/performance?bic=ALPHGB21")
    user.get_tokens(client_id)
    for action in ("deactivate", "activate"):
        user.post(f"/clients/{client_id}", action=action)
    delivery = user.send_test_event(client_id)
    user.get("/deliveries")
    attempt_due_deliveries(causeway)
    user.post(delivery)
    user.get("/cards")
    user.post("/account", action="code")
    link = causeway.hub.website.call(account_flow.issue_operator_link, ensure_user(causeway.hub, EMAIL))
    place = f"/reset/{link.rpartition('/')[2]}"
    user.get(place)
    user.post(place, password="rain on a tin roof")
    user.get("/forgotten")
    user.post("/forgotten", email=EMAIL)
    user.post("/sign-out")
    user.sign_in(EMAIL, "rain on a tin roof")
    user.get("/")


def pay(causeway: Causeway) -> None:
    causeway.writes_measurements()
    for bank, scopes in PAYMENT_SCOPES.items():
        given = {"scopes": scopes, "consent_type": "one_time", "state": f"rights {bank}"}
        bearer = tokens(causeway, bank, **given)["access_token"]
        started = causeway.tpp.call("POST", "/tpp/payment_initiation", payment(causeway, bank), bearer=bearer)
        Psu(causeway, bank).pay(started.body["confirmation_url"])


def report(causeway: Causeway) -> None:
    """Send a deferred payment order, and a status report for a payment that the service does not know yet."""
    pisp = Pisp(causeway, 2, "bulk", "one_time", deferred=True)
    pisp.outcome(pisp.order("key-1"))
    causeway.tpp.call("GET", "/tpp/banks")
    direct = Pisp(causeway, 1, "direct", deferred=True)
    direct.pay_at_once()
    direct.report(4)


def refresh_and_list(causeway: Causeway) -> None:
    holder = KeyHolder()
    secure(causeway, holder, security_profile="fapi2")
    holder.refresh(causeway, holder.tokens(causeway)["refresh_token"])
    for path in ("/tpp/consents", "/tpp/events"):
        answer = causeway.tpp.call("GET", path, headers={"x-client-assertion": holder.assertion(causeway)})
        assert answer.status == 200


def test_the_api_uses_exactly_the_granted_rights_on_tables_other_than_card_tables(
    connected: Causeway, rights: Rights
) -> None:
    visit(connected)
    pay(connected)
    report(connected)
    refresh_and_list(connected)

    cards = tuple(f"{TABLE}{name}" for name in CARD_TABLES)
    taken = {right for right in rights.of_requests if not right[1].startswith(cards)}
    for stage in STAGES:
        granted = {right for right in policy_rights(stage, "") if not right[1].startswith(cards)}
        assert granted == taken - {right for right in taken if stage == "prod" and right[1] == OF_DEMO_BANKS}


def test_settle_uses_exactly_the_rights_in_the_policy_of_the_function(connected: Causeway, rights: Rights) -> None:
    from app import app

    pay(connected)
    connected.clock.advance(20)
    rights.besides.clear()
    run_schedule(app.handler_map["settle"])

    assert rights.besides == policy_rights("dev", "-settle")
