"""The Cards area: users see the cards of the programme manager that they are linked to, and play the network."""

from __future__ import annotations

import csv
import html
import io
import re
import shlex
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest
from typer.testing import CliRunner

from chalicelib.cards.issuing.card_record import Card, put_row
from chalicelib.cards.storage import time_ordered
from chalicelib.foundation.dynamodb.store import Operation, Store
from chalicelib.website.cards.card_actions import BY_ACTION
from infra.admin import connection
from infra.admin.commands import program
from tests.cards.scenes import EUR, OTHER_MANAGER, USD, MadeCard, Scene
from tests.dynamodb_calls import counted
from tests.log_lines import Lines
from tests.website.cards.cards import link
from tests.website.person import Person
from tests.world import Answer, World

USE = {
    "amount": "25.00",
    "currency_ison": EUR,
    "transaction_type": 0,
    "entry_mode_type": 5,
    "mcc": "5411",
    "merchant_name": "Corner Shop",
    "merchant_country_ison": 276,
}
ON_THE_WEB = {"transaction_type": 0, "amount": 120_00, "currency_ison": 840, "merchant_name": "Riverside Books"}


BATCH = 100
"""The writes of a transaction."""


@pytest.fixture
def scene(world: World) -> Scene:
    return Scene(world)


@pytest.fixture
def card(scene: Scene) -> MadeCard:
    """A card with 500.00 EUR."""
    return scene.spendable(500_00)


@pytest.fixture
def colleague(world: World, user: Person, email: str) -> Person:
    """A user who is linked to the demonstration's programme manager."""
    link(world, email)
    return user


def list_others(world: World, card: Card, count: int) -> None:
    """List as many newer cards of somebody else."""
    rows = [
        put_row(replace(card, id=card.id + 10**9 + number, name_line_3="SOMEBODY"), "", "0" * 16, "attempt")
        for number in range(count)
    ]
    for first in range(0, count, BATCH):
        world.hub.store.transact(rows[first : first + BATCH])


def simulate(person: Person, card: MadeCard, action: str, **fields: Any) -> Answer:
    """Send a form of the card's page as it stands there."""
    person.get(f"/cards/{card.card_id}")
    return person.post(f"/cards/{card.card_id}/simulator", action=action, draft=person.hidden("draft"), **fields)


def manage(person: Person, card: MadeCard, action: str, **fields: Any) -> Answer:
    """Send a form that manages the card as it stands on its page."""
    person.get(f"/cards/{card.card_id}")
    return person.post(f"/cards/{card.card_id}", action=action, draft=person.hidden("draft"), **fields)


def outcome(person: Person) -> str:
    """What stands at the form, in words."""
    found = re.search(r'<section class="outcome.*?</section>', person.last.text, re.DOTALL)
    assert found is not None, person.text
    return " ".join(re.sub("<[^>]+>", " ", found[0]).split())


# -- who may look


@pytest.mark.parametrize(("path", "status"), [("/cards", 200), ("/cards/activity", 200), ("/cards/1", 404)])
def test_who_is_linked_to_nothing_reads_what_it_is_and_how_to_be_linked(
    user: Person, card: MadeCard, path: str, status: int
) -> None:
    answer = user.get(path)

    assert (answer.status, "linked to no programme manager" in user.text) == (status, True)
    assert 'href="/account"' in answer.text
    assert f"******{card.pan[-4:]}" not in answer.text
    assert 'class="card narrow problem"' not in answer.text


def shown_in(person: Person, place: str) -> str:
    """A value to copy on the page that is shown."""
    found = re.search(rf'<code id="{place}">([^<]+)</code>', person.last.text)
    assert found is not None, person.text
    return html.unescape(found[1])


def test_the_command_that_the_page_shows_links_the_user(
    world: World, user: Person, email: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connection, "connect", lambda: world.hub)
    user.get("/cards")
    python, flag, module, *words = shlex.split(shown_in(user, "link-command"))
    user.get("/account")
    user.post("/account", action="code")
    code = shown_in(user, "operator-code")

    assert python == ".venv/bin/python"
    assert flag == "-m"
    assert module == "infra.admin"
    ran = CliRunner().invoke(program, [code if word == "CODE" else word for word in words], catch_exceptions=False)
    assert ran.exit_code == 0, ran.output
    assert "linked to no programme manager" not in user.get("/cards").text


def test_in_production_the_command_names_no_demonstration(world: World, user: Person) -> None:
    world.hub.settings = replace(world.hub.settings, stage="prod", public_url="https://hub.example")

    assert "users link CODE --manager MANAGER-ID" in user.get("/cards").text


def test_who_is_not_signed_in_is_asked_to(visitor: Person, card: MadeCard) -> None:
    answer = visitor.get(f"/cards/{card.card_id}")

    assert (answer.status, answer.headers["location"].partition("?")[0][-8:]) == (303, "/sign-in")


def test_another_programme_managers_card_does_not_exist(world: World, user: Person, email: str, card: MadeCard) -> None:
    link(world, email, OTHER_MANAGER)
    answers = [user.get(f"/cards/{card.card_id}"), user.get("/cards/987654321"), user.get("/cards/card")]
    forged = user.post(f"/cards/{card.card_id}/simulator", action="simulateAuthorization", draft="0" * 22, form=USE)

    assert {(answer.status, answer.text) for answer in answers} == {(404, answers[0].text)}
    assert forged.status == 404
    assert user.get(f"/cards/activity?card_id={card.card_id}").status == 404
    assert "There are no cards yet" in user.get("/cards").text


