"""Tests of card events: each change records one event, in the transaction that writes the change.

Events are signed and retried until delivered.
"""

import base64
from collections.abc import Iterator
from dataclasses import replace

import pytest
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import padding, rsa

from chalicelib.cards.ledger.account_record import Account
from chalicelib.cards.payments.provider_completion import finish_due_payments
from chalicelib.cards.requests import disclosure
from chalicelib.foundation.dynamodb.store import Put
from tests.cards.events.event_listener import EventData, Listener
from tests.cards.issuer import DAY, EUR, EVERYDAY_ACCOUNT, MANAGER, ONLINE, PREPAID_ACCOUNT, Issuer, key_pair


def opened(key: rsa.RSAPrivateKey, text: str, label: str) -> str:
    sha = hashes.SHA256()
    scheme = padding.OAEP(padding.MGF1(sha), sha, label.encode())
    return key.decrypt(base64.b64decode(text, validate=True), scheme).decode()


@pytest.fixture(scope="module")
def listener(issuer: Issuer) -> Iterator[Listener]:
    with issuer.causeway.manager_wants_events():
        yield Listener(issuer)


@pytest.fixture
def heard(listener: Listener) -> Listener:
    listener.forget()
    return listener


# -- cards


def test_a_new_card_sends_an_event_with_its_ids_and_no_secret(heard: Listener) -> None:
    card = heard.issuer.card()

    [event] = heard.events()

    assert event == {
        "type": "card.created",
        "timestamp": heard.issuer.clock.now().isoformat(),
        "data": {
            "card_id": card.card_id,
            "card_request_id": card.card_request_id,
            "holder_id": card.holder_id,
            "account_id": card.account_id,
            "virtual": 1,
            "reissued": 0,
            "card_status": "N",
        },
    }


def test_a_reissued_card_sends_an_event_with_its_new_card_order(heard: Listener) -> None:
    issuer = heard.issuer
    card = issuer.card_in("A", card_program_id=ONLINE)
    heard.forget()

    made = issuer.data("reissueCard", card_id=card.card_id, card_name_line_3="ZOE O")

    [told] = heard.received_events("card.created")
    assert told["card_id"] == card.card_id
    assert told["reissued"] == 1
    assert told["card_status"] == "N"
    assert told["card_request_id"] == made["card_request_id"] != card.card_request_id


def test_an_activation_sends_an_event_with_or_without_the_card_number(heard: Listener) -> None:
    issuer = heard.issuer
    cards = [issuer.card(), issuer.card()]
    heard.forget()

    issuer.data("activateCard", card_id=cards[0].card_id)
    issuer.data("activateCard", card_id=cards[1].card_id, card_pan=cards[1].pan)

    told = sorted(heard.received_events("card.activated"), key=lambda each: each["card_id"])
    assert told == [
        {
            "card_id": card.card_id,
            "card_request_id": card.card_request_id,
            "holder_id": card.holder_id,
            "card_status": "A",
        }
        for card in cards
    ]


def test_a_card_status_event_has_the_previous_status_and_is_sent_only_for_a_change(heard: Listener) -> None:
    issuer = heard.issuer
    card = issuer.card_in("A")
    heard.forget()

    issuer.data("changeCardStatus", card_id=card.card_id, status="L", reason_code=4, note="in the tram")
    assert heard.received_events("card.status_changed") == [
        {
            "card_id": card.card_id,
            "holder_id": card.holder_id,
            "card_status_before": "A",
            "card_status": "L",
            "reason_code": 4,
        }
    ]

    issuer.data("changeCardStatus", card_id=card.card_id, status="B")
    assert [each["card_status"] for each in heard.received_events("card.status_changed")] == ["B"]
    other = issuer.card_in("T")
    heard.forget()
    issuer.data("changeCardStatus", card_id=other.card_id, status="T", reason_code=9)
    assert heard.received_events() == []


