"""The page of a card displays balances, transactions and activity."""

from tests.cards.issuer import EUR, USD, Issuer, NewCard
from tests.website.web_user import WebUser

ON_THE_WEB = {"transaction_type": 0, "amount": 120_00, "currency_ison": 840, "merchant_name": "Riverside Books"}


def test_a_card_page_shows_balances_transactions_and_activity(
    issuer: Issuer, colleague: WebUser, card: NewCard
) -> None:
    held = issuer.authorization(card_id=card.card_id, **ON_THE_WEB)
    issuer.purchase(card.card_id, 9_000_00)
    issuer.clearing(held, 120_00, currency_ison=840)
    issuer.clearing({"trans_link": "x"}, 5_00, trans_link=held["trans_link"])
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


def test_a_card_with_several_accounts_shows_fewer_transactions_per_account(issuer: Issuer, colleague: WebUser) -> None:
    rows = []
    for currencies in ([EUR], [EUR, USD]):
        card = issuer.card_in("A", card_currency_ison=currencies)
        for _ in range(6):
            issuer.give(card.account_id, 1_00)
        colleague.get(f"/cards/{card.card_id}")
        rows.append(colleague.text.count("Inbound external payment"))

    assert rows == [6, 5]


def test_external_payments_show_payer_payee_and_reference(issuer: Issuer, colleague: WebUser, card: NewCard) -> None:
    address = issuer.address(card.account_id, method=2)
    came = issuer.inbound(address, 50_00, sender_name="<b>Meadow & Sons</b>", reference="Invoice 7")
    issuer.data("inboundReturn", epm_transaction_id=came["epm_transaction_id"], reason=1)
    to = {"destination_account_name": "Lantern Books", "description": "May"}
    issuer.result(issuer.pending_payment(address, 20_00, **to), "settled")
    issuer.debit(issuer.mandate(address, creditor_name="Riverside Gym"), 30_00, passed=True)

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


def test_a_card_with_a_pin_shows_the_pin_state(issuer: Issuer, colleague: WebUser) -> None:
    card = issuer.card(card_virtual=0)
    colleague.get(f"/cards/{card.card_id}")

    assert "PIN OK 0 of 3 wrong tries" in colleague.text