def test_a_link_holds_from_the_next_page_on_and_ends_so(world: World, user: Person, email: str) -> None:
    link(world, email)
    assert "There are no cards yet" in user.get("/cards").text
    world.hub.website.users.unlink_manager(email)

    assert "linked to no programme manager" in user.get("/cards").text


# -- what is shown


def test_cards_are_listed_with_holder_status_and_balances(scene: Scene, colleague: Person, card: MadeCard) -> None:
    scene.purchase(card.card_id, 25_00)
    colleague.get("/cards")

    masked = f"{card.pan[:6]}******{card.pan[-4:]}"
    assert f"{masked} card {card.card_id}, virtual Zoë O'Neil-Smith Everyday Card active EUR" in colleague.text
    assert "475.00 EUR 500.00 EUR 25.00 EUR" in colleague.text
    assert 'href="/specifications/cards"' in colleague.last.text
    assert card.pan not in colleague.last.text


def test_a_page_of_cards_leads_to_the_older_ones(scene: Scene, colleague: Person) -> None:
    made = [scene.card().card_id for _ in range(21)]
    colleague.get("/cards")
    (older,) = re.findall(r'href="([^"]+)" rel="next"', colleague.last.text)
    first = colleague.last.text.count("card ")
    colleague.get(older)

    assert re.findall(r'href="/cards/([0-9]+)"', colleague.last.text) == [str(made[0])]
    assert first >= 20
    assert "Newest" in colleague.text


def test_a_card_is_shown_with_balances_transactions_and_activity(
    scene: Scene, colleague: Person, card: MadeCard
) -> None:
    held = scene.authorization(card_id=card.card_id, **ON_THE_WEB)
    scene.purchase(card.card_id, 9_000_00)
    scene.clearing(held, 120_00, currency_ison=840)
    scene.clearing({"trans_link": "x"}, 5_00, trans_link=held["trans_link"])
    text = colleague.get(f"/cards/{card.card_id}").text

    assert "Status Active PIN None Programme" in colleague.text
    assert "Risk rules Standard Risk" in colleague.text
    assert "Riverside Books" in colleague.text
    assert "120.00 USD" in colleague.text
    assert "\u22125.00 EUR" in colleague.text
    assert "51 insufficient funds" in colleague.text
    assert f'<title id="chart-{card.account_id}-title">Balance of account {card.account_id}</title>' in text
    assert "Available went from 500.00 EUR" in colleague.text
    assert " style=" not in text
    assert card.pan not in text


def test_a_card_with_several_accounts_shows_fewer_transactions_of_each(scene: Scene, colleague: Person) -> None:
    rows = []
    for currencies in ([EUR], [EUR, USD]):
        card = scene.card_in("A", card_currency_ison=currencies)
        for _ in range(6):
            scene.give(card.account_id, 1_00)
        colleague.get(f"/cards/{card.card_id}")
        rows.append(colleague.text.count("Inbound external payment"))

    assert rows == [6, 5]


def test_who_has_paid_and_who_was_paid_stands_beside_external_payments(
    scene: Scene, colleague: Person, card: MadeCard
) -> None:
    address = scene.address(card.account_id, method=2)
    came = scene.inbound(address, 50_00, sender_name="<b>Meadow & Sons</b>", reference="Invoice 7")
    scene.data("inboundReturn", epm_transaction_id=came["epm_transaction_id"], reason=1)
    to = {"destination_account_name": "Lantern Books", "description": "May"}
    scene.result(scene.paid(address, 20_00, **to), "settled")
    scene.debit(scene.mandate(address, creditor_name="Riverside Gym"), 30_00, passed=True)

    colleague.get(f"/cards/{card.card_id}")

    assert "<b>Meadow" not in colleague.last.text
    for told in (
        '&lt;b&gt;Meadow &amp; Sons&lt;/b&gt;<span class="small">SCT, Invoice 7</span>',
        'Lantern Books<span class="small">DE89370400440532013000, SCTINST, May</span>',
        'Riverside Gym<span class="small">MEMBER-7</span>',
    ):
        assert told in colleague.last.text
    for kind in (
        "Inbound external payment",
        "Return that debits the holder",
        "Outbound external payment",
        "Direct debit",
    ):
        assert kind in colleague.text


def test_what_a_shop_is_called_is_not_markup(scene: Scene, colleague: Person, card: MadeCard) -> None:
    name = "<script>alert(1)</script>"
    scene.purchase(card.card_id, 25_00, merchant_name=name)

    for path in (f"/cards/{card.card_id}", "/cards/activity"):
        assert name not in colleague.get(path).text
        assert name in colleague.text


def test_activity_leads_on_to_what_was_before(world: World, scene: Scene, colleague: Person, card: MadeCard) -> None:
    for number in range(26):
        scene.purchase(card.card_id, 1_00, merchant_name=f"Shop {number}")
    for path in ("/cards/activity", f"/cards/activity?card_id={card.card_id}"):
        colleague.get(path)
        assert "Shop 25" in colleague.text
        assert "Shop 0 " not in colleague.text
        (older,) = re.findall(r'href="([^"]+)" rel="next"', colleague.last.text)
        colleague.get(older.replace("&amp;", "&"))
        assert "Shop 0 " in colleague.text
        assert "Shop 25" not in colleague.text


