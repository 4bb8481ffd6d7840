"""The conformance kit's hub responds to banks in the same way as the real hub."""

import json
import socket
from dataclasses import replace
from typing import Any

import pytest

from chalicelib.foundation.crypto import signatures
from chalicelib.foundation.http.outbound import Reply
from chalicelib.foundation.identifiers import new_uuid
from chalicelib.openbanking.protocol import refusals
from chalicelib.openbanking.protocol.bank_calls import BODY_BYTES
from chalicelib.openbanking.protocol.version import Version
from chalicelib.openbanking.protocol.versions import VERSIONS
from infra.conformance.caller import Call
from infra.conformance.hub import CLIENT_ID, Hub
from infra.conformance.hub_server import serving
from infra.conformance.hub_state import Authorization, HttpAnswer
from infra.conformance.masking import Masking
from tests.causeway import START
from tests.infra.conformance.kit_runs import HUB_KEY, file_of
from tests.infra.conformance.small_bank import API_KEY, IBAN, KEY, OTHER_KEY, SmallBank
from tests.kit.time import ManualClock


class Caller:
    def __init__(self, version: Version) -> None:
        self.version = version
        self.clock = ManualClock(START)
        self.hub = Hub(file_of(SmallBank(version)), HUB_KEY, Masking(), self.clock)

    def open(self) -> Authorization:
        return self.hub.open_authorization(list(self.version.scopes)[:2])

    def call(
        self, path: str, members: Any, *, body: bytes | None = None, method: str = "POST", **headers: str | None
    ) -> tuple[int, Any]:
        """Return the status and the members of a response.

        The names of ``headers`` contain underscores. ``None`` omits a header.
        """
        named = self.version.in_spelling(members) if isinstance(members, dict) else members
        sent = json.dumps(named).encode() if body is None else body
        given: dict[str, str | None] = {
            "x-api-key": API_KEY,
            "x-request-id": new_uuid(),
            "x-signature": signatures.sign(KEY, sent),
            "content-type": "application/json",
        }
        given |= {name.replace("_", "-"): value for name, value in headers.items()}
        present = {name: value for name, value in given.items() if value is not None}
        answer = self.hub.handle(method, f"{self.version.base}{path}", "", present, sent)
        return answer.status, json.loads(answer.body)

    def code(self, path: str, members: Any, **variation: Any) -> tuple[int, Any]:
        """Return the status and the error code of a rejection, and the first additional code if there is any."""
        status, found = self.call(path, members, **variation)
        more = found.get("additionalErrors")
        code = found[self.version.answers.code]
        return (status, f"{code} {more[0]['code']}") if more else (status, code)

    def get(self, path: str, query: str = "") -> HttpAnswer:
        return self.hub.handle("GET", path, query, {}, b"")

    def approve(self, opened: Authorization) -> dict[str, Any]:
        members = {"request_url": opened.request.request_url, "scopes": list(opened.request.scopes), "ibans": [IBAN]}
        status, found = self.call("/consent", members)
        assert status == 200
        return {"token": opened.token, **found}


@pytest.fixture(params=VERSIONS.values(), ids=str)
def caller(request: pytest.FixtureRequest) -> Caller:
    return Caller(request.param)


def spelled(caller: Caller, members: dict[str, Any]) -> dict[str, Any]:
    return {caller.version.spell(name): value for name, value in members.items()}


def test_init_authorization_returns_the_tpp_name_the_scopes_and_the_cancel_url(caller: Caller) -> None:
    opened = caller.open()
    status, found = caller.call("/init_authorization", {"request_url": opened.request.request_url})

    assert status == 200
    assert found == spelled(
        caller,
        {
            "tpp_name": "Causeway conformance kit",
            "tpp_registration_number": "SANDBOX-CONFORMANCE",
            "scopes": list(opened.request.scopes),
            "cancel_url": f"{caller.hub.bank.public_url}{caller.version.base}/cancel/{opened.cancel_secret}",
        },
    )
    assert f"client_id={CLIENT_ID}" in opened.request.request_url


def test_saving_a_consent_returns_a_token_and_a_callback_url_with_a_code_and_the_state(caller: Caller) -> None:
    opened = caller.open()
    found = caller.approve(opened)

    assert found[caller.version.spell("access_token")] == opened.token
    assert found[caller.version.spell("valid_until")].endswith("+00:00")
    assert f"state={opened.request.state}" in opened.callback_url
    assert "authorization_code=" in opened.callback_url
    caller.get("/callback", opened.callback_url.partition("?")[2])
    assert opened.arrivals[0]["state"] == opened.request.state