def test_an_account_event_has_the_previous_status_and_is_sent_only_for_a_change(heard: Listener) -> None:
    issuer = heard.issuer
    account, holder = issuer.account(holder_id=(owner := issuer.holder())), owner
    heard.forget()

    issuer.data(
        "changeAccountStatus", account_id=account, account_status="S", reason_code=14, note="papers are missing"
    )
    issuer.data("changeAccountStatus", account_id=account, account_status="S", reason_code=15)
    issuer.data("changeAccountStatus", account_id=account, account_status="C")

    common = {"account_id": account, "holder_id": holder}
    sent = heard.received_events("account.status_changed")
    assert sorted(sent, key=lambda event: event["account_status_before"]) == [
        {**common, "account_status_before": "A", "account_status": "S", "reason_code": 14},
        {**common, "account_status_before": "S", "account_status": "C"},
    ]


def test_a_read_a_rejected_request_or_an_unlisted_change_sends_no_event(heard: Listener) -> None:
    issuer = heard.issuer
    card = issuer.card_in("A")
    heard.forget()

    issuer.data("getCardNumber", card_id=card.card_id)
    issuer.data("changeCardAcsPassword", card_id=card.card_id, acs_password="Another-Password-1")
    issuer.data("assignCardToLimitsGroup", card_id=card.card_id, limits_group_id=201)
    assert issuer.do("activateCard", card_id=card.card_id).status_code == 4006
    assert issuer.do("changeCardStatus", card_id=card.card_id, status="E").status_code == 2005
    issuer.account()
    issuer.holder()

    assert heard.received_events() == []


# -- the network


def test_each_network_message_sends_an_event_with_response_code_and_balances(heard: Listener) -> None:
    issuer = heard.issuer
    card = issuer.spendable(5000)
    heard.forget()

    approved, declined = (issuer.purchase(card.card_id, amount, mcc="5411") for amount in (2000, 9000))
    told = sorted(heard.received_events("card.authorization"), key=lambda each: int(each["authorize_id"]))
    members = ("authorize_id", "trans_link", "response_code", "available_balance", "settled_balance")
    assert [[each[name] for name in members] for each in told] == [
        [answer[name] for name in members] for answer in (approved, declined)
    ]
    assert [(each["card_id"], each["authorize_type"], each["mcc"]) for each in told] == [(card.card_id, 1, "5411")] * 2

    issuer.data("simulateReversal", trans_link=approved["trans_link"], amount=500)
    [reversal] = heard.received_events("card.authorization")
    assert (reversal["authorize_type"], reversal["trans_link"]) == (4, approved["trans_link"])


def test_a_clearing_sends_an_event_with_its_transaction(heard: Listener) -> None:
    issuer = heard.issuer
    card = issuer.spendable(5000)
    asked = issuer.purchase(card.card_id, 2000)
    heard.forget()

    cleared = issuer.clearing(asked, 1800)

    [told] = heard.received_events("card.clearing")
    assert told["card_id"] == card.card_id
    assert told["account_id"] == card.account_id
    assert told["transaction_amount"] == 1800
    assert {name: told[name] for name in cleared} == cleared


# -- 3-D Secure


def test_a_3ds_challenge_sends_an_event_with_the_merchant_and_without_the_validation_value(heard: Listener) -> None:
    issuer = heard.issuer
    card = issuer.card_in("A")
    heard.forget()
    shop = {"mcc": "5411", "merchant_name": "Corner Shop", "merchant_id": "SHOP1", "merchant_country_ison": 276}

    asked = issuer.authentication(card.card_id, acquirer_bin="400012", terminal_id="T-1", **shop)

    assert heard.received_events("three_d_secure.requested") == [
        {
            "auth_request_id": asked["auth_request_id"],
            "card_id": card.card_id,
            "amount": 1999,
            "currency_ison": EUR,
            "acquirer_bin": "400012",
            "terminal_id": "T-1",
            **shop,
            "expires_at": asked["expires_at"],
        }
    ]
    assert asked["validation_value"]


