"""Tests of unusable responses to payments: the outcome is unknown, and the payment is recorded."""

from typing import Any

import pytest

from chalicelib.foundation import jsontext
from chalicelib.foundation.http.outbound import Reply
from chalicelib.foundation.settings import Settings
from chalicelib.openbanking.protocol.payment_enumerations import is_confirmation_url
from tests.causeway import Answer, Causeway
from tests.openbanking.fault_scenarios import attempt_all_due
from tests.openbanking.faults import items
from tests.openbanking.kit import VERSIONS
from tests.openbanking.payments import KINDS, WEBHOOKS, Pisp, payment_answer

NO_URLS = [
    "javascript:alert(1)",
    "JavaScript://bank.example/%0aalert(1)",
    "data:text/html,x",
    "ftp://bank.example/confirm",
    "bank.example/confirm",
    "//bank.example/confirm",
    "https://",
    "https:///confirm",
    "https:bank.example",
    "https://[bank",
    "",
    "-",
    "https://user:password@bank.example/confirm",
    "https://bank.example@evil.example/confirm",
    "https://@bank.example/",
    "https://bank.example\\@evil.example/",
    "https://bank.example\\confirm",
    "https://bank.example/confirm?next=\\",
    "https://bank.example/con firm",
    " https://bank.example/confirm",
    "https://bank.example/confirm ",
    "https://bank.example/con\tfirm",
    "https://bank.example/confirm\n",
    "https://bank.example/\u00a0confirm",
    "https://bank.example/\u200cconfirm",
    "https://bank.example:99999/",
    "https://bank.example:https/",
]


def unknown(answer: Answer) -> None:
    assert (answer.status, answer.body["code"]) == (502, "ASPSP_UNKNOWN_ERROR"), answer
    assert "unknown whether the bank has taken the payment" in answer.body["title"]
    assert "payment_id: P-1" in answer.body["additionalErrors"][0]["details"]


def is_known(pisp: Pisp, first: Any) -> None:
    (payment,) = items(pisp.causeway, "payments")
    assert [entry["status"] for entry in payment["history"]] == [first]
    assert pisp.report(4).status == 200


@VERSIONS
@KINDS
@pytest.mark.parametrize("url", NO_URLS)
def test_an_invalid_confirmation_url_leaves_the_outcome_unknown(
    causeway: Causeway, version: int, kind: str, url: str
) -> None:
    pisp = Pisp(causeway, version, kind)
    pisp.bank_answers(payment_answer(version) | {"confirmation_url": url})

    unknown(pisp.pay())

    is_known(pisp, 1 if version == 1 else "RCVD")


@VERSIONS
@KINDS
def test_a_confirmation_url_with_a_lone_surrogate_returns_502(causeway: Causeway, version: int, kind: str) -> None:
    pisp = Pisp(causeway, version, kind)
    body = jsontext.dumps(payment_answer(version) | {"confirmation_url": "https://bank.example/half"})
    pisp.bank_answers(Reply(200, body.replace("half", "\\ud83d").encode(), {}, 0.01))

    answer = pisp.pay()

    assert (answer.status, answer.body["code"]) == (502, "ASPSP_UNKNOWN_ERROR")
    assert not is_confirmation_url("https://bank.example/\ud83d", local=True)


@pytest.mark.parametrize("local", [True, False])
@pytest.mark.parametrize(
    "url",
    [
        "https://bank.example/confirm?id=1&x=ü",
        "HTTPS://bank.example:8443",
        "https://[::1]/",
        "https://bank.example/confirm?mail=a@b.example",
        "https://bank.example/a@b#c@d",
    ],
)
def test_https_confirmation_url_is_valid_in_every_stage(local: bool, url: str) -> None:
    assert is_confirmation_url(url, local=local)


@pytest.mark.parametrize(("stage", "status"), [("local", 200), ("dev", 502), ("prod", 502)])
def test_an_http_confirmation_url_is_valid_in_the_local_stage_only(
    shared_causeway: Causeway, stage: str, status: int
) -> None:
    of = shared_causeway.hub.settings
    address = "http://127.0.0.1:8000" if stage == "local" else "https://hub.example"
    names = {"RESOURCE_PREFIX": of.prefix, "KEYS_SECRET": of.keys_secret, "KMS_KEY_ID": of.kms_key_id}
    causeway = shared_causeway.again(Settings.from_environment({"STAGE": stage, "PUBLIC_URL": address, **names}))
    with causeway.installed():
        pisp = Pisp(causeway, 1, "direct")
        for scheme, expected in (("http", status), ("https", 200)):
            pisp.bank_answers(payment_answer(1, scheme) | {"confirmation_url": f"{scheme}://bank.example/confirm"})
            assert pisp.pay(callback_url=f"{address}/payments/done").status == expected


