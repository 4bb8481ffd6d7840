"""Tests of client assertions: signature, audience, expiry and single use."""

from typing import Any

import pytest

from chalicelib.openbanking.protocol import refusals
from chalicelib.openbanking.protocol.oauth_security import ASSERTION_TYPE, SIGNING_ALGORITHMS
from tests.causeway import Answer, Causeway
from tests.kit.logs import Lines
from tests.openbanking.key_holder import BASE, KeyHolder, secure


@pytest.fixture
def holder(causeway: Causeway) -> KeyHolder:
    made = KeyHolder()
    secure(causeway, made)
    return made


def ask(causeway: Causeway, assertion: str | None) -> Answer:
    """Send a call without a form, with the assertion in a header."""
    headers = {"x-client-assertion": assertion} if assertion else {}
    return causeway.tpp.call("GET", "/tpp/banks", client_id="", headers=headers)


def is_refused(answer: Answer) -> bool:
    wrong = refusals.ASSERTION_WRONG()
    return (answer.status, answer.body["code"], answer.body["title"]) == (401, "WRONG_CREDENTIALS", wrong.message)


@pytest.mark.parametrize("algorithm", SIGNING_ALGORITHMS)
def test_an_assertion_with_any_allowed_algorithm_authenticates(causeway: Causeway, algorithm: str) -> None:
    holder = KeyHolder(algorithm)
    secure(causeway, holder)

    assert ask(causeway, holder.assertion(causeway)).status == 200


def test_an_assertion_identifies_the_client(causeway: Causeway, holder: KeyHolder) -> None:
    by_header = causeway.tpp.call("GET", "/tpp/banks", headers={"x-client-assertion": holder.assertion(causeway)})
    by_form = causeway.tpp.call(
        "POST", "/tpp/token/revoke", form=holder.form(causeway, {"token": "unknown"}), client_id=""
    )

    assert (by_header.status, by_form.status) == (200, 200)


def test_a_client_with_a_key_needs_an_assertion_on_every_call_without_a_bearer_token(
    causeway: Causeway, holder: KeyHolder
) -> None:
    bic = causeway.banks[2].bic
    calls: list[tuple[str, str, Any]] = [
        ("GET", "/tpp/banks", None),
        ("GET", f"/tpp/scope?bic={bic}", None),
        ("POST", "/tpp/authorize", {"bic": bic, "scopes": ["accounts"]}),
        ("POST", "/tpp/token", {"code": "x"}),
        ("POST", "/tpp/token/revoke", {"token": "x"}),
        ("POST", "/tpp/direct_payment_initiation", {"bic": bic}),
        ("GET", f"/tpp/payment_status?payment_id=1&bic={bic}", None),
        ("GET", "/tpp/requests/unknown", None),
        ("POST", "/oauth/introspect", {"token": "x"}),
    ]
    for method, path, body in calls:
        assert is_refused(causeway.tpp.call(method, path, body)), path
        with_one = causeway.tpp.call(method, path, body, headers={"x-client-assertion": holder.assertion(causeway)})
        assert with_one.status != 401, path
    pushed = {"response_type": "code"}
    assert is_refused(causeway.tpp.call("POST", "/oauth/par", form=pushed))
    assert causeway.tpp.call("POST", "/oauth/par", form=holder.form(causeway, pushed)).status != 401


def test_a_missing_or_wrong_assertion_returns_401_with_www_authenticate(causeway: Causeway, holder: KeyHolder) -> None:
    """RFC 9110, section 15.5.2: every 401 has ``WWW-Authenticate``."""
    for assertion in ("", "no.jwt.atall", KeyHolder().assertion(causeway)):
        answer = ask(causeway, assertion) if assertion else causeway.tpp.call("GET", "/tpp/banks")
        assert (answer.status, answer.headers["www-authenticate"]) == (401, 'Basic realm="causeway"')