def test_a_challenge_can_be_confirmed_with_the_encrypted_value_of_the_event(heard: Listener) -> None:
    issuer, (key, public_pem) = heard.issuer, key_pair()
    card = issuer.card_in("A")
    heard.forget()

    with heard.issuer.causeway.manager_delivers_values(public_pem):
        asked = issuer.authentication(card.card_id)
    [told] = heard.received_events("three_d_secure.requested")

    number = told["auth_request_id"]
    value = opened(key, told["validation_value"], f"{number}|validation_value")
    assert (number, value) == (asked["auth_request_id"], asked["validation_value"])
    with pytest.raises(ValueError, match=r"(?i)decrypt"):
        opened(key, told["validation_value"], f"{number + 1}|validation_value")
    answer = {"auth_request_id": number, "confirmation_status": "Y", "oob_auth_method": 1}
    wrong = f"{(int(value) + 1) % 10**6:06}"
    assert issuer.do("authenticationConfirm", **answer, validation_value=wrong).status_code == 6004
    assert issuer.do("authenticationConfirm", **answer, validation_value=value).status == "success"


def test_events_contain_no_validation_value_if_only_an_encryption_key_is_set(heard: Listener) -> None:
    issuer = heard.issuer
    card, catalogue = issuer.card_in("A"), issuer.hub.cards.programmes.catalogue(MANAGER)
    key = key_pair()[1]
    assert disclosure.encrypt_for_event(replace(catalogue, events_encryption_key=key), 1, "730214") is None
    heard.forget()

    issuer.authentication(card.card_id)

    assert ["validation_value" in told for told in heard.received_events("three_d_secure.requested")] == [False]


def test_an_authentication_without_a_challenge_sends_no_event(heard: Listener) -> None:
    issuer = heard.issuer
    card = issuer.card()
    heard.forget()

    assert issuer.authentication(card.card_id) == {"outcome": "rejected"}
    assert heard.received_events() == []


# -- accounts


def test_a_change_of_account_programme_sends_an_event_with_the_replaced_groups(heard: Listener) -> None:
    issuer = heard.issuer
    account = issuer.account(fee_group_id=302, risk_rules_group_id=402)
    [before] = issuer.data("getAccounts", account_id=account)
    heard.forget()

    answers = [
        issuer.do("changeAccountProgramId", account_id=account, account_program_id=PREPAID_ACCOUNT) for _ in range(2)
    ]

    [after] = issuer.data("getAccounts", account_id=account)
    assert [answer.data for answer in answers] == [[], []]
    assert (after["fee_group_id"], after["risk_group_id"]) == (303, 402)
    assert after["limit_group_id"] == before["limit_group_id"]
    assert heard.received_events("account.program_changed") == [
        {
            "account_id": account,
            "holder_id": before["holder_id"],
            "program_id_before": EVERYDAY_ACCOUNT,
            "program_id": PREPAID_ACCOUNT,
            "replaced_groups": [{"group": "fee_group_id", "id_before": 302, "id": 303}],
        }
    ]


def test_a_programme_change_without_replaced_groups_sends_an_event_with_an_empty_list(heard: Listener) -> None:
    """Before the change, the account already has a fee group of the new programme."""
    issuer = heard.issuer
    account = issuer.account()
    table, key = Account.key(account)
    item = issuer.hub.store.get(table, key)
    assert item is not None
    issuer.hub.store.transact([Put(table, item | {"fee_group_id": 303})])
    [before] = issuer.data("getAccounts", account_id=account)
    heard.forget()

    issuer.data("changeAccountProgramId", account_id=account, account_program_id=PREPAID_ACCOUNT)

    [after] = issuer.data("getAccounts", account_id=account)
    assert after == before | {"program_id": PREPAID_ACCOUNT}
    [told] = heard.received_events("account.program_changed")
    assert (told["program_id"], told["replaced_groups"]) == (PREPAID_ACCOUNT, [])


