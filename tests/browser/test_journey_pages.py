"""Pages that update without a reload: a consent revoked at the bank, and a payment until its final status."""

import pytest

from tests.browser import page_checks, psu, user
from tests.browser.explorer import answered, ready
from tests.browser.window import Window

pytestmark = pytest.mark.pages


def test_an_authorization_page_shows_without_a_reload_that_the_consent_was_revoked_at_the_bank(window: Window) -> None:
    user.register(window)
    user.create_client(window)
    user.authorize(window, 2)
    journey = window.page
    window.page = journey.context.new_page()
    window.open(f"{window.bank(2)['domain']}/consents")
    psu.sign_in(window, 2)
    psu.revoke(window)
    window.page.close()
    window.page = journey

    journey.get_by_role("heading", level=1, name="The consent has ended").wait_for()
    journey.get_by_text("The bank reported that it has ended").wait_for()
    assert journey.locator("#live-said").inner_text() == "The consent has ended"
    assert journey.get_by_role("button", name="Refresh the tokens").count() == 0
    assert not page_checks.findings(journey)


@pytest.mark.parametrize("version", [1, 2])
def test_a_submitted_payment_form_shows_the_final_status_without_copied_ids(window: Window, version: int) -> None:
    user.register(window)
    user.create_client(window)
    user.authorize(window, version)
    window.follow("Make a payment")
    ready(window)
    page = window.page
    page.get_by_role("button", name="Execute", exact=True).click()
    paid = answered(page)
    assert paid.status == "200"
    with page.expect_popup() as opened:
        page.get_by_role("link", name="Confirm at the bank (new tab)").click()
    window.page = opened.value
    psu.confirm(window, version)

    if version == 2:  # bank one executes at once
        window.page.get_by_text("The status is not final yet").wait_for()
    window.page.get_by_role("heading", name="Payment completed").wait_for()
    assert paid.body["payment_id"] in window.page.locator("main").inner_text()
    said = window.page.locator("main").inner_text()
    assert ("Confirmed" in said) if version == 1 else ("account completed" in said)
    assert not window.page.locator("[data-live]").count()


def test_the_page_of_a_payment_that_allows_no_status_requests_does_not_poll(window: Window) -> None:
    window.open("/payments/callback?payment_id=5f6c1f0e&status=4&bic=DEMOGB21")

    assert window.page.locator("script[src*=live]").count() == 0
