"""Tests of bank logos: storage and public delivery at a URL that contains the hash of the content."""

import base64
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlsplit

import pytest

from chalicelib.openbanking.records.bank_logos import logo_key
from chalicelib.openbanking.records.bank_record import InvalidBank, NewBank
from chalicelib.openbanking.records.banks import Banks, UnknownBank
from tests.causeway import Answer, Causeway
from tests.kit.storage import record_calls
from tests.openbanking.logos import JPEG, SVG, png

BIC = "GAMMFRPP"


@pytest.fixture
def banks(causeway: Causeway) -> Iterator[Banks]:
    banks = causeway.hub.openbanking.banks
    banks.add(
        NewBank(
            bic=BIC,
            name="Gamma",
            country="FR",
            api_version=1,
            domain="http://127.0.0.1:1/gamma",
            authorization_url="http://127.0.0.1:1/gamma/authorize",
        )
    )
    yield banks
    if any(bank.bic == BIC for bank in banks.all()):
        banks.remove(BIC)


def address(causeway: Causeway) -> str:
    return str(urlsplit(causeway.tpp.call("GET", f"/tpp/banks/{BIC}").body["logo_url"]).path)


def content(answer: Answer) -> bytes:
    return base64.b64decode(answer.text, validate=True)


@pytest.mark.parametrize(("logo", "media_type"), [(png(), "image/png"), (JPEG, "image/jpeg"), (SVG, "image/svg+xml")])
def test_a_logo_is_served_with_an_immutable_cache_header(
    causeway: Causeway, banks: Banks, logo: bytes, media_type: str
) -> None:
    banks.set_logo(BIC, logo)

    for accept in ("image/avif,image/webp,*/*;q=0.8", "text/html", ""):
        answer = causeway.call("GET", address(causeway), headers={"accept": accept} if accept else {})
        assert (answer.status, content(answer)) == (200, logo)
        assert answer.headers["content-type"] == media_type
        assert answer.headers["cache-control"] == "public, max-age=31536000, immutable"
        assert answer.headers["x-content-type-options"] == "nosniff"
        policy = "default-src 'none'; style-src 'unsafe-inline'; sandbox"
        assert answer.headers["content-security-policy"] == policy


def test_a_binary_response_is_base64_encoded_for_api_gateway(
    causeway: Causeway, banks: Banks, monkeypatch: pytest.MonkeyPatch
) -> None:
    import app

    banks.set_logo(BIC, png())
    seen: list[Any] = []
    answer = type(app.app).__call__

    def noted(*given: Any) -> Any:
        seen.append(answer(*given))
        return seen[-1]

    monkeypatch.setattr(type(app.app), "__call__", noted)

    causeway.call("GET", address(causeway))

    assert seen[-1]["isBase64Encoded"] is True


def test_a_head_request_returns_headers_only(causeway: Causeway, banks: Banks) -> None:
    banks.set_logo(BIC, SVG)

    answer = causeway.call("HEAD", address(causeway))

    assert (answer.status, answer.text, answer.headers["content-type"]) == (200, "", "image/svg+xml")


def test_responses_to_options_and_with_status_405_list_the_allowed_methods(causeway: Causeway, banks: Banks) -> None:
    path = f"/banks/{BIC}/logo/x"

    options, post = causeway.call("OPTIONS", path), causeway.call("POST", path)

    assert (options.status, options.headers["allow"]) == (204, "GET, HEAD, OPTIONS")
    assert (post.status, post.headers["allow"]) == (405, "GET, HEAD, OPTIONS")


def test_the_url_of_a_replaced_logo_redirects_to_the_new_logo(causeway: Causeway, banks: Banks) -> None:
    banks.set_logo(BIC, SVG)
    before = address(causeway)

    banks.set_logo(BIC, png())

    assert address(causeway) != before
    assert content(causeway.call("GET", address(causeway))) == png()
    for method in ("GET", "HEAD"):
        moved = causeway.call(method, before)
        assert (moved.status, moved.text) == (302, "")
        assert moved.headers["location"] == causeway.tpp.call("GET", f"/tpp/banks/{BIC}").body["logo_url"]
        assert moved.headers["cache-control"] == "public, max-age=60"


