"""The policies of Lambda functions grant exactly the rights that the functions' calls use."""

import json
from collections.abc import Callable
from functools import partial

import pytest

from chalicelib.cards.authorization.hold_release import expire_holds
from chalicelib.cards.payments.provider_completion import finish_due_payments
from chalicelib.cards.payments.sandbox_provider import SandboxProvider
from chalicelib.cards.programs.programmes import entry_key
from chalicelib.cards.protocol.values import HOLD_SECONDS
from chalicelib.cards.reconciliation.progress_record import PROGRESS
from chalicelib.cards.reconciliation.rolling_proof import prove_accounts
from chalicelib.delivery import event_sender
from chalicelib.delivery.client_events import ClientSearch
from chalicelib.delivery.delivery_plan import SWEEP_WAITS
from chalicelib.delivery.receiver_slots import SLOTS, Slot
from chalicelib.delivery.sweeper import sweep
from chalicelib.foundation import parallel
from chalicelib.foundation.aws.calls import Call
from chalicelib.foundation.crypto.resealing import PROGRESS as RESEALING
from chalicelib.foundation.crypto.resealing import SETTLE_SECONDS
from chalicelib.foundation.http.outbound import Reply
from chalicelib.openbanking.flows.bank.expected_reports import expected_banks
from chalicelib.openbanking.flows.consent.expiry import record_due_events
from tests.cards.issuer import EUR, EVERYDAY, MANAGER, ONLINE, Issuer
from tests.cards.slow_storage import Fate, SlowStorage, every
from tests.causeway import Causeway
from tests.infra.alarms import euros, no_provider_answer, open_address, transfer
from tests.infra.deployment import CARD_TABLES, FOLDER, RIGHTS_OF_CONSUMERS, STAGES, Used, policy_rights, used_rights
from tests.kit.storage import observe_calls
from tests.openbanking.accounts import DeferredRead
from tests.openbanking.call_measurements import deliver
from tests.openbanking.kit import LATER, UNREACHABLE
from tests.openbanking.payments import Pisp, payment_answer


@pytest.fixture
def working(causeway: Causeway, monkeypatch: pytest.MonkeyPatch) -> Callable[[Callable[[], object]], Used]:
    """Return a function that records the rights used by a call."""
    monkeypatch.setattr(parallel, "WIDTH", 1)  # the emulator is not made for threads
    calls: list[Used] = []

    def note(call: Call) -> None:
        if call.service in ("dynamodb", "sqs"):
            calls.append(used_rights(call.operation, call.body))

    def work(step: Callable[[], object]) -> Used:
        with observe_calls(note):
            step()
        found = set().union(*calls)
        calls.clear()
        return found

    return work


def deliveries_of_every_kind(causeway: Causeway) -> list[str]:
    """Record deliveries that need all rights of a worker. Return the ids of the deliveries."""
    causeway.tpp.set_events_url()
    deferred, pisp = DeferredRead(causeway), Pisp(causeway, 2, consent_type="one_time", deferred=True)
    direct = Pisp(causeway, 1, "direct", deferred=True)
    ids = [deferred.request_id, pisp.order(), direct.order()]
    direct.report(4)
    paid = Pisp(causeway, 2, "direct")
    paid.bank_answers(payment_answer(2, "P-2"))
    paid.pay()
    paid.bank.answers["/v2_payment_single_status"] = lambda sent: {"transaction_status": "ACSC"}
    path = f"/tpp/payment_status?payment_id=P-2&bic={paid.bank.bic}"
    ids.append(causeway.tpp.call("GET", path, headers=LATER).body["request_id"])
    pisp.bank_answers(UNREACHABLE)
    causeway.tpp.call("POST", "/tpp/token/revoke", {"token": causeway.tpp.tokens(1)["access_token"]})
    causeway.banks[1].answers["/revoke_token"] = lambda sent: {"status": "success"}
    causeway.receiver.answers = [Reply(503, b"", {}, 0)]
    return [*ids, *(each.delivery_id for each in causeway.recorded() if each.delivery_id not in ids)]


