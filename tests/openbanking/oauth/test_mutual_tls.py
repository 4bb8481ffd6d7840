"""Tests of client certificates (RFC 8705) and PSD2 certificates (ETSI TS 119 495): subject, issuer and roles."""

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from chalicelib.foundation.ca_bundle import CaBundle
from chalicelib.foundation.crypto.certificates import read_certificate
from chalicelib.openbanking.protocol import refusals
from chalicelib.openbanking.protocol.scopes import Role
from tests.causeway import Answer, Causeway
from tests.kit import certificates
from tests.kit.certificates import Authority
from tests.kit.logs import Lines
from tests.openbanking.key_holder import ORGANIZATION, ROLES, SUBJECT, KeyHolder, issue, secure, stage_with


@pytest.fixture(scope="module")
def authority() -> Authority:
    return Authority()


@pytest.fixture
def mutual(shared_causeway: Causeway, authority: Authority, tmp_path: Path) -> Iterator[Causeway]:
    causeway = shared_causeway.again(stage_with(authority, tmp_path))
    with causeway.installed():
        yield causeway


def by_certificate(causeway: Causeway, **security: Any) -> None:
    members = {"auth_method": "tls_client_auth", "tls_client_auth_subject_dn": SUBJECT, **security}
    made = causeway.hub.openbanking.clients.update(causeway.tpp.client_id, security=members)
    causeway.tpp.client, causeway.tpp.client_secret = made.client, None


def identified(causeway: Causeway) -> None:
    made = causeway.hub.openbanking.clients.update(
        causeway.tpp.client_id, security={"organization_identifier": ORGANIZATION}
    )
    causeway.tpp.client = made.client


def is_refused(answer: Answer) -> bool:
    wrong = refusals.TPP_CERTIFICATE_WRONG()
    return (answer.status, answer.body["code"], answer.body["title"]) == (
        401,
        "SSL_CREDENTIALS_NOT_FOUND",
        wrong.message,
    )


def test_a_client_authenticates_with_its_certificate(mutual: Causeway, authority: Authority) -> None:
    by_certificate(mutual)

    assert mutual.tpp.call("GET", "/tpp/banks", certificate=issue(authority)).status == 200
    assert is_refused(mutual.tpp.call("GET", "/tpp/banks"))


def test_a_missing_or_wrong_certificate_returns_401_with_www_authenticate(
    mutual: Causeway, authority: Authority
) -> None:
    """RFC 9110, section 15.5.2: every 401 has ``WWW-Authenticate``."""
    by_certificate(mutual)

    for certificate in (None, issue(Authority())):
        answer = mutual.tpp.call("GET", "/tpp/banks", certificate=certificate)
        assert (answer.status, answer.headers["www-authenticate"]) == (401, 'Basic realm="causeway"')


def refused_certificates(authority: Authority) -> dict[str, str]:
    earlier = certificates.NOW - timedelta(days=200)
    return {
        "another client's": issue(authority, subject="CN=other.example.com,2.5.4.97=PSDGB-FCA-654321,O=Other,C=GB"),
        "expired": issue(authority, starts=earlier, days=90),
        "not valid yet": issue(authority, starts=certificates.NOW + timedelta(days=30)),
        "self-made": issue(Authority()),
        "not a certificate": "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n",
    }


def test_an_untrusted_invalid_or_mismatched_client_certificate_is_refused(
    mutual: Causeway, authority: Authority, lines: Lines
) -> None:
    by_certificate(mutual)

    answers = {
        kind: mutual.tpp.call("GET", "/tpp/banks", certificate=pem)
        for kind, pem in refused_certificates(authority).items()
    }

    assert {kind: is_refused(answer) for kind, answer in answers.items()} == dict.fromkeys(answers, True)
    reasons = {line["reason"] for line in lines.all() if line["message"] == "certificate refused"}
    assert len(reasons) >= 3