def test_cards_are_filtered_and_the_filter_stays(scene: Scene, colleague: Person) -> None:
    made = scene.card(card_name_line_3="ADA LOVELACE")
    other = scene.card()
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


def test_the_next_page_keeps_the_filter(scene: Scene, colleague: Person) -> None:
    for _ in range(21):
        scene.card(card_name_line_3="MANY CARDS")
    colleague.get("/cards?holder=many")
    (older,) = re.findall(r'href="([^"]+)" rel="next"', colleague.last.text)
    colleague.get(html.unescape(older))

    assert "holder=many" in older
    assert len(re.findall(r'href="/cards/[0-9]+"', colleague.last.text)) == 1


def test_one_of_ten_thousand_cards_is_found_and_the_list_stays_flat(
    world: World, scene: Scene, colleague: Person
) -> None:
    made = scene.card(card_name_line_3="OLDEST CARD")
    card = Card.from_item(world.hub.store.get(*Card.key(made.card_id)) or {})
    list_others(world, card, 10_000)
    with counted(world) as search:
        text = colleague.get("/cards?holder=oldest&status=N").text
    with counted(world) as page:
        colleague.get("/cards")

    reads = ["BatchGetItem"]
    assert re.findall(r'href="/cards/([0-9]+)"', text) == [str(made.card_id)]
    assert search == [*reads, *["Query"] * 48, *reads, *reads], "three parallel reads of 16 partitions"
    assert page == [*reads, *["Query"] * 16, *reads]


def test_a_search_without_a_match_is_bounded_says_so_and_goes_on(
    monkeypatch: pytest.MonkeyPatch, world: World, scene: Scene, colleague: Person
) -> None:
    monkeypatch.setattr(time_ordered, "_DEEPER", (1, 1))
    made = scene.card(card_name_line_3="OLDEST CARD")
    card = Card.from_item(world.hub.store.get(*Card.key(made.card_id)) or {})
    list_others(world, card, 1_000)
    with counted(world) as calls:
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
def test_a_filter_that_is_wrong_says_so_at_its_field(colleague: Person, card: MadeCard, query: str) -> None:
    answer = colleague.get(f"/cards?{query}")
    name = query.partition("=")[0]

    assert answer.status == 400
    assert f'aria-invalid="true" aria-describedby="{name}-error"' in answer.text
    assert 'href="/cards/1"' not in answer.text


def test_activity_is_filtered_by_answer_kind_and_day(scene: Scene, colleague: Person, card: MadeCard) -> None:
    scene.purchase(card.card_id, 25_00, merchant_name="Corner Shop")
    scene.purchase(card.card_id, 9_000_00, merchant_name="Riverside Books")
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


def test_a_local_stack_says_that_its_month_is_invented(world: World, colleague: Person, card: MadeCard) -> None:
    assert "payments are invented" in colleague.get("/cards").text
    world.hub.settings = replace(world.hub.settings, stage="dev", public_url="https://hub.example")
    assert "invented" not in colleague.get("/cards").text


# -- statements


def test_a_statement_has_its_balances_totals_and_rows(scene: Scene, colleague: Person, card: MadeCard) -> None:
    scene.clearing(scene.purchase(card.card_id, 25_00, merchant_name="=Corner Shop"), 25_00)
    scene.clock.advance(5)
    colleague.get(f"/cards/{card.card_id}/statement")
    text = colleague.text

    assert "Opening balance 0.00 EUR Came in 500.00 EUR Went out 25.00 EUR Closing balance 475.00 EUR" in text
    assert "=Corner Shop \u221225.00 EUR 475.00 EUR" in text
    (csv_link,) = re.findall(r'href="([^"]+format=csv)"', colleague.last.text)
    file = colleague.get(html.unescape(csv_link))
    rows = list(csv.DictReader(io.StringIO(file.text)))

    assert file.headers["content-type"].startswith("text/csv")
    assert file.headers["content-disposition"].startswith(f'attachment; filename="statement-{card.account_id}-')
    assert [row["type"] for row in rows] == [
        "Opening balance",
        "inbound external payment",
        "purchase",
        "Closing balance",
    ]
    assert [row["amount"] for row in rows] == ["", "500.00", "-25.00", ""]
    assert [row["balance"] for row in rows] == ["0.00", "500.00", "475.00", "475.00"]
    assert rows[2]["purpose"] == "'=Corner Shop", "no formula of a spreadsheet"


def test_the_days_of_a_statement_are_checked(colleague: Person, card: MadeCard) -> None:
    place = f"/cards/{card.card_id}/statement"
    for query, words in (
        ("from=2026-02-30", "This is not a date."),
        ("from=2026-01-02&to=2026-01-01", "This is later than the last day."),
    ):
        answer = colleague.get(f"{place}?{query}&format=csv")
        assert (answer.status, words in answer.text) == (400, True)
    assert colleague.get(f"{place}?from=2001-01-01&to=2001-01-31").status == 200
    assert "Nothing was booked on these days." in colleague.text
    assert colleague.get(f"{place}?account_id=987654321").status == 404
    assert colleague.get("/cards/987654321/statement").status == 404


