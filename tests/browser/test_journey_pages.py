"""Pages that change by themselves: a journey whose consent ends at the bank, and a payment until its final status."""

from __future__ import annotations

import pytest

from tests.browser import checks, psu, user
from tests.browser.specification_pages import answered, ready
from tests.browser.visitor import Visitor

pytestmark = pytest.mark.pages


def test_a_journey_page_shows_the_end_of_the_consent_at_the_bank_without_a_reload(visitor: Visitor) -> None:
    user.register(visitor)
    user.create_client(visitor)
    user.authorize(visitor, 2)
    journey = visitor.page
    visitor.page = journey.context.new_page()
    visitor.open(f"{visitor.bank(2)['domain']}/consents")
    psu.take_place(visitor, 2)
    psu.revoke(visitor)
    visitor.page.close()
    visitor.page = journey

    journey.get_by_role("heading", level=1, name="The consent has ended").wait_for()
    journey.get_by_text("The bank reported that it has ended").wait_for()
    assert journey.locator("#live-said").inner_text() == "The consent has ended"
    assert journey.get_by_role("button", name="Refresh the tokens").count() == 0
    assert not checks.findings(journey)


@pytest.mark.parametrize("version", [1, 2])
def test_a_payment_form_leads_to_its_final_status_without_copying(visitor: Visitor, version: int) -> None:
    user.register(visitor)
    user.create_client(visitor)
    user.authorize(visitor, version)
    visitor.follow("Make a payment")
    ready(visitor)
    page = visitor.page
    page.get_by_role("button", name="Execute", exact=True).click()
    paid = answered(page)
    assert paid.status == "200"
    with page.expect_popup() as opened:
        page.get_by_role("link", name="Confirm at the bank (new tab)").click()
    visitor.page = opened.value
    psu.confirm(visitor, version)

    if version == 2:  # bank one executes at once
        visitor.page.get_by_text("Not final yet").wait_for()
    visitor.page.get_by_role("heading", name="Payment completed").wait_for()
    assert paid.body["payment_id"] in visitor.page.locator("main").inner_text()
    said = visitor.page.locator("main").inner_text()
    assert ("Confirmed" in said) if version == 1 else ("account completed" in said)
    assert not visitor.page.locator("[data-live]").count()


def test_the_page_of_an_unconfirmable_payment_does_not_poll(visitor: Visitor) -> None:
    visitor.open("/payments/callback?payment_id=5f6c1f0e&status=4&bic=DEMOGB21")

    assert visitor.page.locator("script[src*=live]").count() == 0