def test_a_blocked_certificate_is_rejected_immediately(mutual: Causeway, authority: Authority) -> None:
    by_certificate(mutual)
    pem = issue(authority)
    assert mutual.tpp.call("GET", "/tpp/banks", certificate=pem).status == 200

    parsed = read_certificate(pem)
    mutual.hub.openbanking.certificate_blocklist.block(parsed.issuer, parsed.serial_number, "key lost")

    assert is_refused(mutual.tpp.call("GET", "/tpp/banks", certificate=pem))
    assert mutual.tpp.call("GET", "/tpp/banks", certificate=issue(authority)).status == 200


def test_a_blocked_certificate_is_refused_with_an_unbound_token(mutual: Causeway, authority: Authority) -> None:
    by_certificate(mutual)
    own = issue(authority)
    request = {"bic": mutual.banks[2].bic, "scopes": ["accounts"]}
    code = _code(mutual, mutual.tpp.call("POST", "/tpp/authorize", request, certificate=own).body["redirect_url"])
    token = mutual.tpp.call("POST", "/tpp/token", {"code": code}, certificate=own).body["access_token"]
    assert mutual.tpp.call("GET", "/tpp/consent", bearer=token, certificate=own).status == 200

    parsed = read_certificate(own)
    mutual.hub.openbanking.certificate_blocklist.block(parsed.issuer, parsed.serial_number, "key lost")

    assert mutual.tpp.call("GET", "/tpp/consent", bearer=token, certificate=own).status == 401


def test_a_certificate_subject_is_accepted_in_either_order_of_its_attributes(
    mutual: Causeway, authority: Authority
) -> None:
    by_certificate(mutual, tls_client_auth_subject_dn=",".join(reversed(SUBJECT.split(","))))

    assert mutual.tpp.call("GET", "/tpp/banks", certificate=issue(authority)).status == 200


def test_a_stage_without_a_ca_bundle_refuses_every_certificate(mutual: Causeway, authority: Authority) -> None:
    by_certificate(mutual)
    mutual.hub.__dict__["tpp_ca_bundle"] = CaBundle("TPP_CA_BUNDLE", None, mutual.clock)

    assert is_refused(mutual.tpp.call("GET", "/tpp/banks", certificate=issue(authority)))


# -- tokens bound to a certificate


def test_a_token_requires_the_certificate_that_obtained_the_token(mutual: Causeway, authority: Authority) -> None:
    by_certificate(mutual, tls_client_certificate_bound_access_tokens=True)
    own, other = issue(authority), issue(authority)
    url = mutual.tpp.call(
        "POST", "/tpp/authorize", {"bic": mutual.banks[2].bic, "scopes": ["accounts"]}, certificate=own
    ).body["redirect_url"]
    code = _code(mutual, url)

    tokens = mutual.tpp.call("POST", "/tpp/token", {"code": code}, certificate=own).body
    assert tokens["token_type"] == "Bearer"
    token = tokens["access_token"]
    assert mutual.tpp.call("GET", "/tpp/consent", bearer=token, certificate=own).status == 200
    for stolen in (None, other, issue(Authority())):
        answer = mutual.tpp.call("GET", "/tpp/consent", bearer=token, certificate=stolen)
        assert (answer.status, answer.body["title"]) == (401, refusals.BEARER_INVALID().message)
    described = mutual.tpp.call("POST", "/oauth/introspect", form={"token": token}, certificate=own).body
    assert described["cnf"] == {"x5t#S256": read_certificate(own).thumbprint}

    again = mutual.tpp.call("POST", "/tpp/token", {"refresh_token": tokens["refresh_token"]}, certificate=other)
    assert again.status == 200
    assert mutual.tpp.call("GET", "/tpp/consent", bearer=again.body["access_token"], certificate=other).status == 200


