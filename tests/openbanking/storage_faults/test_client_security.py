"""Tests of storage faults during client authentication: a retry uses a new assertion and a new proof."""

from dataclasses import replace
from tempfile import NamedTemporaryFile
from typing import Any

import pytest

from chalicelib.foundation.ca_bundle import CaBundle
from chalicelib.foundation.crypto.certificates import read_certificate
from tests.causeway import Answer, Causeway
from tests.kit.certificates import Authority
from tests.openbanking.fault_scenarios import Run, completed, consent_items, lose_first_transaction, refused, scenario
from tests.openbanking.faults import Fault, items
from tests.openbanking.key_holder import SUBJECT, KeyHolder, issue, open_pushed, secure

pytestmark = pytest.mark.faults


def holder_of(causeway: Causeway) -> KeyHolder:
    holder = KeyHolder()
    secure(causeway, holder, security_profile="fapi2")
    return holder


@scenario()
def push_a_request(causeway: Causeway) -> Run:
    holder = holder_of(causeway)

    def run(fault: Fault) -> None:
        answer = completed(fault, lambda: holder.push(causeway), 201)
        assert open_pushed(causeway, answer.body["request_uri"]).status == 303

    return run


@scenario(0, 61)
def open_a_pushed_request(causeway: Causeway, seconds: int) -> Run:
    """Open the request within its first minute, and again later while the request is open."""
    request_uri = holder_of(causeway).push(causeway).body["request_uri"]
    if seconds:
        open_pushed(causeway, request_uri)
        causeway.clock.advance(seconds)

    def run(fault: Fault) -> None:
        with fault:
            answer = open_pushed(causeway, request_uri)
        if answer.status == 500:
            assert "storage did not respond" in answer.text
            answer = open_pushed(causeway, request_uri)
        (stored,) = [item for item in items(causeway, "authorizations") if "request_url" in item]
        assert (answer.status, answer.headers["location"]) == (303, stored["request_url"])

    return run


@scenario()
def redeem_a_code_with_assertion_and_proof(causeway: Causeway) -> Run:
    holder = holder_of(causeway)
    code = holder.code(causeway)

    def run(fault: Fault) -> None:
        tokens = completed(fault, lambda: holder.redeem(causeway, code)).body
        assert holder.read(causeway, tokens["access_token"]).status == 200
        assert len(consent_items(causeway, "refresh#")) == 1

    return run


@scenario()
def use_an_assertion_and_a_proof_with_a_lost_transaction_response(causeway: Causeway) -> Run:
    holder = holder_of(causeway)
    code = holder.code(causeway)

    def run(fault: Fault) -> None:
        if fault.lasting:
            return  # nobody can find out then
        with lose_first_transaction(causeway), fault:
            answer = holder.redeem(causeway, code)
        if refused(answer):
            answer = holder.redeem(causeway, code)
        assert answer.status == 200, answer

    return run


@scenario()
def refresh_with_assertion_and_proof(causeway: Causeway) -> Run:
    holder = holder_of(causeway)
    first = holder.tokens(causeway)

    def run(fault: Fault) -> None:
        second = completed(fault, lambda: holder.refresh(causeway, first["refresh_token"])).body
        assert second["refresh_token"] == first["refresh_token"]
        assert holder.read(causeway, second["access_token"]).status == 200

    return run


@scenario()
def read_with_a_bound_token(causeway: Causeway) -> Run:
    holder = holder_of(causeway)
    token = holder.tokens(causeway)["access_token"]

    def run(fault: Fault) -> None:
        assert completed(fault, lambda: holder.read(causeway, token)).body["status"] == "authorised"

    return run


@scenario()
def read_with_a_certificate(causeway: Causeway) -> Run:
    """The blocklist entry of the certificate is read together with the client."""
    tokens: Any = causeway.tpp.tokens(2)
    certificate = issue(Authority())

    def read() -> Answer:
        return causeway.tpp.call("GET", "/tpp/consent", bearer=tokens["access_token"], certificate=certificate)

    def run(fault: Fault) -> None:
        assert completed(fault, read).body["status"] == "authorised"

    return run


@scenario()
def introspect(causeway: Causeway) -> Run:
    tokens: Any = causeway.tpp.tokens(2)

    def ask() -> Answer:
        return causeway.tpp.call("POST", "/oauth/introspect", form={"token": tokens["access_token"]})

    def run(fault: Fault) -> None:
        assert completed(fault, ask).body["active"] is True

    return run


@scenario()
def call_with_a_banks_certificate(causeway: Causeway) -> Run:
    """The blocklist entry of the certificate is not cached."""
    authority, openbanking = Authority(), causeway.hub.openbanking
    with NamedTemporaryFile("w") as file:
        file.write(authority.pem)
        file.flush()
        causeway.hub.__dict__["bank_ca_bundle"] = CaBundle("BANK_CA_BUNDLE", file.name, causeway.clock)
        causeway.hub.bank_ca_bundle.check(read_certificate(authority.issue()))
    bic, certificate, cache = causeway.banks[1].bic, authority.issue(SUBJECT), openbanking.banks.cache
    cache[bic] = replace(cache[bic], bank=replace(cache[bic].bank, certificate_subject=SUBJECT))
    token = causeway.psu.approve(2).bank_token

    def ask() -> Answer:
        identity = {"clientCert": {"clientCertPem": certificate}}
        return causeway.banks[1].call("/consents/status", {"access_tokens": [token]}, identity=identity)

    def run(fault: Fault) -> None:
        openbanking.certificate_blocklist.cache.clear()
        assert completed(fault, ask).body["consents"][0]["status"] == "unknown"

    return run


@pytest.mark.parametrize("name", scenario.of(__name__))
def test_a_storage_fault_during_client_authentication_neither_loses_nor_duplicates_data(
    causeway: Causeway, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    scenario.run_with_faults(causeway, name, monkeypatch)