@KINDS
@pytest.mark.parametrize("status", ["XXXX", "rcvd", "AC", "1", ""])
def test_an_unknown_version_2_status_in_a_payment_response_leaves_the_outcome_unknown(
    causeway: Causeway, kind: str, status: str
) -> None:
    pisp = Pisp(causeway, 2, kind)
    pisp.bank_answers(payment_answer(2) | {"status": status})

    unknown(pisp.pay())

    is_known(pisp, "RCVD")


@pytest.mark.parametrize(
    ("version", "changes"),
    [
        (1, {"confirmation_url": None}),
        (1, {"confirmation_url": 7}),
        (2, {"confirmation_url": None}),
        (2, {"status": None}),
        (2, {"status": []}),
        (2, {"payment_id": None, "paymentId": "P-1", "status": "XXXX"}),
    ],
    ids=repr,
)
def test_a_payment_is_recorded_if_the_malformed_response_contains_a_payment_id(
    causeway: Causeway, version: int, changes: dict[str, Any]
) -> None:
    pisp = Pisp(causeway, version)
    answer = {name: value for name, value in (payment_answer(version) | changes).items() if value is not None}
    pisp.bank_answers(answer)

    unknown(pisp.pay())

    is_known(pisp, 1 if version == 1 else "RCVD")


def test_a_payment_response_without_a_usable_confirmation_url_records_the_payment_status(causeway: Causeway) -> None:
    pisp = Pisp(causeway, 2)
    pisp.bank_answers(payment_answer(2) | {"status": "ACTC", "confirmation_url": "javascript:1"})

    unknown(pisp.pay())

    is_known(pisp, "ACTC")


@VERSIONS
@pytest.mark.parametrize("payment_id", ["", "p" * 1025, "a\nb", None, 1.5, True, {}], ids=repr)
def test_no_payment_is_recorded_for_a_payment_response_without_a_usable_payment_id(
    causeway: Causeway, version: int, payment_id: Any
) -> None:
    pisp = Pisp(causeway, version)
    pisp.bank_answers(payment_answer(version) | {"payment_id": payment_id, "confirmation_url": "javascript:1"})

    answer = pisp.pay()

    assert answer.status == 502
    assert "unknown whether" in answer.body["title"]
    assert items(causeway, "payments") == []


@VERSIONS
def test_a_one_time_consent_is_used_after_an_unusable_response_and_a_retry_repeats_the_error(
    causeway: Causeway, version: int
) -> None:
    pisp = Pisp(causeway, version, consent_type="one_time")
    pisp.bank_answers(payment_answer(version) | {"confirmation_url": "javascript:1"})

    first = pisp.pay("key")

    unknown(first)
    assert pisp.pay("key").text == first.text
    assert pisp.pay("other").status == 401
    assert pisp.calls == 1
    pisp.bank.answers["/v2_payment_single_status"] = lambda sent: {"transaction_status": "ACSC"}
    assert pisp.status().status == 200


@VERSIONS
@KINDS
def test_an_unusable_response_to_a_deferred_payment_records_the_payment(
    causeway: Causeway, version: int, kind: str
) -> None:
    pisp = Pisp(causeway, version, kind)
    pisp.bank_answers(payment_answer(version) | {"confirmation_url": "javascript:1"})
    for path in ("/v2_payment_single_status", "/v2_payment_bulk_status"):
        pisp.bank.answers[path] = lambda sent: {"transaction_status": "RCVD"}

    accepted = pisp.pay_later()
    attempt_all_due(causeway)

    outcome = pisp.outcome(accepted.body["request_id"])
    assert (outcome["state"], outcome["status"]) == ("failed", 502)
    assert "payment_id: P-1" in outcome["body"]["additionalErrors"][0]["details"]
    assert [sent.path for sent in pisp.bank.received].count(WEBHOOKS[version, kind]) == 1
    is_known(pisp, 1 if version == 1 else "RCVD")


def test_an_early_status_report_applies_to_a_payment_with_an_unusable_response(causeway: Causeway) -> None:
    pisp = Pisp(causeway, 2)
    pisp.report("ACSC")
    pisp.bank_answers(payment_answer(2) | {"status": "XXXX"})

    unknown(pisp.pay())

    (payment,) = items(causeway, "payments")
    assert payment["status"] == "ACSC"


@VERSIONS
def test_a_bank_error_with_a_payment_id_is_a_refusal(causeway: Causeway, version: int) -> None:
    pisp = Pisp(causeway, version)
    error = {"status": "error", "error_code": 1} if version == 1 else {"code": "LIMIT", "title": "too much"}
    pisp.bank_answers(error | {"payment_id": "P-1"})

    answer = pisp.pay()

    assert (answer.status, "refused" in answer.body["title"]) == (502, True)
    assert items(causeway, "payments") == []