def unrecorded_declines(causeway: Causeway) -> list[str]:
    """Queue two declines that storage did not accept in time, and write one approval later. Return the queued tasks."""
    issuer = Issuer(causeway)
    card = issuer.spendable(500).card_id
    causeway.queued()
    fates: tuple[Fate, ...] = ("later", "never")
    for fate in fates:
        with SlowStorage(issuer, every(fate, "TransactWriteItems")) as storage:
            issuer.purchase(card, 100, request_reference_id=issuer.reference())
            storage.land()
    return causeway.queued()


def rotate_and_request_reseal(causeway: Causeway) -> None:
    causeway.hub.keyring.rotate_data_key()
    causeway.clock.advance(SETTLE_SECONDS)
    causeway.hub.resealing.request()


def keep_busy(causeway: Causeway, receiver: str) -> None:
    for number in range(SLOTS):
        causeway.hub.store.transact([Slot(receiver, number).take(causeway.clock.time())])


def test_deliver_uses_exactly_the_rights_in_the_policy_of_the_function(
    causeway: Causeway, working: Callable[[Callable[[], object]], Used], monkeypatch: pytest.MonkeyPatch
) -> None:
    ids = deliveries_of_every_kind(causeway)
    test_event, waiting = (
        causeway.hub.openbanking.tpp_events.send_test(causeway.tpp.client),
        causeway.hub.openbanking.tpp_events.send_test(causeway.tpp.client),
    )

    def work() -> None:
        causeway.hub.openbanking.banks.forget()
        causeway.hub.delivery.queue.__dict__.pop("url", None)
        causeway.writes_measurements()
        for delivery_id in [*ids, *ids]:
            deliver(delivery_id)
            causeway.clock.advance(6)
        with monkeypatch.context() as patch:
            patch.setattr(event_sender, "post", lambda *_: 1 / 0)
            causeway.hub.delivery.__dict__.pop("worker")
            causeway.hub.delivery.worker.attempt(test_event)

    taken_up = working(work)
    keep_busy(causeway, f"client#{causeway.tpp.client_id}")
    taken_up |= working(lambda: causeway.hub.delivery.worker.attempt(waiting))

    assert {each.state for each in causeway.recorded("relay") + causeway.recorded("revoke_token")} == {"delivered"}
    assert {each.state for each in causeway.recorded("payment")} == {"delivered", "failed"}
    with causeway.manager_wants_events():
        Issuer(causeway).card()
        (card_event,) = (each.delivery_id for each in causeway.recorded("card_event"))
        taken_up |= working(lambda: causeway.hub.delivery.worker.attempt(card_event))

    assert causeway.delivery(card_event).state == "delivered"
    for task in unrecorded_declines(causeway):
        causeway.hub.cards.programmes.cache.clear()
        taken_up |= working(partial(causeway.hub.delivery.worker.attempt, task))
    by_lambda = {(f"sqs:{action}", "arn:aws:sqs:*:*:causeway-local-deliveries") for action in RIGHTS_OF_CONSUMERS}
    assert [taken_up ^ (policy_rights(stage, "-deliver") - by_lambda) for stage in STAGES] == [set()] * len(STAGES)


def test_sweep_uses_exactly_the_rights_in_the_policy_of_the_function(
    causeway: Causeway, working: Callable[[Callable[[], object]], Used]
) -> None:
    causeway.tpp.set_events_url()
    causeway.hub.openbanking.tpp_events.send_test(causeway.tpp.client)
    causeway.clock.advance(SWEEP_WAITS[0])

    swept = working(partial(causeway.another_process().delivery.call, sweep))

    assert all(swept == policy_rights(stage, "-sweep") for stage in STAGES)


def test_expire_uses_exactly_the_rights_in_the_policy_of_the_function(
    causeway: Causeway, working: Callable[[Callable[[], object]], Used]
) -> None:
    causeway.tpp.set_events_url()
    causeway.psu.approve(1)
    causeway.clock.advance(200 * 24 * 3600)

    told = working(partial(causeway.another_process().openbanking.call, record_due_events))

    assert all(told == policy_rights(stage, "-expire") for stage in STAGES)


