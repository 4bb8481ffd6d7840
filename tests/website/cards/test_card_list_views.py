"""The lists in the Cards area: cards and activity, with filters and pages."""

import html
import re
from dataclasses import replace

import pytest

from chalicelib.cards.issuing.card_record import Card, put_row
from chalicelib.cards.storage import time_ordered
from tests.cards.issuer import Issuer, NewCard
from tests.causeway import Causeway
from tests.kit.storage import record_calls
from tests.website.web_user import WebUser

BATCH = 100
"""The number of writes in a transaction."""


def list_others(causeway: Causeway, card: Card, count: int) -> None:
    rows = [
        put_row(replace(card, id=card.id + 10**9 + number, name_line_3="SOMEBODY"), "", "0" * 16, "attempt")
        for number in range(count)
    ]
    for first in range(0, count, BATCH):
        causeway.hub.store.transact(rows[first : first + BATCH])


def test_the_card_list_shows_the_holder_the_status_and_the_balances_of_each_card(
    issuer: Issuer, colleague: WebUser, card: NewCard
) -> None:
    issuer.purchase(card.card_id, 25_00)
    colleague.get("/cards")

    masked = f"{card.pan[:6]}******{card.pan[-4:]}"
    assert f"{masked} card {card.card_id}, virtual Zoë O'Neil-Smith Everyday Card active EUR" in colleague.text
    assert "475.00 EUR 500.00 EUR 25.00 EUR" in colleague.text
    assert 'href="/specifications/cards"' in colleague.last.text
    assert card.pan not in colleague.last.text


def test_the_card_list_links_to_older_cards(issuer: Issuer, colleague: WebUser) -> None:
    made = [issuer.card().card_id for _ in range(21)]
    colleague.get("/cards")
    (older,) = re.findall(r'href="([^"]+)" rel="next"', colleague.last.text)
    first = colleague.last.text.count("card ")
    colleague.get(older)

    assert re.findall(r'href="/cards/([0-9]+)"', colleague.last.text) == [str(made[0])]
    assert first >= 20
    assert "Newest" in colleague.text


def test_markup_in_a_merchant_name_is_escaped(issuer: Issuer, colleague: WebUser, card: NewCard) -> None:
    name = "<script>alert(1)</script>"
    issuer.purchase(card.card_id, 25_00, merchant_name=name)

    for path in (f"/cards/{card.card_id}", "/cards/activity"):
        assert name not in colleague.get(path).text
        assert name in colleague.text


def test_the_activity_list_links_to_older_activity(issuer: Issuer, colleague: WebUser, card: NewCard) -> None:
    for number in range(26):
        issuer.purchase(card.card_id, 1_00, merchant_name=f"Shop {number}")
    for path in ("/cards/activity", f"/cards/activity?card_id={card.card_id}"):
        colleague.get(path)
        assert "Shop 25" in colleague.text
        assert "Shop 0 " not in colleague.text
        (older,) = re.findall(r'href="([^"]+)" rel="next"', colleague.last.text)
        colleague.get(older.replace("&amp;", "&"))
        assert "Shop 0 " in colleague.text
        assert "Shop 25" not in colleague.text


def test_the_card_list_is_filtered_and_the_form_shows_the_filter_values(issuer: Issuer, colleague: WebUser) -> None:
    made = issuer.card(card_name_line_3="ADA LOVELACE")
    other = issuer.card()
    query = f"digits={made.pan[-4:]}&holder=lovelace&status=N&programme=101"
    text = colleague.get(f"/cards?{query}").text

    assert re.findall(r'href="/cards/([0-9]+)"', text) == [str(made.card_id)]
    for kept in (f'value="{made.pan[-4:]}"', 'value="lovelace"', 'value="N" selected', 'value="101" selected'):
        assert kept in text
    assert re.findall(r'href="/cards/([0-9]+)"', colleague.get(f"/cards?holder={other.holder_id}").text) == [
        str(other.card_id)
    ]
    colleague.get(f"/cards?status=B&holder={made.holder_id}")
    assert "No card matches this filter." in colleague.text


def test_the_link_to_the_next_page_contains_the_filter(issuer: Issuer, colleague: WebUser) -> None:
    for _ in range(21):
        issuer.card(card_name_line_3="MANY CARDS")
    colleague.get("/cards?holder=many")
    (older,) = re.findall(r'href="([^"]+)" rel="next"', colleague.last.text)
    colleague.get(html.unescape(older))

    assert "holder=many" in older
    assert len(re.findall(r'href="/cards/[0-9]+"', colleague.last.text)) == 1