def test_a_programme_change_that_adds_a_group_sends_an_event_without_a_previous_group(heard: Listener) -> None:
    issuer = heard.issuer
    account = issuer.account(program_id=PREPAID_ACCOUNT)
    heard.forget()

    issuer.data("changeAccountProgramId", account_id=account, account_program_id=EVERYDAY_ACCOUNT)

    [told] = heard.received_events("account.program_changed")
    assert told["replaced_groups"] == [
        {"group": "limit_group_id", "id": 211},
        {"group": "fee_group_id", "id_before": 303, "id": 301},
    ]


# -- external payments


def changed(told: list[EventData]) -> list[tuple[str, str]]:
    return [(each["kind"], each["state"]) for each in told]


def test_an_inbound_payment_sends_an_event_with_its_settlement(heard: Listener) -> None:
    issuer = heard.issuer
    address = issuer.address()
    heard.forget()

    came = issuer.inbound(address, 1250, reference="Rent of Ann Smith")

    assert heard.received_events("external_payment") == [
        {
            "epm_transaction_id": came["epm_transaction_id"],
            "kind": "in",
            "state": "S",
            "epm_address_id": address["id"],
            "account_id": address["account_id"],
            "account_type": 1,
            "holder_id": address["holder_id"],
            "instructed_amount": 1250,
            "instructed_currency": 826,
            "settlement_amount": 1250,
            "settlement_currency": 826,
            "trans_link": f"E{came['epm_transaction_id']:011}",
            "description": "Rent of Ann Smith",
            "counterparty_name": "Bob",
            "scheme": "FPS",
            "transaction_id": came["transaction_id"],
            "created_at": str(issuer.clock.time()),
        }
    ]


def test_a_rejected_inbound_payment_sends_an_event_with_the_reason(heard: Listener) -> None:
    issuer = heard.issuer
    address = issuer.address()
    issuer.data("changeExternalPaymentAddressStatus", epm_address_id=address["id"], status="S")
    heard.forget()

    came = issuer.inbound(address, 1250)

    [told] = heard.received_events("external_payment")
    assert (told["state"], told["reason"]) == ("J", came["reason"])
    assert told.keys() & {"transaction_id", "settlement_amount", "trans_link"} == set()


@pytest.mark.parametrize(
    ("results", "states"), [(["settled"], "S"), (["rejected"], "J"), (["settled", "settled", "returned"], "SR")]
)
def test_an_outbound_payment_sends_an_event_when_created_and_for_each_new_state(
    heard: Listener, results: list[str], states: str
) -> None:
    issuer = heard.issuer
    address = issuer.funded_address(10_000)
    heard.forget()

    number = issuer.pending_payment(address, 100)
    assert changed(heard.received_events("external_payment")) == [("out", "P")]
    found = []
    for result in results:
        issuer.result(number, result)
        found += heard.received_events("external_payment")

    assert changed(found) == [("out", state) for state in states]
    assert {each["epm_transaction_id"] for each in found} == {number}
    assert ("return_transaction_id" in found[-1]) == (states[-1] == "R")


def test_an_outbound_payment_rejected_by_the_provider_sends_a_rejected_event(heard: Listener) -> None:
    address = heard.issuer.funded_address(10_000)
    heard.forget()

    assert heard.issuer.transfer(address, 100, destination_account_name="Refuse Ltd").status_code == 7001

    pending, rejected = sorted(
        heard.received_events("external_payment"), key=lambda each: str(each["state"]), reverse=True
    )
    assert (pending["state"], rejected["state"]) == ("P", "J")
    assert "reason" in rejected


def test_payments_that_the_scheduled_job_completes_send_events(heard: Listener) -> None:
    issuer = heard.issuer
    address = issuer.address()
    came = issuer.inbound(address, 900, sender_name="Lost Bob")["epm_transaction_id"]
    heard.forget()
    assert issuer.do("inboundReturn", epm_transaction_id=came, reason=1).status_code == 8001
    assert changed(heard.received_events("external_payment")) == [("return", "P")]

    issuer.clock.advance(60)
    assert issuer.hub.cards.call(finish_due_payments) == 1

    back, original = sorted(heard.received_events("external_payment"), key=lambda each: str(each["kind"]), reverse=True)
    assert changed([back, original]) == [("return", "S"), ("in", "R")]
    assert (original["epm_transaction_id"], back["returned_epm_transaction_id"]) == (came, came)