def test_ingest_uses_exactly_the_rights_in_the_policy_of_the_function(
    causeway: Causeway, working: Callable[[Callable[[], object]], Used]
) -> None:
    causeway.clock.advance(24 * 3600)

    other = causeway.another_process()
    ingested = working(lambda: other.statistics.ingest.run(expected_banks(other.openbanking.banks)))

    assert all(ingested == policy_rights(stage, "-ingest") for stage in STAGES)


def test_the_policy_of_the_api_grants_the_rights_for_deliveries_deferred_requests_and_events(
    causeway: Causeway, working: Callable[[Callable[[], object]], Used]
) -> None:
    causeway.tpp.set_events_url()

    def work() -> None:
        DeferredRead(causeway).outcome()
        pisp = Pisp(causeway, 2, "bulk", "one_time", deferred=True)
        pisp.outcome(pisp.order("key-1"))
        direct = Pisp(causeway, 1, "direct", deferred=True)
        direct.pay_at_once()
        direct.report(4)
        causeway.tpp.call("GET", "/tpp/consents")
        causeway.tpp.poll_events().fetch()
        causeway.tpp.call("POST", "/tpp/token/revoke", {"token": pisp.bearer})
        causeway.hub.delivery.client_events.page(ClientSearch(causeway.tpp.client_id))

    taken_up = working(work)

    assert all(taken_up <= policy_rights(stage, "") for stage in STAGES)


def test_the_performance_page_uses_only_granted_rights_on_banks_and_statistics(
    causeway: Causeway, working: Callable[[Callable[[], object]], Used]
) -> None:
    def work() -> None:
        causeway.call("GET", "/performance")
        causeway.call("GET", f"/performance?bic={causeway.banks[1].bic}")

    taken_up = working(work)
    tables = "arn:aws:dynamodb:*:*:table/causeway-local"

    assert taken_up == {
        ("dynamodb:BatchGetItem", f"{tables}-banks"),
        ("dynamodb:BatchGetItem", f"{tables}-statistics"),
        ("dynamodb:Query", f"{tables}-banks/index/directory"),
        ("dynamodb:Query", f"{tables}-statistics"),
    }
    assert all(taken_up <= policy_rights(stage, "") for stage in STAGES)


def cards_at_work(causeway: Causeway) -> None:
    issuer = Issuer(causeway, causeway.another_process())
    card = issuer.card(card_virtual=0, request_reference_id=issuer.reference())
    issuer.card(account_id=card.account_id, account_owner_id=card.holder_id, holder_id=card.holder_id)
    issuer.account(program_id=502, holder_id=card.holder_id, cards=[card.card_id])
    issuer.data("reissueCard", card_id=issuer.card(card_program_id=ONLINE).card_id, card_name_line_3="ZOE O")
    issuer.authentication(issuer.card_in("A").card_id)
    issuer.authorization(card_id=card.card_id)


def money_at_work(causeway: Causeway, issuer: Issuer) -> None:
    """Call card API actions that need all rights on money, with the sandbox provider and the simulator."""
    account = issuer.account(currency_ison=EUR)
    address = open_address(issuer, "assignExternalPaymentAddress", account_id=account)
    other = open_address(issuer, "assignExternalPaymentAddressForSpecialAccount", special_account_id=802)
    came = issuer.data("simulateInboundPayment", **euros(address["id"], 90_000), scheme="SCT", sender_name="Bob")
    returned = {"epm_transaction_id": came["epm_transaction_id"], "reason": 1}
    issuer.data("inboundReturn", **returned, request_reference_id=issuer.reference())
    issuer.data("simulateInboundPayment", **euros(address["id"], 90_000), scheme="SCT", sender_name="Bob")
    issuer.data("transferToExternalPayment", **transfer(address, other["iban"]))
    sent = issuer.data("transferToExternalPayment", **transfer(address), request_reference_id=issuer.reference())
    issuer.data("simulateOutboundResult", epm_transaction_id=sent["id"], result="settled")
    mandate = issuer.data("simulateMandate", epm_address_id=address["id"], creditor_name="Gym", reference="G")
    issuer.data("simulateDirectDebit", **mandate, amount=700)
    issuer.data("createCustomFee", account_id=account, fee_group_id=301, fee_code="CARDREPL", description="Fee")
    issuer.data("getLimitsStatus", record_id=account, limit_type=2, paginator={"item_count": 1, "offset": 0})
    issuer.data("changeExternalPaymentAddressStatus", epm_address_id=other["id"], status="S")