def test_a_token_bound_to_a_blocked_certificate_is_refused(mutual: Causeway, authority: Authority) -> None:
    by_certificate(mutual, tls_client_certificate_bound_access_tokens=True)
    own = issue(authority)
    request = {"bic": mutual.banks[2].bic, "scopes": ["accounts"]}
    code = _code(mutual, mutual.tpp.call("POST", "/tpp/authorize", request, certificate=own).body["redirect_url"])
    token = mutual.tpp.call("POST", "/tpp/token", {"code": code}, certificate=own).body["access_token"]

    parsed = read_certificate(own)
    mutual.hub.openbanking.certificate_blocklist.block(parsed.issuer, parsed.serial_number, "key lost")

    assert mutual.tpp.call("GET", "/tpp/consent", bearer=token, certificate=own).status == 401


def test_a_client_that_uses_private_key_jwt_can_have_certificate_bound_tokens(
    mutual: Causeway, authority: Authority
) -> None:
    """The assertion authenticates the client, and the certificate binds the tokens."""
    holder = KeyHolder()
    secure(mutual, holder, tls_client_certificate_bound_access_tokens=True)
    own = issue(authority)
    code = {"code": holder.code(mutual), "code_verifier": _V, "redirect_uri": mutual.tpp.client.callback_url}
    form = holder.form(mutual, {"grant_type": "authorization_code", **code})

    without = mutual.tpp.call("POST", "/tpp/token", form=form, client_id="")
    assert is_refused(without)
    again = form | {"client_assertion": holder.assertion(mutual)}
    tokens = mutual.tpp.call("POST", "/tpp/token", form=again, client_id="", certificate=own)
    assert tokens.status == 200
    assert mutual.tpp.call("GET", "/tpp/consent", bearer=tokens.body["access_token"], certificate=own).status == 200


# -- certificates of PSD2


@pytest.mark.parametrize(
    ("version", "scopes", "role"),
    [
        (1, ["account.list"], "PSP_AI"),
        (1, ["payment.init"], "PSP_PI"),
        (1, ["card_based.funds_confirmations"], "PSP_IC"),
        (2, ["accounts"], "PSP_AI"),
        (2, ["payments.single"], "PSP_PI"),
        (2, ["funds_confirmations"], "PSP_IC"),
        *(
            (version, [name], role)
            for version in (1, 2)
            for name, role in (
                ("accounts:read", "PSP_AI"),
                ("balances:read", "PSP_AI"),
                ("transactions:read", "PSP_AI"),
                ("payments:write", "PSP_PI"),
                ("bulk_payments:write", "PSP_PI"),
                ("funds:read", "PSP_IC"),
            )
        ),
    ],
)
def test_scopes_require_the_matching_psd2_role_in_the_certificate(
    mutual: Causeway, authority: Authority, version: int, scopes: list[str], role: Role
) -> None:
    identified(mutual)
    request = {"bic": mutual.banks[version].bic, "scopes": scopes}
    others = [each for each in ("PSP_AS", *ROLES) if each != role]

    assert mutual.tpp.call("POST", "/tpp/authorize", request, certificate=issue(authority, [role])).status == 200
    for certificate in (issue(authority, others), None):
        assert is_refused(mutual.tpp.call("POST", "/tpp/authorize", request, certificate=certificate))
        assert is_refused(mutual.tpp.call("POST", "/oauth/par", form=_pushed(request), certificate=certificate))


def test_unified_scopes_without_a_bank_require_the_psd2_roles_of_all_of_them(
    mutual: Causeway, authority: Authority
) -> None:
    identified(mutual)
    form = {"response_type": "code", "scope": "accounts:read payments:write"}

    accounts_only, both = issue(authority, ["PSP_AI"]), issue(authority, ["PSP_AI", "PSP_PI"])

    assert is_refused(mutual.tpp.call("POST", "/oauth/par", form=form, certificate=accounts_only))
    assert mutual.tpp.call("POST", "/oauth/par", form=form, certificate=both).status == 201