def test_a_search_of_10_000_cards_makes_three_reads_of_16_partitions(
    causeway: Causeway, issuer: Issuer, colleague: WebUser
) -> None:
    made = issuer.card(card_name_line_3="OLDEST CARD")
    card = Card.from_item(causeway.hub.store.get(*Card.key(made.card_id)) or {})
    list_others(causeway, card, 10_000)
    with record_calls(causeway) as search:
        text = colleague.get("/cards?holder=oldest&status=N").text
    with record_calls(causeway) as page:
        colleague.get("/cards")

    reads = ["BatchGetItem"]
    assert re.findall(r'href="/cards/([0-9]+)"', text) == [str(made.card_id)]
    assert search == [*reads, *["Query"] * 48, *reads, *reads], "three parallel reads of 16 partitions"
    assert page == [*reads, *["Query"] * 16, *reads]


def test_a_search_without_a_match_reads_a_limited_number_of_rows_and_can_be_continued(
    monkeypatch: pytest.MonkeyPatch, causeway: Causeway, issuer: Issuer, colleague: WebUser
) -> None:
    monkeypatch.setattr(time_ordered, "REPEATED_DEPTHS", (1, 1))
    made = issuer.card(card_name_line_3="OLDEST CARD")
    card = Card.from_item(causeway.hub.store.get(*Card.key(made.card_id)) or {})
    list_others(causeway, card, 1_000)
    with record_calls(causeway) as calls:
        colleague.get("/cards?holder=oldest")
    (older,) = re.findall(r'href="([^"]+)" rel="next"', colleague.last.text)

    assert calls.count("Query") == 48
    assert "None of the cards looked through so far matches this filter." in colleague.text
    assert "Search older cards" in colleague.text
    while f'href="/cards/{made.card_id}"' not in colleague.last.text:
        (older,) = re.findall(r'href="([^"]+)" rel="next"', colleague.last.text)
        colleague.get(html.unescape(older))
    assert "holder=oldest" in older


@pytest.mark.parametrize("query", ["digits=12", "digits=abcd", f"holder={'x' * 51}"])
def test_an_invalid_filter_shows_its_error_at_the_field(colleague: WebUser, card: NewCard, query: str) -> None:
    answer = colleague.get(f"/cards?{query}")
    name = query.partition("=")[0]

    assert answer.status == 400
    assert f'aria-invalid="true" aria-describedby="{name}-error"' in answer.text
    assert f'href="/cards/{card.card_id}"' not in answer.text


def test_activity_is_filtered_by_result_kind_and_day(issuer: Issuer, colleague: WebUser, card: NewCard) -> None:
    issuer.purchase(card.card_id, 25_00, merchant_name="Corner Shop")
    issuer.purchase(card.card_id, 9_000_00, merchant_name="Riverside Books")
    today = colleague.get("/cards/activity").text.partition('<time datetime="')[2][:10]

    for query, shops in (
        ("answer=approved", (True, False)),
        ("answer=declined", (False, True)),
        ("kind=2", (False, False)),
        (f"from={today}&to={today}", (True, True)),
        ("to=2001-01-01", (False, False)),
        (f"card_id={card.card_id}&answer=declined", (False, True)),
    ):
        text = colleague.get(f"/cards/activity?{query}").text
        assert ("Corner Shop" in text, "Riverside Books" in text) == shops
    assert colleague.get("/cards/activity?from=yesterday").status == 400
    assert "This is not a date." in colleague.text
    assert colleague.get("/cards/activity?from=2026-01-02&to=2026-01-01").status == 400
    assert colleague.get("/cards/activity?from=9999-12-31&to=9999-12-31").status == 200


def test_a_local_stack_labels_its_payments_as_synthetic(causeway: Causeway, colleague: WebUser, card: NewCard) -> None:
    assert "payments are invented" in colleague.get("/cards").text
    causeway.hub.settings = replace(causeway.hub.settings, stage="dev", public_url="https://hub.example")
    assert "invented" not in colleague.get("/cards").text


def test_an_invalid_page_position_shows_the_first_page_of_a_card_list(colleague: WebUser, card: NewCard) -> None:
    for path in ("/cards?before=x", "/cards?before=0", "/cards/activity?before=1-", "/cards/activity?card_id=-1"):
        assert colleague.get(path).status == 200
    assert colleague.get(f"/cards/{'9' * 3000}").status == 404


def test_card_pages_make_a_fixed_number_of_storage_calls(causeway: Causeway, colleague: WebUser, card: NewCard) -> None:
    session_and_user = ["BatchGetItem"]
    for path, calls in (
        ("/cards", [*["Query"] * 16, "BatchGetItem", "BatchGetItem"]),
        ("/cards/activity", ["Query"] * 16),
        (f"/cards/{card.card_id}", ["BatchGetItem", "BatchGetItem", *["Query"] * 3, "BatchGetItem"]),
    ):
        with record_calls(causeway) as made:
            assert colleague.get(path).status == 200
        assert made == [*session_and_user, *calls]