def network_at_work(issuer: Issuer) -> int:
    """Call card API actions that need all rights on network messages. Return the card id."""
    card = issuer.spendable(90_000).card_id
    asked = issuer.purchase(card, 2_500)
    for amount in (500, 900_000):
        issuer.data("simulateIncrement", trans_link=asked["trans_link"], amount=amount)
    issuer.data("simulateReversal", trans_link=asked["trans_link"], amount=1_000)
    bought = issuer.clearing(asked, 1_500)["transaction_id"]
    issuer.clearing(asked, 300)
    issuer.data("simulateRefund", trans_link=asked["trans_link"], amount=200, currency_ison=EUR)
    issuer.data("simulateClearing", card_id=card, amount=700, currency_ison=EUR)
    issuer.data("simulateRefund", card_id=card, amount=100, currency_ison=EUR)
    for step in ("opened", "lost"):
        issuer.data("simulateDispute", transaction_id=bought, step=step)
    issuer.data("simulateExpiry", trans_link=issuer.purchase(card, 400)["trans_link"])
    issuer.purchase(card, 900_000)
    use = {"card_id": card, "amount": 900, "currency_ison": EUR, "transaction_type": 0}
    issuer.data("simulateAdvice", **use, response_code="00")
    issuer.data("simulateAddendum", transaction_id=bought, addendum_type="lodging", data={"nights": 2})
    return card


def reports_at_work(issuer: Issuer, card: int) -> None:
    page = {"item_count": 1, "date_from": 0, "date_to": 1}
    issuer.data("getCardsActivity", **page)
    for action in ("getCardsActivity", "getFinancialAuthorizes", "getTransactions"):
        issuer.data(action, **page, card_id=card)
    issuer.data("getFinancialDetailAddendums", item_count=1, date_imported_from=0, date_imported_to=1)
    portal = issuer.hub.cards.portal
    portal.read(MANAGER, "listCards", item_count=1)
    portal.read(MANAGER, "listActivity", item_count=1)
    portal.read(MANAGER, "showCard", card_id=card, item_count=1, balance_count=1)


def test_the_card_api_uses_exactly_the_granted_rights_on_the_card_tables(
    causeway: Causeway, working: Callable[[Callable[[], object]], Used]
) -> None:
    causeway.hub.store.update(*entry_key(MANAGER, "card_programme", EVERYDAY), remove=["used"])

    def work() -> None:
        cards_at_work(causeway)
        money_at_work(causeway, Issuer(causeway, causeway.another_process()))
        issuer = Issuer(causeway, causeway.another_process())
        reports_at_work(issuer, network_at_work(issuer))

    with causeway.manager_wants_events():
        taken_up = working(work)

    for table in CARD_TABLES:
        resource = f"arn:aws:dynamodb:*:*:table/causeway-local-{table}"
        for stage in STAGES:
            assert {right for right in taken_up if right[1] == resource} == {
                right for right in policy_rights(stage, "") if right[1] == resource
            }, table
    assert all(taken_up <= policy_rights(stage, "") for stage in STAGES)


