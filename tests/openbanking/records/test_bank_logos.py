"""Banks' logos: stored beside the banks, and served to everybody at an address that names their content."""

from __future__ import annotations

import base64
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlsplit

import pytest

from chalicelib.openbanking.records.bank_logos import logo_key
from chalicelib.openbanking.records.bank_record import InvalidBank, NewBank
from chalicelib.openbanking.records.banks import Banks, UnknownBank
from tests.dynamodb_calls import counted
from tests.openbanking.logos import JPEG, SVG, png
from tests.world import Answer, World

BIC = "GAMMFRPP"


@pytest.fixture
def banks(world: World) -> Iterator[Banks]:
    """The banks, with one of the test's own."""
    banks = world.hub.openbanking.banks
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


def address(world: World) -> str:
    return str(urlsplit(world.tpp("GET", f"/tpp/banks/{BIC}").body["logo_url"]).path)


def content(answer: Answer) -> bytes:
    return base64.b64decode(answer.text, validate=True)


@pytest.mark.parametrize(("logo", "media_type"), [(png(), "image/png"), (JPEG, "image/jpeg"), (SVG, "image/svg+xml")])
def test_a_logo_is_served_to_everybody_for_good(world: World, banks: Banks, logo: bytes, media_type: str) -> None:
    banks.set_logo(BIC, logo)

    for accept in ("image/avif,image/webp,*/*;q=0.8", "text/html", ""):
        answer = world.call("GET", address(world), headers={"accept": accept} if accept else {})
        assert (answer.status, content(answer)) == (200, logo)
        assert answer.headers["content-type"] == media_type
        assert answer.headers["cache-control"] == "public, max-age=31536000, immutable"
        assert answer.headers["x-content-type-options"] == "nosniff"
        policy = "default-src 'none'; style-src 'unsafe-inline'; sandbox"
        assert answer.headers["content-security-policy"] == policy


def test_an_answer_with_bytes_is_marked_for_api_gateway(
    world: World, banks: Banks, monkeypatch: pytest.MonkeyPatch
) -> None:
    import app

    banks.set_logo(BIC, png())
    seen: list[Any] = []
    answer = type(app.app).__call__

    def noted(*given: Any) -> Any:
        seen.append(answer(*given))
        return seen[-1]

    monkeypatch.setattr(type(app.app), "__call__", noted)

    world.call("GET", address(world))

    assert seen[-1]["isBase64Encoded"] is True


def test_a_head_request_has_the_headers_only(world: World, banks: Banks) -> None:
    banks.set_logo(BIC, SVG)

    answer = world.call("HEAD", address(world))

    assert (answer.status, answer.text, answer.headers["content-type"]) == (200, "", "image/svg+xml")


def test_other_methods_are_told_which_there_are(world: World, banks: Banks) -> None:
    path = f"/banks/{BIC}/logo/x"

    options, post = world.call("OPTIONS", path), world.call("POST", path)

    assert (options.status, options.headers["allow"]) == (204, "GET, HEAD, OPTIONS")
    assert (post.status, post.headers["allow"]) == (405, "GET, HEAD, OPTIONS")


def test_a_new_logo_has_a_new_address_to_which_the_old_one_leads(world: World, banks: Banks) -> None:
    banks.set_logo(BIC, SVG)
    before = address(world)

    banks.set_logo(BIC, png())

    assert address(world) != before
    assert content(world.call("GET", address(world))) == png()
    for method in ("GET", "HEAD"):
        moved = world.call(method, before)
        assert (moved.status, moved.text) == (302, "")
        assert moved.headers["location"] == world.tpp("GET", f"/tpp/banks/{BIC}").body["logo_url"]
        assert moved.headers["cache-control"] == "public, max-age=60"


def test_the_address_that_another_instance_offers_for_a_minute_leads_to_the_new_logo(
    world: World, banks: Banks
) -> None:
    banks.set_logo(BIC, SVG)
    address(world)
    world.another_process().openbanking.banks.set_logo(BIC, png())

    offered = world.call("GET", address(world))

    assert content(world.call("GET", urlsplit(offered.headers["location"]).path)) == png()


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
def test_there_is_no_logo_of_another_address(world: World, banks: Banks, path: str) -> None:
    banks.set_logo(BIC, SVG)

    answer = world.call("GET", path)

    assert answer.status == 404
    assert "There is no such logo" in answer.text


def test_a_removed_logo_is_gone(world: World, banks: Banks) -> None:
    banks.set_logo(BIC, SVG)
    before = address(world)

    bank = banks.remove_logo(BIC)

    assert (bank.logo_digest, bank.logo_type) == (None, None)
    assert world.call("GET", before).status == 404
    assert world.tpp("GET", f"/tpp/banks/{BIC}").body["logo_url"] is None
    with pytest.raises(InvalidBank, match=f"{BIC} has no logo"):
        banks.remove_logo(BIC)


def test_a_bank_is_removed_with_its_logo(world: World, banks: Banks) -> None:
    banks.set_logo(BIC, SVG)

    banks.remove(BIC)

    assert world.hub.store.get(*logo_key(BIC)) is None
    with pytest.raises(UnknownBank):
        banks.set_logo(BIC, SVG)
    assert world.hub.store.get(*logo_key(BIC)) is None


def test_a_logo_is_no_bank(banks: Banks) -> None:
    banks.set_logo(BIC, SVG)

    for listed in (banks.all(), banks.directory(), banks.list_registered()):
        assert [bank.bic for bank in listed] == ["ALPHGB21", "BETADEF1", BIC]
    assert banks.find(f"logo/{BIC}") is None


def test_a_bad_logo_changes_nothing(world: World, banks: Banks) -> None:
    before = banks.set_logo(BIC, SVG)

    with pytest.raises(InvalidBank):
        banks.set_logo(BIC, b"<svg/>")

    assert banks.get(BIC) == before
    assert content(world.call("GET", address(world))) == SVG


def test_other_changes_keep_the_logo(banks: Banks) -> None:
    before = banks.set_logo(BIC, SVG)

    after = banks.change(BIC, name="Other", history_days=30)

    assert (after.logo_digest, after.logo_type) == (before.logo_digest, "image/svg+xml")
    assert (after.history_days, banks.change(BIC, history_days=None).history_days) == (30, None)
    banks.rotate_api_key(BIC)
    assert banks.get(BIC).logo_digest == before.logo_digest


def test_of_two_operators_at_once_the_second_is_told(world: World, banks: Banks) -> None:
    other = world.another_process().openbanking.banks

    with (
        world.meanwhile("transact", lambda: other.set_logo(BIC, SVG)),
        pytest.raises(InvalidBank, match="concurrently"),
    ):
        banks.set_logo(BIC, png())

    assert content(world.call("GET", address(world))) == SVG


@pytest.mark.parametrize("days", [0, -1, 3651])
def test_a_history_has_1_to_3650_days(banks: Banks, days: int) -> None:
    with pytest.raises(InvalidBank, match="history_days must be from 1 to 3650"):
        banks.change(BIC, history_days=days)


def test_a_logo_takes_one_read(world: World, banks: Banks) -> None:
    banks.set_logo(BIC, SVG)
    path = address(world)

    with counted(world) as calls:
        world.call("GET", path)

    assert calls == ["BatchGetItem"]
