"""Card pages remain within their size budgets even with the maximum amount of content."""

import pytest

from chalicelib.cards.ledger.account_record import Account
from chalicelib.cards.ledger.entries import movement_key
from chalicelib.cards.protocol.portal_messages import ACCOUNTS
from chalicelib.website.cards.card_views import LATEST, MOVEMENTS
from tests.cards.issuer import GERMANY, Issuer, NewCard
from tests.website.web_user import PAGE_BYTES, WebUser


def full_card(issuer: Issuer) -> NewCard:
    """Create a card with the maximum number of accounts, transactions, movements and messages that a page displays."""
    holder = issuer.holder(country_ison=GERMANY)
    accounts = [issuer.account(holder_id=holder) for _ in range(ACCOUNTS)]
    made = issuer.card_in("A", holder_id=holder, account_id=accounts, account_owner_id=[holder] * ACCOUNTS)
    for number in accounts:
        address = issuer.address(number, method=2)
        for payment in range(LATEST):
            words = f"Invoice {payment} of the Meadow & Sons partnership"
            issuer.inbound(address, 1_234_567_00, sender_name="Meadow & Sons, Riverside", reference=words)
        _move(issuer, number)
    for purchase in range(LATEST):
        held = issuer.purchase(made.card_id, 1_234_00, merchant_name=f"Riverside Books and Maps {purchase}", mcc="5942")
        issuer.clearing(held, 1_234_00)
    return made


def _move(issuer: Issuer, account_id: int) -> None:
    """Add movements of the account's balance with direct storage writes, which are faster than payments."""
    store = issuer.hub.store
    account = Account.from_item(store.get(*Account.key(account_id)) or {})
    for number in range(1, MOVEMENTS + 1):
        balances = {"settled": account.settled + 17 * number, "held": 29 * number, "reserved": number}
        row = {"at": account.last_at + 1000 * number, **balances}
        store.put("ledger", movement_key(account.owner, account.movements + number)[1] | row)
    moved = {"movements": account.movements + MOVEMENTS, "version": account.version + 1}
    store.put("cards", (store.get(*account.place) or {}) | moved)


@pytest.mark.parametrize("path", ["", "/statement"])
def test_the_largest_card_page_is_within_its_size_budget(issuer: Issuer, colleague: WebUser, path: str) -> None:
    address = f"/cards/{full_card(issuer).card_id}{path}"

    size = len(colleague.get(address).text.encode())
    assert size <= PAGE_BYTES


@pytest.mark.parametrize("path", ["/cards/new", "/cards?digits=12&holder=Ada", "/cards/activity"])
def test_card_forms_and_lists_are_within_their_size_budgets(issuer: Issuer, colleague: WebUser, path: str) -> None:
    issuer.spendable(1_00)

    assert len(colleague.get(path).text.encode()) <= PAGE_BYTES