def test_finish_uses_exactly_the_rights_in_the_policy_of_the_function(
    causeway: Causeway, working: Callable[[Callable[[], object]], Used], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The sandbox provider stores data in tables of the service. Other providers need no additional rights."""
    issuer = Issuer(causeway)
    account = issuer.account(currency_ison=EUR)
    address = open_address(issuer, "assignExternalPaymentAddress", account_id=account)
    with monkeypatch.context() as patch:
        patch.setattr(SandboxProvider, "open_address", no_provider_answer)
        waiting = issuer.do("assignExternalPaymentAddress", account_id=account, epm_method_id=2, currency_ison=EUR)
    issuer.data("simulateInboundPayment", **euros(address["id"], 90_000), scheme="SCT", sender_name="Lost Bob")
    mandate = issuer.data("simulateMandate", epm_address_id=address["id"], creditor_name="Gym", reference="G")
    for amount in (700, 700_000):
        issuer.data("simulateDirectDebit", **mandate, amount=amount)
    accepted = issuer.do(
        "transferToExternalPayment", **transfer(address, name="Silent"), request_reference_id=issuer.reference()
    )
    lost = issuer.do("transferToExternalPayment", **transfer(address, name="Lost"))
    issuer.purchase(issuer.spendable(2_500).card_id, 2_500)
    causeway.clock.advance(HOLD_SECONDS)

    def finish() -> None:
        cards = causeway.another_process().cards
        assert (cards.call(finish_due_payments), cards.call(expire_holds)) == (5, 1)

    with causeway.manager_wants_events():
        finished = working(finish)

    assert [each.status_code for each in (waiting, accepted, lost)] == [8001] * 3
    assert all(finished == policy_rights(stage, "-finish") for stage in STAGES)


def test_prove_uses_exactly_the_rights_in_the_policy_of_the_function(
    causeway: Causeway, working: Callable[[Callable[[], object]], Used]
) -> None:
    """The ledger contains payments and authorizations that hold money, and a special account."""
    issuer = Issuer(causeway)
    money_at_work(causeway, issuer)
    issuer.purchase(issuer.spendable(2_500).card_id, 2_500)

    proved = working(lambda: causeway.another_process().cards.call(prove_accounts, float("inf")))

    assert all(proved == policy_rights(stage, "-prove") for stage in STAGES)


def test_the_policy_of_prove_permits_only_writes_of_progress_records() -> None:
    for stage in STAGES:
        document = json.loads((FOLDER / f"policy-{stage}-prove.json").read_text("utf-8"))
        [writing] = [each for each in document["Statement"] if "dynamodb:PutItem" in each["Action"]]

        assert writing["Condition"] == {"ForAllValues:StringEquals": {"dynamodb:LeadingKeys": [PROGRESS[1]["owner"]]}}


def test_reseal_uses_exactly_the_rights_in_the_policy_of_the_function(
    causeway: Causeway, working: Callable[[Callable[[], object]], Used]
) -> None:
    rotate_and_request_reseal(causeway)

    scanned = working(lambda: causeway.another_process().resealing.run(float("inf")))
    tables = causeway.hub.resealing.tables
    updated = {("dynamodb:UpdateItem", f"arn:aws:dynamodb:*:*:table/causeway-local-{table}") for table in tables}

    assert ("dynamodb:UpdateItem", "arn:aws:dynamodb:*:*:table/causeway-local-banks") in scanned
    assert all(scanned | updated == policy_rights(stage, "-reseal") for stage in STAGES)


def test_the_policy_of_reseal_permits_only_access_to_progress_records_in_the_statistics_table() -> None:
    for stage in STAGES:
        document = json.loads((FOLDER / f"policy-{stage}-reseal.json").read_text("utf-8"))
        own = [each for each in document["Statement"] if each["Resource"][0].endswith("-statistics")]
        condition = {"ForAllValues:StringEquals": {"dynamodb:LeadingKeys": [RESEALING[1]["subject"]]}}

        assert [each["Condition"] for each in own] == [condition] * 2


def test_card_pages_use_only_granted_rights(
    causeway: Causeway, working: Callable[[Callable[[], object]], Used]
) -> None:
    card = Issuer(causeway).spendable(10_00)
    portal = causeway.another_process().cards.portal

    def work() -> None:
        portal.read(MANAGER, "listCards", item_count=20)
        portal.read(MANAGER, "listActivity", item_count=25)
        portal.read(MANAGER, "showCard", card_id=card.card_id, item_count=10, balance_count=60)

    taken_up = working(work)

    assert all(taken_up <= policy_rights(stage, "") for stage in STAGES)