def test_every_call_of_a_psd2_client_requires_its_certificate(mutual: Causeway, authority: Authority) -> None:
    identified(mutual)
    good, banks = issue(authority), issue(authority, ["PSP_AS"])
    other = issue(authority, subject=SUBJECT.replace("123456", "654321"))
    request = {"bic": mutual.banks[2].bic, "scopes": ["accounts"]}
    code = _code(mutual, mutual.tpp.call("POST", "/tpp/authorize", request, certificate=good).body["redirect_url"])

    for wrong in (None, other, banks):
        assert is_refused(mutual.tpp.call("POST", "/tpp/token", {"code": code}, certificate=wrong))
    tokens = mutual.tpp.call("POST", "/tpp/token", {"code": code}, certificate=good).body
    for wrong in (None, other, banks):
        refreshed = mutual.tpp.call("POST", "/tpp/token", {"refresh_token": tokens["refresh_token"]}, certificate=wrong)
        assert is_refused(refreshed)
        without = mutual.tpp.call("GET", "/tpp/consent", bearer=tokens["access_token"], certificate=wrong)
        assert is_refused(without)
        assert without.headers["www-authenticate"] == 'Bearer realm="causeway", error="invalid_token"'
    assert mutual.tpp.call("GET", "/tpp/consent", bearer=tokens["access_token"], certificate=good).status == 200
    direct = {"bic": mutual.banks[2].bic}
    for wrong in (None, issue(authority, ["PSP_AI"])):
        assert is_refused(mutual.tpp.call("POST", "/tpp/direct_payment_initiation", direct, certificate=wrong))
    assert mutual.tpp.call("POST", "/tpp/direct_payment_initiation", direct, certificate=good).status == 400
    accounts_only = issue(authority, ["PSP_AI"])
    assert is_refused(mutual.tpp.call("GET", "/tpp/requests/abc", certificate=accounts_only))
    assert mutual.tpp.call("GET", "/tpp/requests/abc", certificate=good).status == 404


def test_a_psd2_client_cannot_start_an_authorization_in_the_browser(mutual: Causeway) -> None:
    from urllib.parse import parse_qs, urlencode, urlsplit

    identified(mutual)
    query = {
        "response_type": "code",
        "client_id": mutual.tpp.client_id,
        "scope": "accounts",
        "bic": mutual.banks[2].bic,
    }

    location = mutual.call("GET", f"/oauth/authorize?{urlencode(query)}").headers["location"]

    assert parse_qs(urlsplit(location).query)["error_description"] == [refusals.REQUEST_NOT_PUSHED().message]


def test_init_authorization_returns_the_organization_identifier_of_the_tpp(
    mutual: Causeway, authority: Authority
) -> None:
    identified(mutual)
    request = {"bic": mutual.banks[2].bic, "scopes": ["accounts"]}
    url = mutual.tpp.call("POST", "/tpp/authorize", request, certificate=issue(authority)).body["redirect_url"]

    shown = mutual.banks[2].call("/init_authorization", {"requestUrl": url}).body

    assert shown["tppRegistrationNumber"] == ORGANIZATION


def test_a_certificate_that_the_client_does_not_need_is_ignored(mutual: Causeway) -> None:
    for pem in (issue(Authority()), "not a certificate"):
        assert mutual.tpp.call("GET", "/tpp/banks", certificate=pem).status == 200


def _code(causeway: Causeway, url: str) -> str:
    from urllib.parse import parse_qs, urlsplit

    saved = causeway.banks[2].call("/consent", causeway.banks[2].consent_body(url))
    assert saved.status == 200, saved
    return str(parse_qs(urlsplit(saved.body["callbackUrl"]).query)["code"][0])


def _pushed(request: dict[str, Any]) -> dict[str, Any]:
    return {"response_type": "code", "bic": request["bic"], "scope": " ".join(request["scopes"])}


_V = "a-code-verifier-that-is-long-enough-for-rfc-7636"