REFUSALS = [
    ({"x_api_key": None}, {1: (401, 4201), 2: (401, "AUTHENTICATION_REQUIRED")}),
    ({"x_api_key": "another-key"}, {1: (401, 4200), 2: (401, "WRONG_CREDENTIALS")}),
    ({"x_request_id": "1"}, {1: (401, 4204), 2: (401, "REQUEST_ID_NOT_UUID")}),
    ({"x_signature": "AAAA"}, {1: (401, 4200), 2: (400, "HEADERS_ERROR")}),
    ({"content_type": "text/plain"}, {1: (400, 4001), 2: (400, "HEADERS_ERROR")}),
    ({"body": b"{", "x_signature": signatures.sign(KEY, b"{")}, {1: (400, 4003), 2: (400, "FORMAT_ERROR")}),
    ({"body": b" " * (BODY_BYTES + 1)}, {1: (400, 4001), 2: (400, "FORMAT_ERROR")}),
]


@pytest.mark.parametrize(("variation", "expected"), REFUSALS)
def test_the_conformance_hub_checks_calls_in_the_order_and_with_the_codes_of_the_hub(
    caller: Caller, variation: dict[str, Any], expected: dict[int, Any]
) -> None:
    members = {"request_url": caller.open().request.request_url}

    assert caller.code("/init_authorization", members, **variation) == expected[caller.version.number]


def test_a_missing_signature_is_refused_if_the_version_demands_signatures(caller: Caller) -> None:
    members = {"request_url": caller.open().request.request_url}
    status, _ = caller.call("/init_authorization", members, x_signature=None)

    assert status == (400 if caller.version.signature_required else 200)


def test_the_rejection_of_a_signature_with_an_unknown_key_lists_the_keys_tried(caller: Caller) -> None:
    body = b"{}"
    _, found = caller.call("/init_authorization", {}, body=body, x_signature=signatures.sign(OTHER_KEY, body))

    assert "keys tried: " in found[caller.version.answers.text]


MEMBERS = [
    ("/init_authorization", {}, {1: (400, 4300), 2: "AUTHORIZATION_REQUEST_URL_DOES_NOT_EXIST"}),
    ("/init_authorization", {"request_url": "x"}, {1: (400, 4301), 2: "AUTHORIZATION_REQUEST_URL_NOT_VALID"}),
    ("/token/revoke", {"access_token": "malformed"}, {1: (400, 4001), 2: "AUTHORIZATION_TOKEN_NOT_VALID"}),
    ("/payments/status", {"payment_id": "1", "payment_status": "X"}, {1: (400, 4001), 2: "INVALID_PAYMENT_STATUS"}),
    ("/payments/status", {"payment_id": "1", "payment_status": 1}, {1: (400, 4001), 2: "INVALID_PAYMENT_ID_FORMAT"}),
    ("/init_authorization", {"request_url": "x", "more": 1}, {1: (400, 4001), 2: "EXTRA_FIELDS_PROVIDED"}),
]


@pytest.mark.parametrize(("path", "members", "expected"), MEMBERS)
def test_invalid_members_of_a_bank_call_return_the_documented_error_codes(
    caller: Caller, path: str, members: dict[str, Any], expected: dict[int, Any]
) -> None:
    status, code = caller.code(path, members)
    wanted = expected[caller.version.number]

    assert (status, code) == wanted if isinstance(wanted, tuple) else str(code).startswith(f"FORMAT_ERROR {wanted}")


def test_a_consent_with_fewer_scopes_or_without_accounts_and_a_second_consent_are_refused(caller: Caller) -> None:
    opened = caller.open()
    good = {"request_url": opened.request.request_url, "scopes": list(opened.request.scopes), "ibans": [IBAN]}
    fewer = {**good, "scopes": good["scopes"][:1]}
    without = {name: value for name, value in good.items() if name != "ibans"}

    assert [caller.call("/consent", each)[0] for each in (fewer, without, good, good)] == [
        *(400, 400, 200),
        caller.version.errors(refusals.CONSENT_SAVED_BEFORE(), "", 0)[0],
    ]


def test_a_duplicate_request_id_returns_the_first_response_only_for_an_equal_body(caller: Caller) -> None:
    opened, request_id = caller.open(), new_uuid()
    good = {"request_url": opened.request.request_url, "scopes": list(opened.request.scopes), "ibans": [IBAN]}
    first = caller.call("/consent", good, x_request_id=request_id)

    assert caller.call("/consent", good, x_request_id=request_id) == first
    assert caller.call("/consent", good, x_request_id=request_id.upper()) == first
    assert caller.call("/consent", {**good, "account_ids": ["1"]}, x_request_id=request_id)[0] == 400


def test_a_cancelled_or_expired_authorization_is_refused(caller: Caller) -> None:
    cancelled, expired = caller.open(), caller.open()
    answer = caller.get(f"{caller.version.base}/cancel/{cancelled.cancel_secret}")
    caller.clock.advance(3600)

    assert (answer.status, "error=access_denied" in answer.location) == (303, True)
    for opened in (cancelled, expired):
        assert caller.call("/init_authorization", {"request_url": opened.request.request_url})[0] == 400