def test_a_bearer_call_accepts_a_missing_assertion_and_refuses_an_invalid_assertion(
    causeway: Causeway, holder: KeyHolder
) -> None:
    tokens = holder.redeem(causeway, holder.code(causeway), proof=None).body

    assert causeway.tpp.call("GET", "/tpp/consent", bearer=tokens["access_token"]).status == 200
    wrong = causeway.tpp.call(
        "GET",
        "/tpp/consent",
        bearer=tokens["access_token"],
        headers={"x-client-assertion": KeyHolder().assertion(causeway)},
    )
    assert is_refused(wrong)


@pytest.mark.parametrize(
    "claims",
    [
        {"iss": None},
        {"sub": None},
        {"iss": "other"},
        {"aud": None},
        {"aud": "https://other.example.com"},
        {"aud": [BASE]},
        {"aud": [BASE, "https://other.example.com"]},
        {"aud": f"{BASE}/"},
        {"jti": None},
        {"jti": ""},
        {"jti": "x" * 257},
        {"jti": 5},
        {"exp": None},
        {"exp": "soon"},
        {"exp": True},
    ],
    ids=str,
)
def test_an_assertion_with_a_wrong_claim_is_refused(
    causeway: Causeway, holder: KeyHolder, claims: dict[str, Any]
) -> None:
    assert is_refused(
        causeway.tpp.call("GET", "/tpp/banks", headers={"x-client-assertion": holder.assertion(causeway, **claims)})
    )


@pytest.mark.parametrize(("seconds", "status"), [(1, 200), (300, 200), (301, 401), (0, 200), (-9, 200), (-10, 401)])
def test_the_claim_exp_of_an_assertion_may_be_at_most_300_seconds_in_the_future(
    causeway: Causeway, holder: KeyHolder, seconds: int, status: int
) -> None:
    """An assertion is accepted until ten seconds after ``exp``, because clocks can differ."""
    assert ask(causeway, holder.assertion(causeway, exp=causeway.clock.time() + seconds)).status == status


@pytest.mark.parametrize("claim", ["iat", "nbf"])
@pytest.mark.parametrize(("ahead", "status"), [(0, 200), (10, 200), (60, 200), (61, 401), (3600, 401)])
def test_the_claims_iat_and_nbf_of_an_assertion_may_be_up_to_60_seconds_in_the_future(
    causeway: Causeway, holder: KeyHolder, claim: str, ahead: int, status: int
) -> None:
    claims: Any = {claim: causeway.clock.time() + ahead}

    assert ask(causeway, holder.assertion(causeway, **claims)).status == status


def test_endpoint_urls_are_valid_audiences_only_without_the_profile_fapi2(
    causeway: Causeway, holder: KeyHolder
) -> None:
    def revoke(audience: str) -> Answer:
        form = holder.form(causeway, {"token": "unknown"}, aud=audience)
        return causeway.tpp.call("POST", "/tpp/token/revoke", form=form, client_id="")

    addresses = (f"{BASE}/tpp/token/revoke", f"{BASE}/tpp/token")
    assert [revoke(address).status for address in addresses] == [200, 200]
    assert is_refused(revoke(f"{BASE}/oauth/par"))
    secure(causeway, holder, security_profile="fapi2")
    assert all(is_refused(revoke(address)) for address in addresses)


def test_a_replayed_assertion_is_refused(causeway: Causeway, holder: KeyHolder) -> None:
    assertion = holder.assertion(causeway)

    assert ask(causeway, assertion).status == 200
    assert is_refused(ask(causeway, assertion))
    again = holder.form(causeway, {"token": "unknown"}) | {"client_assertion": assertion}
    assert is_refused(causeway.tpp.call("POST", "/tpp/token/revoke", form=again, client_id=""))


def test_two_clients_may_use_the_same_jti(causeway: Causeway, holder: KeyHolder) -> None:
    assert ask(causeway, holder.assertion(causeway, jti="one")).status == 200

    causeway.tpp.client = causeway.hub.openbanking.clients.create(owner="b@example.com", title="Other").client
    secure(causeway, holder)
    assert ask(causeway, holder.assertion(causeway, jti="one")).status == 200