@pytest.mark.usefixtures("colleague")
def test_a_statement_ends_with_the_last_second_of_its_days_in_utc(world: World, scene: Scene, email: str) -> None:
    card = scene.card_in("A")
    address = scene.address(card.account_id, method=2)
    midnight = (scene.clock.time() // 86_400 + 1) * 86_400
    for second, amount in ((midnight - 1, 1_00), (midnight, 2_00)):
        scene.clock.advance(second - scene.clock.time())
        scene.inbound(address, amount)
    scene.clock.advance(5)
    before, after = (datetime.fromtimestamp(each, UTC).date() for each in (midnight - 1, midnight))
    place, colleague = f"/cards/{card.card_id}/statement", Person.signed_in(world, email)
    files = [colleague.get(f"{place}?from={day}&to={day}&format=csv").text for day in (before, after)]
    amounts = [[row["amount"] for row in csv.DictReader(io.StringIO(file)) if row["amount"]] for file in files]
    balances = [[row["balance"] for row in csv.DictReader(io.StringIO(file))] for file in files]

    assert amounts == [["1.00"], ["2.00"]]
    assert balances == [["0.00", "1.00", "1.00"], ["1.00", "3.00", "3.00"]]


def test_a_statement_of_too_many_transactions_asks_for_fewer_days(
    monkeypatch: pytest.MonkeyPatch, scene: Scene, colleague: Person, card: MadeCard
) -> None:
    monkeypatch.setattr("chalicelib.cards.protocol.portal_messages.STATEMENT_ROWS", 1)
    scene.give(card.account_id, 1_00)
    scene.clock.advance(5)
    answer = colleague.get(f"/cards/{card.card_id}/statement")

    assert (answer.status, "Choose fewer days." in answer.text) == (400, True)


def test_a_page_of_a_statement_shows_some_of_many_rows_and_says_so(
    monkeypatch: pytest.MonkeyPatch, scene: Scene, colleague: Person, card: MadeCard
) -> None:
    monkeypatch.setattr("chalicelib.website.cards.card_statement_views.SHOWN", 1)
    scene.give(card.account_id, 1_00)
    scene.clock.advance(5)

    assert "first 1 of 2 transactions" in colleague.get(f"/cards/{card.card_id}/statement").text
    assert "Closing balance 501.00 EUR" in colleague.text


def test_addresses_that_nobody_gave_out_show_the_newest(colleague: Person, card: MadeCard) -> None:
    for path in ("/cards?before=x", "/cards?before=0", "/cards/activity?before=1-", "/cards/activity?card_id=-1"):
        assert colleague.get(path).status == 200
    assert colleague.get(f"/cards/{'9' * 3000}").status == 404


# -- the simulator


def test_an_approval_and_a_decline_are_told_with_code_and_meaning(colleague: Person, card: MadeCard) -> None:
    simulate(colleague, card, "simulateAuthorization", **USE)
    approved = outcome(colleague)
    simulate(colleague, card, "simulateAuthorization", **USE | {"amount": "600"})
    declined = outcome(colleague)

    assert approved.startswith("Approved 00, approved. 25.00 EUR is held in total. Available now: 475.00 EUR")
    assert declined.startswith("Declined 51, insufficient funds.")
    assert 'class="outcome bad"' in colleague.last.text


def test_a_result_stands_at_its_form_and_has_the_focus(colleague: Person, card: MadeCard) -> None:
    answer = simulate(colleague, card, "simulateAuthorization", **USE)
    form = answer.text.partition("<summary>Authorization")[2].partition("</details>")[0]

    assert '<section class="outcome good" role="status" id="outcome" tabindex="-1" autofocus>' in form
    assert "00, approved." in form.partition("<form")[0]
    assert answer.text.count('class="outcome') == 1
    assert answer.text.count(" autofocus") == 1


def test_the_end_of_a_hold_is_not_green(scene: Scene, colleague: Person, card: MadeCard) -> None:
    held = scene.purchase(card.card_id, 25_00)
    answer = simulate(colleague, card, "simulateExpiry", trans_link=f"{held['trans_link']}.{EUR}")
    row = answer.text.partition("End of the hold")[2].partition("</tr>")[0]

    assert 'class="outcome plain"' in answer.text
    assert '<span class="tag">00</span>' in row


@pytest.mark.parametrize(
    ("use", "told", "available"),
    [
        pytest.param({"merchant_country_ison": 840}, "25.50 EUR is held in total, 0.50 EUR", 474_50, id="separate"),
        pytest.param(
            {"transaction_type": 11, "mcc": "7995"}, "25.63 EUR is held in total, 0.63 EUR", 474_37, id="blended"
        ),
    ],
)
def test_what_is_held_is_told_with_its_fees(
    scene: Scene, colleague: Person, card: MadeCard, use: dict[str, Any], told: str, available: int
) -> None:
    simulate(colleague, card, "simulateAuthorization", **USE | use)

    assert scene.balances(card.account_id)[0] == available
    assert outcome(colleague).startswith(f"Approved 00, approved. {told} of it fees. Available now: ")


def test_an_increment_is_told_with_the_fees_that_it_adds(colleague: Person, card: MadeCard) -> None:
    simulate(colleague, card, "simulateAuthorization", **USE | {"amount": "100", "merchant_country_ison": 840})
    (held,) = set(re.findall(r'<option value="(0[0-9]+\.978)"', colleague.last.text))
    simulate(colleague, card, "simulateIncrement", trans_link=held, amount="100")

    assert "203.00 EUR is held in total, 1.50 EUR of it new fees." in outcome(colleague)


def test_a_collection_tells_its_transaction_and_the_balances(colleague: Person, card: MadeCard) -> None:
    simulate(colleague, card, "simulateAuthorization", **USE | {"merchant_country_ison": 840})
    (held,) = set(re.findall(r'<option value="(0[0-9]+\.978)"', colleague.last.text))
    simulate(colleague, card, "simulateClearing", trans_link=held, amount="25", currency_ison=EUR, final="yes")

    assert re.fullmatch(
        r"Collected 25\.00 EUR is booked as transaction \d+\. 25\.50 EUR is no longer held\. "
        r"Available now: 474\.50 EUR, settled: 474\.50 EUR\.",
        outcome(colleague),
    )


def test_an_inquiry_holds_nothing(colleague: Person, card: MadeCard) -> None:
    simulate(colleague, card, "simulateAuthorization", **USE | {"transaction_type": 39, "amount": "0"})

    assert outcome(colleague).startswith("Approved 00, approved. It comes to 0.00 EUR on the account. Available")


def test_a_purchase_goes_its_whole_way(colleague: Person, card: MadeCard) -> None:
    simulate(colleague, card, "simulateAuthorization", **USE)
    (held,) = set(re.findall(r'<option value="(0[0-9]+\.978)"', colleague.last.text))
    said = []
    for action, fields in (
        ("simulateIncrement", {"trans_link": held, "amount": "10"}),
        ("simulateReversal", {"trans_link": held, "amount": "5"}),
        ("simulateClearing", {"trans_link": held, "amount": "20", "currency_ison": EUR, "final": "yes"}),
        ("simulateRefund", {"trans_link": held, "amount": "4", "currency_ison": EUR}),
    ):
        assert simulate(colleague, card, action, **fields).status == 200
        said.append(outcome(colleague))
    (collected,) = set(
        re.findall(r'<option value="([0-9]{1,9}\.978)">\d+, Corner Shop, 20.00 EUR', colleague.last.text)
    )
    simulate(colleague, card, "simulateDispute", transaction_id=collected, step="opened", amount="16")
    said.append(outcome(colleague))

    assert [each.partition(" Available")[0] for each in said] == [
        "Approved 00, approved. 35.00 EUR is held in total.",
        "Released 5.00 EUR is no longer held.",
        f"Collected 20.00 EUR is booked as transaction {collected.partition('.')[0]}. 30.00 EUR is no longer held.",
        f"Refunded 4.00 EUR is booked as transaction {int(collected.partition('.')[0]) + 1}.",
        "Dispute opened The holder has been credited, and the credit is reserved.",
    ]
    assert "Dispute opened 16.00 EUR 16.00 EUR" in colleague.text


def test_a_new_card_is_made_ready_and_paid_into(scene: Scene, colleague: Person) -> None:
    card = scene.card()
    simulate(colleague, card, "simulateAuthorization", **USE)
    assert outcome(colleague).startswith("Declined 78, card not activated.")
    manage(colleague, card, "activateCard")
    assert "The card is active" in colleague.get(f"/cards/{card.card_id}").text
    simulate(colleague, card, "assignExternalPaymentAddress", account_id=f"{card.account_id}.978", epm_method_id=2)
    assert f"is credited to account {card.account_id}." in outcome(colleague)
    (address,) = re.findall(r'<option value="([0-9]+\.978)">[A-Z]{2}[0-9]{2}', colleague.last.text)
    payment = {"epm_address_id": address, "amount": "70", "sender_name": "Ada", "reference": "Top-up"}
    simulate(colleague, card, "simulateInboundPayment", **payment)

    assert outcome(colleague).startswith("The payment is settled")
    assert scene.balances(card.account_id)[0] == 70_00
    simulate(colleague, card, "simulateAuthentication", **USE)
    assert outcome(colleague).startswith("3-D Secure:")


def test_a_form_that_is_sent_twice_does_it_once(scene: Scene, colleague: Person, card: MadeCard) -> None:
    simulate(colleague, card, "simulateAuthorization", **USE)
    colleague.get(f"/cards/{card.card_id}")
    draft = colleague.hidden("draft")
    for _ in range(2):
        colleague.post(f"/cards/{card.card_id}/simulator", action="simulateAuthorization", draft=draft, form=USE)

    assert scene.balances(card.account_id)[0] == 450_00


def test_what_is_refused_is_said_and_what_was_written_stays(colleague: Person, card: MadeCard) -> None:
    wrong = simulate(colleague, card, "simulateAuthorization", **USE | {"amount": "a lot", "merchant_name": "My shop"})
    kept = 'value="My shop"' in wrong.text
    late = simulate(colleague, card, "simulateExpiry", trans_link="000000000001.978")
    unknown = simulate(colleague, card, "getPin")
    short = simulate(colleague, card, "simulateAuthorization", **USE | {"pin": "73"})

    assert (wrong.status, kept) == (400, True)
    assert "Enter an amount of EUR such as 25.00." in wrong.text
    assert (late.status, "Expiry was refused (3012)" in late.text) == (409, True)
    assert unknown.status == 400
    assert (short.status, "PIN must have 4 digits." in short.text) == (400, True)


def field_of(answer: Answer, action: str, name: str) -> str:
    """A field of a form, with its error."""
    found = re.search(
        rf'<(?:input|select) id="{action}-{name}".*?(?=<div class="(?:field|actions)")', answer.text, re.DOTALL
    )
    assert found is not None
    return found[0]


def test_what_is_wrong_with_a_field_stands_at_the_field_and_the_first_is_focused(
    colleague: Person, card: MadeCard
) -> None:
    wrong = {"amount": "a lot", "merchant_name": " ", "pin": "73"}
    answer = simulate(colleague, card, "simulateAuthorization", **USE | wrong)

    for name, error in (("amount", "Enter an amount of EUR"), ("merchant_name", "is missing"), ("pin", "4 digits")):
        field = field_of(answer, "simulateAuthorization", name)
        assert 'aria-invalid="true"' in field
        assert f'aria-describedby="simulateAuthorization-{name}-error"' in field
        assert error in field.partition(f'id="simulateAuthorization-{name}-error"')[2]
        assert (" autofocus" in field) == (name == "amount")
    assert answer.text.count("aria-invalid") == 3
    assert answer.text.count(" autofocus") == 1
    assert 'class="alert"' not in answer.text
    assert "aria-invalid" not in colleague.get(f"/cards/{card.card_id}").text


def test_what_the_service_says_of_a_field_stands_at_it_too(colleague: Person, card: MadeCard) -> None:
    answer = simulate(colleague, card, "simulateAuthorization", **USE | {"merchant_name": "x" * 300})
    field = field_of(answer, "simulateAuthorization", "merchant_name")

    assert answer.status == 400
    assert 'aria-invalid="true"' in field
    assert "Merchant must have" in field


def test_what_is_wrong_with_the_form_as_a_whole_stands_in_it_and_is_focused(colleague: Person, card: MadeCard) -> None:
    answer = simulate(colleague, card, "simulateExpiry", trans_link="000000000001.978")
    form = answer.text.partition("<summary>Expiry")[2].partition("</details>")[0]

    assert re.search(r'role="alert" tabindex="-1" autofocus><svg .+?</svg>Expiry was refused \(3012\)', form, re.DOTALL)
    assert answer.text.count("was refused") == 1


def test_a_form_that_is_there_no_more_is_refused_on_top_of_the_page(colleague: Person, card: MadeCard) -> None:
    """The card is active already: the form that activates it is gone."""
    answer = manage(colleague, card, "activateCard")

    assert answer.status == 409
    assert "Refused (4006)" in answer.text.partition("<h1")[0]


def test_a_pin_that_was_typed_is_not_shown_again(colleague: Person, card: MadeCard) -> None:
    for amount in ("5.00", "a lot"):
        answer = simulate(
            colleague, card, "simulateAuthorization", **USE | {"amount": amount, "pin": "7395", "cvc2": "517"}
        )
        assert not re.search('value="(7395|517)"', answer.text)


def test_the_address_of_an_answer_leads_to_the_card(user: Person, visitor: Person) -> None:
    for person in (user, visitor):
        for written, place in (("7", "/cards/7"), ("card", "/cards"), ("7%0d%0aX-Y:%20z", "/cards")):
            answer = person.get(f"/cards/{written}/simulator")
            assert (answer.status, answer.headers["location"]) == (303, place)
            assert "x-y" not in answer.headers


def test_the_line_of_a_request_names_what_was_done(lines: Lines, colleague: Person, card: MadeCard) -> None:
    simulate(colleague, card, "simulateAuthorization", **USE)
    simulate(colleague, card, "simulateExpiry", trans_link="000000000001.978")
    done = [line for line in lines.all() if line.get("method") == "POST"]

    assert [line["action"] for line in done] == ["simulateAuthorization", "simulateExpiry"]


def test_the_forms_begin_with_what_is_left(colleague: Person, card: MadeCard) -> None:
    for amount in ("12.34", "56.78"):
        simulate(colleague, card, "simulateAuthorization", **USE | {"amount": amount})
    begun = re.findall(
        r'id="simulate(?:Clearing|Refund)-amount" name="amount" type="text" value="([^"]*)"', colleague.last.text
    )

    assert begun == ["56.78", ""]


def test_a_card_that_has_a_pin_shows_its_state(scene: Scene, colleague: Person) -> None:
    card = scene.card(card_virtual=0)
    colleague.get(f"/cards/{card.card_id}")

    assert "PIN OK 0 of 3 wrong tries" in colleague.text


def test_a_form_of_another_page_changes_nothing(scene: Scene, colleague: Person, card: MadeCard) -> None:
    path = f"/cards/{card.card_id}/simulator"
    sent = {"action": "simulateAuthorization", "draft": "0" * 22, **USE}
    answers = [
        colleague.post(path, token="x" * 20, form=sent),
        colleague.post(path, headers={"sec-fetch-site": "cross-site"}, form=sent),
    ]

    assert [answer.status for answer in answers] == [403, 403]
    assert scene.balances(card.account_id)[0] == 500_00


# -- cards are managed

NEW = {
    "card_program_id": "101",
    "card_virtual": "1",
    "card_country_ison": "Germany",
    "card_name_line_3": "ADA LOVELACE",
    "holder_first_name": "Ada",
    "holder_last_name": "Lovelace",
    "holder_address_line_1": "1 Riverside",
    "holder_zipcode": "E1 6AN",
    "holder_city": "London",
    "holder_country_ison": "gb",
    "holder_phone_number": "447700900123",
}


def issue(person: Person, **fields: Any) -> Answer:
    person.get("/cards/new")
    return person.post("/cards/new", draft=person.hidden("draft"), form={**NEW, **fields})


def test_a_card_is_issued_activated_blocked_and_unblocked(scene: Scene, colleague: Person) -> None:
    place = issue(colleague).headers["location"]
    number = int(place.rpartition("/")[2])
    assert "The card has been issued." in colleague.get(place).text
    assert "ADA LOVELACE" in colleague.text
    colleague.post(place, action="activateCard", draft=colleague.hidden("draft"))
    statuses = []
    for status in ("T", "A"):
        colleague.get(place)
        colleague.post(place, action="changeCardStatus", draft=colleague.hidden("draft"), form={"status": status})
        assert "The card's status has been changed." in html.unescape(colleague.get(place).text)
        statuses.append(scene.data("getCardStatus", card_id=number)["card_status"])

    assert statuses == ["T", "A"]


def test_a_card_is_issued_for_a_holder_and_an_account_that_exist(
    scene: Scene, colleague: Person, card: MadeCard
) -> None:
    words = {name: "" for name in NEW if name.startswith("holder_")}
    place = issue(colleague, **words, holder_id=card.holder_id, account_id=card.account_id).headers["location"]

    found = scene.data("getAccounts", card_id=int(place.rpartition("/")[2]))
    assert [each["id"] for each in found] == [card.account_id]


def test_a_new_card_that_is_sent_twice_is_issued_once(scene: Scene, colleague: Person) -> None:
    colleague.get("/cards/new")
    draft = colleague.hidden("draft")
    places = [colleague.post("/cards/new", draft=draft, form=NEW).headers["location"] for _ in range(2)]

    assert places[0] == places[1]


def test_of_two_clicks_at_once_one_issues_the_card(monkeypatch: pytest.MonkeyPatch, colleague: Person) -> None:
    """The second request is carried out while the first one is about to write."""
    colleague.get("/cards/new")
    draft, token, places = colleague.hidden("draft"), colleague.token, []
    real = Store.transact

    def click() -> None:
        answer = colleague.post("/cards/new", draft=draft, token=token, form=NEW)
        places.append((answer.status, answer.headers["location"]))

    def transact(store: Store, operations: Sequence[Operation]) -> None:
        monkeypatch.setattr(Store, "transact", real)
        click()
        real(store, operations)

    monkeypatch.setattr(Store, "transact", transact)
    click()

    assert len(places) == 2
    assert len(set(places)) == 1
    assert len(re.findall('href="/cards/[0-9]+"', colleague.get("/cards").text)) == 1


def test_what_is_wrong_with_a_new_card_stands_at_the_field(colleague: Person) -> None:
    missing = issue(colleague, card_name_line_3="")
    assert (missing.status, "Name on the card is missing." in missing.text) == (400, True)
    assert 'value="Lovelace"' in missing.text, "what was typed stays"
    wrong = issue(colleague, holder_phone_number="12", card_name_line_3="A")
    assert wrong.status == 400
    assert "Phone number must" in wrong.text
    assert "Name on the card must have" in wrong.text
    assert wrong.text.count(" autofocus") == 1
    assert issue(colleague, holder_first_name="").status == 400
    nobody = issue(colleague, holder_id="987654321")
    assert (nobody.status, "Refused (3003)" in nobody.text) == (409, True)


def test_a_form_has_the_rules_of_the_actions_model(world: World, colleague: Person) -> None:
    text = colleague.get("/cards/new").text

    assert re.search(r'id="new-card_name_line_3"[^>]* required', text)
    assert not re.search(r'id="new-card_reference_id"[^>]* required', text)
    assert "3 to 26 characters" in text
    assert text.count('list="countries"') == 3
    assert '<option value="United Kingdom">GB</option>' in text
    assert "Optional. At most 50 characters" in text
    assert re.search(r'<select id="new-card_virtual".*?value="1" selected>Virtual', text, re.DOTALL)
    for action in BY_ACTION.values():
        model = world.hub.website.portal.request_of(action.action)
        assert {"card_id", *action.members} <= model.model_fields.keys()


def test_a_country_is_given_by_its_name(world: World, scene: Scene, colleague: Person) -> None:
    place = issue(colleague, card_country_ison="germany", holder_country_ison="Türkiye").headers["location"]
    card = world.hub.store.get(*Card.key(int(place.rpartition("/")[2]))) or {}
    wrong = issue(colleague, card_country_ison="Atlantis")

    assert card["country"] == 276
    assert scene.data("getHolder", holder_id=card["holder_id"])["country_ison"] == 792
    assert (wrong.status, "There is no such country." in wrong.text) == (400, True)
    assert 'value="Atlantis"' in wrong.text


def test_a_form_that_was_corrected_is_accepted(colleague: Person) -> None:
    """The refused request used no reference up."""
    for wrong in ({"card_name_line_3": ""}, {"holder_phone_number": "12"}, {"holder_id": "987654321"}):
        issue(colleague, **wrong)
        again = colleague.post("/cards/new", draft=colleague.hidden("draft"), form=NEW)
        assert again.status == 303, wrong


def test_an_account_needs_its_holder(colleague: Person, card: MadeCard) -> None:
    refused = issue(colleague, account_id=str(card.account_id))

    assert refused.status == 400
    assert "Enter the id of the holder that has the account." in refused.text


def test_what_is_refused_is_told_in_the_words_of_the_form(colleague: Person, card: MadeCard) -> None:
    physical = issue(colleague, card_virtual="0", holder_city="")
    both = issue(colleague, holder_id=card.holder_id, account_id=card.account_id, card_currency_ison=EUR)

    assert (physical.status, both.status) == (400, 400)
    assert "Delivery city is required." in physical.text
    assert "City is required." in physical.text
    assert "Currency of a new account must not be combined with Account id." in both.text


def test_blocking_for_good_asks_first(scene: Scene, colleague: Person, card: MadeCard) -> None:
    asked = manage(colleague, card, "changeCardStatus", status="B", reason_code="", note="lost twice")
    before = scene.data("getCardStatus", card_id=card.card_id)["card_status"]
    names = ("action", "draft", "confirmed", "status", "note")
    colleague.post(f"/cards/{card.card_id}", form={name: colleague.hidden(name) for name in names})
    after = scene.data("getCardStatus", card_id=card.card_id)

    assert "Block this card for good?" in asked.text
    assert (before, after["card_status"], after["note"]) == ("A", "B", "lost twice")
    assert 'id="manage"' not in colleague.get(f"/cards/{card.card_id}").text


@pytest.mark.parametrize(
    ("action", "member", "kind"),
    [
        ("assignCardToFeesGroup", "fees_group_id", "fee_group"),
        ("assignCardToLimitsGroup", "limits_group_id", "limit_group"),
        ("assignCardToUsageGroup", "usages_group_id", "usage_group"),
        ("assignCardToRiskRuleGroup", "risk_rules_group_id", "risk_group"),
    ],
)
def test_a_card_is_moved_to_a_group_that_its_programme_allows(
    world: World, colleague: Person, card: MadeCard, action: str, member: str, kind: str
) -> None:
    answer = manage(colleague, card, "none")
    select = answer.text.partition(f'<select id="{action}-{member}"')[2].partition("</select>")[0]
    offered = re.findall(r'<option value="([0-9]+)"', select)
    moved = manage(colleague, card, action, **{member: offered[-1]})
    stored = world.hub.store.get(*Card.key(card.card_id)) or {}
    forged = manage(colleague, card, action, **{member: "987"})

    assert moved.status == 303
    assert stored[f"{kind}_id"] == int(offered[-1])
    assert forged.status in (400, 409)


def test_managing_is_logged_as_done_in_the_web_interface(lines: Lines, colleague: Person, card: MadeCard) -> None:
    manage(colleague, card, "changeCardStatus", status="T")
    done = [line for line in lines.all() if line.get("action") == "changeCardStatus"]

    assert any("web interface" in str(line.get("credential")) for line in done)


def test_a_card_of_another_programme_manager_cannot_be_managed(
    world: World, user: Person, email: str, scene: Scene, card: MadeCard
) -> None:
    link(world, email, OTHER_MANAGER)
    user.get("/cards/new")
    answer = user.post(f"/cards/{card.card_id}", action="changeCardStatus", draft="d" * 22, status="T")

    assert answer.status == 404
    assert scene.data("getCardStatus", card_id=card.card_id)["card_status"] == "A"


def test_in_prod_no_page_has_a_form_of_the_simulator(world: World, colleague: Person, card: MadeCard) -> None:
    world.hub.settings = replace(world.hub.settings, stage="prod")
    answer = colleague.get(f"/cards/{card.card_id}")

    assert answer.status == 200
    assert "imulat" not in answer.text


def test_the_calls_of_each_page_are_part_of_its_design(world: World, colleague: Person, card: MadeCard) -> None:
    session_and_user = ["BatchGetItem"]
    for path, calls in (
        ("/cards", [*["Query"] * 16, "BatchGetItem", "BatchGetItem"]),
        ("/cards/activity", ["Query"] * 16),
        (f"/cards/{card.card_id}", ["BatchGetItem", "BatchGetItem", *["Query"] * 3, "BatchGetItem"]),
    ):
        with counted(world) as made:
            assert colleague.get(path).status == 200
        assert made == [*session_and_user, *calls]


def test_what_happens_to_an_authorization_that_the_page_does_not_show_is_told_in_minor_units(
    scene: Scene, colleague: Person, card: MadeCard
) -> None:
    held = scene.purchase(card.card_id, 25_00)
    other = scene.card()
    simulate(colleague, other, "simulateReversal", trans_link=f"{held['trans_link']}.{EUR}", amount="5")

    assert outcome(colleague).startswith("Released 500 in minor units is no longer held.")