def test_a_request_for_an_unknown_action_of_the_conformance_hub_returns_401(caller: Caller) -> None:
    refused = (401, 4202) if caller.version.answers.says_status else (401, "API_ACTION_DOES_NOT_EXIST")

    assert caller.code("/nothing", {}) == refused
    assert caller.code("/consent", {}, method="PUT") == refused


def test_a_status_report_before_the_payment_response_is_refused_and_later_counted(caller: Caller) -> None:
    status = next(iter(caller.version.statuses.meanings))
    members = {"payment_id": "4711", "payment_status": status}
    early = caller.call("/payments/status", members)[0]
    reply = Reply(200, b'{"payment_id": 4711}', {}, 0.0)
    caller.hub.observe(Call("/payment", {}, {}, b"", reply, None))

    assert (early, caller.call("/payments/status", members)[0]) == (400, 200)
    assert [each.status for each in caller.hub.reports_of("4711")] == [status, status]


def test_token_revocation_is_idempotent(caller: Caller) -> None:
    opened = caller.open()
    caller.approve(opened)

    assert [caller.call("/token/revoke", {"access_token": opened.token})[0] for _ in range(2)] == [200, 200]
    assert opened.token in caller.hub.revoked


def test_the_consents_status_call_returns_the_status_of_each_consent(caller: Caller) -> None:
    valid, ended, revoked = caller.open(), caller.open(), caller.open()
    for opened in (valid, ended, revoked):
        caller.approve(opened)
    caller.hub.ended.add(ended.token)
    caller.call("/token/revoke", {"access_token": revoked.token})
    consent_id = valid.token.partition(".")[0]
    members = {"access_tokens": [valid.token, ended.token, revoked.token, "x"], "consent_ids": [consent_id, "none"]}
    status, found = caller.call("/consents/status", members)

    names = [caller.version.spell(name) for name in ("status", "ended_by", "consent_id")]
    states = [tuple(each[name] for name in names) for each in found["consents"]]
    assert status == 200
    assert [state[:2] for state in states] == [
        ("authorised", None),
        ("revoked", "tpp"),
        ("revoked", "bank"),
        ("unknown", None),
        ("authorised", None),
        ("unknown", None),
    ]
    assert [state[2] for state in states[3:]] == [None, consent_id, "none"]


def test_the_public_key_is_published_as_pem_and_jwks(caller: Caller) -> None:
    pem, key_set = caller.get("/bank/public_key"), caller.get("/.well-known/jwks.json")

    assert pem.body == signatures.public_pem(HUB_KEY.public_key())
    assert json.loads(key_set.body)["keys"][0]["kid"] == signatures.key_id(HUB_KEY.public_key())


def test_a_request_for_an_unknown_page_of_the_conformance_hub_returns_404(caller: Caller) -> None:
    assert [caller.get(path).status for path in ("/", "/other", f"{caller.version.base}/cancel/x")] == [404, 404, 404]


# -- over HTTP


def sent_raw(text: bytes) -> bytes:
    caller = Caller(VERSIONS[2])
    with serving(caller.hub), socket.create_connection(caller.hub.bank.listen, 5) as connection:
        connection.sendall(text)
        answered = b""
        while piece := connection.recv(65536):
            answered += piece
    return answered


@pytest.mark.parametrize(
    "body", [b"Content-Length: 1\r\n\r\n{", b"Transfer-Encoding: chunked\r\n\r\n1\r\n{\r\n0\r\n\r\n"]
)
def test_the_conformance_hub_reads_bodies_with_a_content_length_and_chunked_bodies(body: bytes) -> None:
    headers = (
        f"POST /bank/v2/consent HTTP/1.1\r\nHost: kit\r\nConnection: close\r\nX-Api-Key: {API_KEY}\r\n"
        f"X-Request-Id: {new_uuid()}\r\nX-Signature: {signatures.sign(KEY, b'{')}\r\n"
    )
    answered = sent_raw(headers.encode() + body)

    assert answered.startswith(b"HTTP/1.1 400 ")
    assert b"the body is not valid JSON" in answered


@pytest.mark.parametrize(
    "body",
    [
        b"Content-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n",
        b"Transfer-Encoding: chunked\r\n\r\n-1\r\n",
        b"no colon\r\n\r\n",
    ],
)
def test_an_unreadable_body_returns_400_and_closes_the_connection(body: bytes) -> None:
    answered = sent_raw(b"POST /bank/v2/consent HTTP/1.1\r\nHost: kit\r\n" + body + b"GET / HTTP/1.1\r\n\r\n")

    assert answered.startswith(b"HTTP/1.1 400 ")
    assert answered.count(b"HTTP/1.1 ") == 1


def test_the_conformance_hub_accepts_paths_with_and_without_the_prefix_of_the_public_url() -> None:
    caller = Caller(VERSIONS[1])
    caller.hub.bank = replace(caller.hub.bank, public_url="https://tunnel.example.com/kit")

    assert caller.get("/kit/bank/public_key").status == 200
    assert caller.get("/bank/public_key").status == 200