def test_an_outdated_logo_url_from_another_instance_redirects_to_the_new_logo(causeway: Causeway, banks: Banks) -> None:
    banks.set_logo(BIC, SVG)
    address(causeway)
    causeway.another_process().openbanking.banks.set_logo(BIC, png())

    offered = causeway.call("GET", address(causeway))

    assert content(causeway.call("GET", urlsplit(offered.headers["location"]).path)) == png()


@pytest.mark.parametrize(
    "path",
    [
        f"/banks/{BIC}/logo/x",
        f"/banks/{BIC}/logo/{'A' * 32}",
        f"/banks/{BIC}/logo/{'a' * 33}",
        f"/banks/NONEGB21/logo/{'a' * 32}",
        f"/banks/{'A' * 3000}/logo/{'a' * 32}",
    ],
)
def test_an_unknown_logo_url_returns_404(causeway: Causeway, banks: Banks, path: str) -> None:
    banks.set_logo(BIC, SVG)

    answer = causeway.call("GET", path)

    assert answer.status == 404
    assert "There is no such logo" in answer.text


def test_a_removed_logo_returns_404(causeway: Causeway, banks: Banks) -> None:
    banks.set_logo(BIC, SVG)
    before = address(causeway)

    bank = banks.remove_logo(BIC)

    assert (bank.logo_digest, bank.logo_type) == (None, None)
    assert causeway.call("GET", before).status == 404
    assert causeway.tpp.call("GET", f"/tpp/banks/{BIC}").body["logo_url"] is None
    with pytest.raises(InvalidBank, match=f"{BIC} has no logo"):
        banks.remove_logo(BIC)


def test_removing_a_bank_removes_its_logo(causeway: Causeway, banks: Banks) -> None:
    banks.set_logo(BIC, SVG)

    banks.remove(BIC)

    assert causeway.hub.store.get(*logo_key(BIC)) is None
    with pytest.raises(UnknownBank):
        banks.set_logo(BIC, SVG)
    assert causeway.hub.store.get(*logo_key(BIC)) is None


def test_logos_are_not_listed_as_banks(banks: Banks) -> None:
    banks.set_logo(BIC, SVG)

    for listed in (banks.all(), banks.directory(), banks.list_registered()):
        assert [bank.bic for bank in listed] == ["ALPHGB21", "BETADEF1", BIC]
    assert banks.find(f"logo/{BIC}") is None


def test_an_invalid_logo_is_rejected_and_does_not_replace_the_stored_logo(causeway: Causeway, banks: Banks) -> None:
    before = banks.set_logo(BIC, SVG)

    with pytest.raises(InvalidBank):
        banks.set_logo(BIC, b"<svg/>")

    assert banks.get(BIC) == before
    assert content(causeway.call("GET", address(causeway))) == SVG


def test_changing_bank_settings_does_not_change_the_bank_logo(banks: Banks) -> None:
    before = banks.set_logo(BIC, SVG)

    after = banks.change(BIC, name="Other", history_days=30)

    assert (after.logo_digest, after.logo_type) == (before.logo_digest, "image/svg+xml")
    assert (after.history_days, banks.change(BIC, history_days=None).history_days) == (30, None)
    banks.rotate_api_key(BIC)
    assert banks.get(BIC).logo_digest == before.logo_digest


def test_the_second_of_two_concurrent_logo_changes_is_refused(causeway: Causeway, banks: Banks) -> None:
    other = causeway.another_process().openbanking.banks

    with (
        causeway.meanwhile("transact", lambda: other.set_logo(BIC, SVG)),
        pytest.raises(InvalidBank, match="concurrently"),
    ):
        banks.set_logo(BIC, png())

    assert content(causeway.call("GET", address(causeway))) == SVG


@pytest.mark.parametrize("days", [0, -1, 3651])
def test_history_days_must_be_from_1_to_3650(banks: Banks, days: int) -> None:
    with pytest.raises(InvalidBank, match="history_days must be from 1 to 3650"):
        banks.change(BIC, history_days=days)


def test_serving_a_logo_makes_one_storage_read(causeway: Causeway, banks: Banks) -> None:
    banks.set_logo(BIC, SVG)
    path = address(causeway)

    with record_calls(causeway) as calls:
        causeway.call("GET", path)

    assert calls == ["BatchGetItem"]
