"""Browser errors in a window fail the test unless the test allows these errors."""

from typing import Any

import pytest
from playwright.sync_api import Browser

from tests.browser.window import Window, Windows, open_window

pytestmark = pytest.mark.pages
STRICT = "default-src 'none'; style-src 'self'"


@pytest.mark.parametrize(
    ("body", "options", "complaint"),
    [
        ("<script>1</script>", {"policy": STRICT}, "Content Security Policy"),
        ('<p style="color: red">Red</p>', {"policy": STRICT}, "Content Security Policy"),
        ("<script>console.error('It broke')</script>", {}, "console: It broke"),
        ("<script>throw new Error('It broke')</script>", {}, "exception: .*It broke"),
        ('<img alt="" src="http://elsewhere.example/x">', {}, "request to elsewhere: GET http://elsewhere.example/x"),
        ('<img alt="" src="/nowhere.png">', {}, "status of 404 .*/nowhere.png"),
        ("Failed", {"status": 500}, "status of 500"),
    ],
    ids=["a script", "a style", "an error", "an exception", "a request to elsewhere", "a missing picture", "a failure"],
)
def test_a_browser_error_in_a_page_fails_the_test(
    browser: Browser, stack: dict[str, Any], body: str, options: dict[str, Any], complaint: str
) -> None:
    with pytest.raises(AssertionError, match=complaint), open_window(browser, stack) as window:
        window.show(body, **options)


def test_a_404_page_does_not_fail_the_test(window: Window) -> None:
    window.show("Not found", status=404)


def test_a_test_can_ignore_an_expected_error(window: Window) -> None:
    window.forgive("status of 401")

    window.show(
        "<script>fetch('/tpp/consent', {credentials: 'omit'}).then(answer => document.title = answer.status)</script>"
    )

    window.page.wait_for_function("() => document.title === '401'")


def test_a_test_can_allow_requests_to_an_application_at_another_origin(window: Window) -> None:
    address = "http://application.example/back"
    window.may_reach(address)
    window.page.route(address, lambda route: route.fulfill(body="Back"))

    window.show(f'<a href="{address}">Go back</a>')
    window.follow("Go back")


def test_no_script_runs_in_a_window_without_javascript(windows: Windows) -> None:
    window = windows(javascript=False)

    window.show("<p>Nothing runs</p><script>console.error('It ran'); document.body.textContent = ''</script>")

    assert window.page.get_by_text("Nothing runs").is_visible()


def test_tab_navigation_reaches_focusable_elements_only(window: Window) -> None:
    window.show('<a href="/">A link</a> <button>A button</button> <a>No link</a>')

    window.tab_to(window.page.get_by_role("button"))
    with pytest.raises(AssertionError, match="the keyboard does not lead to"):
        window.tab_to(window.page.get_by_text("No link"))