def test_an_internal_payment_and_its_return_send_events_for_both_accounts(heard: Listener) -> None:
    issuer = heard.issuer
    source, target = issuer.funded_address(10_000), issuer.address()
    heard.forget()

    issuer.pending_payment(source, 100, destination_iban=target["iban"])
    out, into = heard.received_events("external_payment")
    assert changed([out, into]) == [("out", "S"), ("in", "S")]
    assert (out["account_id"], into["account_id"]) == (source["account_id"], target["account_id"])

    issuer.data("inboundReturn", epm_transaction_id=into["epm_transaction_id"], reason=1)
    assert changed(heard.received_events("external_payment")) == [("out", "R"), ("in", "R"), ("return", "S")]


def test_a_mandate_and_its_direct_debits_send_an_event_for_each_state(heard: Listener) -> None:
    issuer = heard.issuer
    address = issuer.funded_address(500)
    heard.forget()

    number = issuer.mandate(address)
    mandate = {"epm_mandate_id": number, "epm_address_id": address["id"]}
    named = {"creditor_name": "Gym", "reference": "MEMBER-7"}
    assert heard.received_events("mandate") == [mandate | {"state": "A"} | named]

    announced = [issuer.debit(number, amount) for amount in (400, 300)]
    pending = heard.received_events("external_payment")
    assert changed(pending) == [("debit", "P")] * 2
    assert [each["cut_off"] for each in pending] == [each["cut_off"] for each in announced]
    assert [each["epm_mandate_id"] for each in pending] == [number] * 2

    issuer.clock.advance(DAY)
    assert sum(issuer.hub.cards.call(finish_due_payments) for _ in range(2)) == 2  # one may be in the other's way
    assert sorted(changed(heard.received_events("external_payment"))) == [("debit", "J"), ("debit", "S")]

    issuer.data("cancelExternalPaymentMandate", epm_mandate_id=number, reason=2)
    assert heard.received_events("mandate") == [mandate | {"state": "C"} | named]
    assert issuer.debit(number, 100)["state"] == "J"
    assert changed(heard.received_events("external_payment")) == [("debit", "J")]


# -- with its cause, once, to whom it concerns


def test_a_duplicate_request_sends_no_further_event(heard: Listener) -> None:
    issuer, reference = heard.issuer, heard.issuer.reference()
    address = issuer.funded_address(10_000)
    heard.forget()

    for _ in range(3):
        assert issuer.transfer(address, 100, request_reference_id=reference).status == "success"

    assert changed(heard.received_events()) == [("out", "P")]


@pytest.mark.parametrize("applied", [True, False], ids=["applied", "not applied"])
def test_an_event_is_stored_only_if_the_change_is_stored(heard: Listener, applied: bool) -> None:
    issuer, reference = heard.issuer, heard.issuer.reference()
    card = issuer.card()
    heard.forget()
    members = {"card_id": card.card_id, "request_reference_id": reference}

    with issuer.causeway.answer_lost("transact", applied=applied):
        assert issuer.do("activateCard", **members).status_code == (None if applied else 9001)
    assert len(heard.deliveries()) == int(applied)

    assert issuer.do("activateCard", **members).status == "success"
    assert len(heard.deliveries()) == int(not applied)


def test_a_retried_status_change_sends_one_event_with_the_stored_statuses(heard: Listener) -> None:
    issuer = heard.issuer
    card = issuer.card_in("A")
    heard.forget()

    def somebody_else() -> None:
        issuer.data("changeCardStatus", card_id=card.card_id, status="T")

    with issuer.causeway.meanwhile("transact", somebody_else):
        issuer.data("changeCardStatus", card_id=card.card_id, status="S")

    moves = {(each["card_status_before"], each["card_status"]) for each in heard.received_events()}
    assert moves == {("A", "T"), ("T", "S")}
