"""The explorer's code samples in curl, Python and JavaScript have the same effect as the *Execute* button."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page

from chalicelib import bootstrap
from chalicelib.website.openapi_documents import SCREENS, load_document
from tests.browser import user
from tests.browser.explorer import (
    answered,
    authorized,
    execute,
    go_to_screen,
    lock,
    lock_credential,
    opened,
    ready,
    sample,
    screen,
)
from tests.browser.window import Window
from tests.kit.processes import SDK_SOURCE, check_types, require

pytestmark = pytest.mark.pages

OF_VERSION_1 = ("account_payments", "account_payment")
"""Operations that only version 1 banks support. ``account_payment`` needs an id returned by ``account_payments``."""
APART = ("oauth_authorize", "events", "token", "token_revoke", *OF_VERSION_1)
"""Operations that need more than the credentials of a consent, or that end the consent."""
ACTIONS = ("getDesign", "createHolder", "getHolder", "createAccount", "createCard")


class Programs:
    """Runs the code samples of the selected operation, and stores the Python samples for type checks."""

    def __init__(self, page: Page, folder: Path) -> None:
        self.page = page
        self.folder = folder
        folder.mkdir()

    def run(self, operation: str) -> None:
        self.run_curl()
        self._renew_key()
        self.run_javascript()
        self._renew_key()
        self.run_python(operation)

    def _renew_key(self) -> None:
        """Execute a payment, so that the form gets a new Idempotency-Key. The Python package serializes the body
        differently, so its request must not reuse the previous key.
        """
        if self.page.get_by_label("Idempotency-Key").count():
            execute(self.page)

    def run_curl(self) -> None:
        command = sample(self.page, "curl").replace("curl -sS", "curl -sS --fail-with-body --max-time 30", 1)
        done = subprocess.run(["sh", "-c", command], capture_output=True, text=True, check=False)
        assert done.returncode == 0, f"{command}\n{done.stdout}{done.stderr}"

    def run_javascript(self) -> None:
        program = sample(self.page, "JavaScript")
        status = self.page.evaluate(f"async () => {{ {program}\nreturn answer.status }}")
        assert 200 <= status < 300, program

    def run_python(self, operation: str) -> None:
        file = self.folder / f"{operation}_program.py"
        file.write_text(sample(self.page, "Python"), "utf-8")
        environ = {**os.environ, "PYTHONPATH": str(SDK_SOURCE)}
        done = subprocess.run([sys.executable, str(file)], env=environ, capture_output=True, text=True, check=False)
        assert done.returncode == 0, f"{file.read_text('utf-8')}\n{done.stderr}"
        assert operation == "token_revoke" or done.stdout.strip()

    def check_types(self) -> None:
        found = check_types(self.folder)
        assert "Success" in found, found


@pytest.fixture
def programs(window: Window, tmp_path: Path) -> Iterator[Programs]:
    require("curl")
    made = Programs(window.page, tmp_path / "programs")
    yield made
    made.check_types()


@cache
def operations() -> Mapping[str, str]:
    document: Mapping[str, Any] = json.loads(load_document("tpp", "http://hub.example").text)
    return {each["operationId"]: each["tags"][0] for found in document["paths"].values() for each in found.values()}


def of_screen(*tags: str) -> list[str]:
    return [operation for operation, tag in operations().items() if tag in tags and operation not in APART]


def test_the_code_samples_of_every_operation_succeed_at_a_version_2_bank(window: Window, programs: Programs) -> None:
    page = window.page
    authorized(window, 2)
    for operation in of_screen("Unified API", "Unified payments"):
        opened(page, operation)
        programs.run(operation)
    go_to_screen(window, "Account")
    for operation in of_screen("Account"):
        opened(page, operation)
        programs.run(operation)
    opened(page, "accounts")
    page.get_by_label("Prefer").fill("respond-async")
    programs.run("accounts")
    assert execute(page).status == "202"
    go_to_screen(window, "Payments")
    for operation in of_screen("Payments"):
        opened(page, operation)
        assert execute(page).status == "200"  # whose payment the status is asked for
        programs.run(operation)
    go_to_screen(window, "Authorization")
    for operation in of_screen("Authorization"):
        opened(page, operation)
        programs.run(operation)
    opened(page, "oauth_authorize")
    programs.run_python("oauth_authorize")
    opened(page, "token_revoke")
    programs.run("token_revoke")


def test_the_code_samples_of_every_operation_succeed_at_a_version_1_bank(window: Window, programs: Programs) -> None:
    page = window.page
    authorized(window, 1, native=True)
    for operation in of_screen("Unified API", "Unified payments"):
        opened(page, operation)
        programs.run(operation)
    go_to_screen(window, "Account")
    for operation in ("accounts", "account", "account_balance", "funds_confirmations", "account_payments"):
        opened(page, operation)
        programs.run(operation)
    assert execute(page).body["payments"] is not None
    opened(page, "account_payments")
    execute(page)
    page.get_by_role("button", name="Details of payment").click()
    assert answered(page).status == "200"
    programs.run("account_payment")
    go_to_screen(window, "Payments")
    for operation in of_screen("Payments"):
        opened(page, operation)
        assert execute(page).status == "200"
        programs.run(operation)


def test_the_code_samples_of_token_operations_succeed(window: Window, programs: Programs) -> None:
    page = window.page
    user.register(window)
    user.create_client(window)
    user.authorize(window, 2)
    refresh_token = page.locator("#refresh-token").inner_text()
    window.follow("Use in API screens")
    ready(window)
    before = page.locator("#access-token").input_value()
    go_to_screen(window, "Authorization")
    opened(page, "token")
    page.get_by_label("Example", exact=True).select_option(label="A refresh token")
    page.wait_for_function("() => document.body.innerText.includes('refresh_token')")
    page.get_by_label("refresh_token").fill(refresh_token)
    page.wait_for_function("token => document.body.innerText.includes(token)", arg=refresh_token)
    programs.run("token")
    tokens = execute(page).body
    page.get_by_role("button", name="Use the access token as bearer").click()
    page.locator("#credentials-state", has_text="valid until").wait_for()

    assert page.locator("#access-token").input_value() == tokens["access_token"] != before


def test_the_code_samples_of_event_operations_succeed(
    window: Window, programs: Programs, operator: bootstrap.Hub
) -> None:
    made = operator.openbanking.clients.create(owner="explorer@example.com", title="Poller", secret=True, events="poll")
    screen(window, "authorization", "events")
    window.fill("Client secret (if it has one)", str(made.secret))
    lock(window, made.client.client_id)

    programs.run("events")


def test_the_code_samples_of_card_actions_succeed(window: Window, programs: Programs) -> None:
    page = window.page
    screen(window, "cards")
    lock_credential(window)
    for action in ACTIONS:
        opened(page, action)
        programs.run(action)
        assert execute(page).body["status"] == "success"


def test_every_documented_operation_has_a_code_sample_test(window: Window) -> None:
    """Check that the other tests run every operation: the operations of each screen and of ``APART``."""
    screens = [row for row in SCREENS if row.tags]
    assert {*(operation for row in screens for operation in of_screen(*row.tags)), *APART} == operations().keys()
    for row in screens:
        screen(window, row.name)
        listed = window.page.locator("a[data-operation]").evaluate_all("all => all.map(each => each.dataset.operation)")
        assert set(listed) == {each for each, tag in operations().items() if tag in row.tags}