def test_a_wrong_client_assertion_type_is_refused(causeway: Causeway, holder: KeyHolder) -> None:
    form = holder.form(causeway, {"token": "x"})
    without_client = form | {"client_assertion_type": "other"}
    assert is_refused(causeway.tpp.call("POST", "/tpp/token/revoke", form=without_client, client_id=""))
    assert is_refused(ask(causeway, "not a JWT"))

    for kind in ("", "urn:ietf:params:oauth:client-assertion-type:saml2-bearer"):
        sent = form | {"client_assertion_type": kind, "client_id": causeway.tpp.client_id}
        assert is_refused(causeway.tpp.call("POST", "/tpp/token/revoke", form=sent, client_id=""))
    assert form["client_assertion_type"] == ASSERTION_TYPE


@pytest.mark.parametrize("path", ["/oauth/introspect", "/tpp/token/revoke"])
def test_a_client_assertion_type_without_an_assertion_is_refused(causeway: Causeway, path: str) -> None:
    form = {"token": "x", "client_assertion_type": "other"}

    assert is_refused(causeway.tpp.call("POST", path, form=form))


def test_two_different_assertions_in_one_request_are_refused(causeway: Causeway, holder: KeyHolder) -> None:
    answer = causeway.tpp.call(
        "POST",
        "/tpp/token/revoke",
        form=holder.form(causeway, {"token": "x"}),
        headers={"x-client-assertion": holder.assertion(causeway)},
    )

    assert answer.status == 401
    assert "two different values for the client assertion" in answer.body["title"]


def test_a_secret_together_with_an_assertion_is_refused(causeway: Causeway, holder: KeyHolder) -> None:
    form = holder.form(causeway, {"token": "x", "client_secret": "secret"})

    answer = causeway.tpp.call("POST", "/tpp/token/revoke", form=form)

    assert (answer.status, answer.body["error"]) == (401, "invalid_client")


@pytest.mark.parametrize("method", [None, "none", "client_secret_basic"])
def test_a_client_without_a_key_cannot_use_an_assertion(causeway: Causeway, method: str | None) -> None:
    changed = {"auth_method": method} if method else {"require_pushed_authorization_requests": False}
    made = causeway.hub.openbanking.clients.update(causeway.tpp.client_id, security=changed)
    causeway.tpp.client_secret = made.secret

    answer = causeway.tpp.call("GET", "/tpp/banks", headers={"x-client-assertion": KeyHolder().assertion(causeway)})

    assert is_refused(answer)


def test_a_client_can_send_its_secret_only_by_the_configured_authentication_method(causeway: Causeway) -> None:
    client_id = causeway.tpp.client_id
    secret = causeway.hub.openbanking.clients.update(client_id, security={"auth_method": "client_secret_post"}).secret
    assert secret

    posted = {"token": "x", "client_id": client_id, "client_secret": secret}
    assert causeway.tpp.call("POST", "/tpp/token/revoke", form=posted, client_id="").status == 200
    causeway.tpp.client_secret = secret
    by_basic = causeway.tpp.call("POST", "/tpp/token/revoke", form={"token": "x"})
    assert (by_basic.status, by_basic.body["title"]) == (401, refusals.SECRET_WRONG().message)
    assert causeway.tpp.call("GET", "/tpp/banks").status == 200, "a call without a form has HTTP Basic only"


def test_the_reason_of_a_refused_assertion_is_logged_and_not_returned(
    causeway: Causeway, holder: KeyHolder, lines: Lines
) -> None:
    for claims in ({"aud": "https://other.example.com"}, {"exp": causeway.clock.time() - 60}):
        assert is_refused(
            causeway.tpp.call("GET", "/tpp/banks", headers={"x-client-assertion": holder.assertion(causeway, **claims)})
        )

    reasons = [line["reason"] for line in lines.all() if line["message"] == "client assertion refused"]
    assert reasons == [
        "aud must be one string, this service's issuer",
        "exp must be at most 300 seconds ahead, and not in the past",
    ]


_VERIFIER = "a-code-verifier-that-is-long-enough-for-rfc-7636"
