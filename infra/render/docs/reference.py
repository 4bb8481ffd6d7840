"""The pages of the reference, each with its title, introduction and renderer."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import NamedTuple

from chalicelib.openbanking.protocol.versions import VERSIONS
from infra.render.docs import (
    apis,
    bank_checks,
    cards,
    commands,
    restore,
    retention,
    sdk,
    sdk_layout,
    sdk_listen,
    settings,
    statistics_columns,
)
from infra.render.openapi import documents


class Page(NamedTuple):
    title: str
    introduction: str
    render: Callable[[], str]

    @property
    def text(self) -> str:
        return "\n\n".join(part for part in (f"# {self.title}", self.introduction, self.render()) if part) + "\n"


PAGES: Mapping[str, Page] = {
    "tpp-api": Page("TPP calls and events", "", lambda: apis.render(documents.load("tpp"))),
    **{
        f"bank-api-v{version}": Page(
            f"Bank calls and webhooks, version {version}",
            "",
            partial(lambda each: apis.render(documents.load(f"bank-v{each}")), version),
        )
        for version in VERSIONS.values()
    },
    "bank-checks": Page(
        "Checks of the conformance kit",
        "What the [conformance kit](../concepts/bank-conformance.md) checks at a bank, by subject. "
        "Most rows are derived from the webhooks and the bank's calls of each version. A mandatory check that fails "
        "fails the run; advice does not. `ONLY=` chooses checks by these ids.",
        bank_checks.render,
    ),
    "card-actions": Page(
        "Card actions",
        "Every action is a `POST` to `/api`, or to `/simulator` for simulator actions; the `action` field names "
        "the action. See [values](card-values.md) for status codes and value lists, and [events](card-events.md) "
        "for notifications to programme managers.",
        cards.render_actions,
    ),
    "card-events": Page(
        "Card events",
        "Events are sent to a programme manager's Events URL: `type`, `timestamp` and `data`, signed per Standard "
        "Webhooks.",
        cards.render_events,
    ),
    "card-values": Page(
        "Card values and codes",
        "Response status codes, the actions allowed in each state of an account, card or payment, and value lists.",
        cards.render_values,
    ),
    "commands": Page(
        "Commands",
        f"`{commands.PROGRAM}` operates on the running local stack, or on the stage set in the environment. With "
        '`--json`, every command prints one JSON document; an error is `{"error": "…"}`. The exit code is 0 if the '
        "command succeeded, 1 if it was refused, and 2 if it was invalid.",
        commands.render,
    ),
    "settings": Page(
        "Settings",
        "Each process reads its environment once. An invalid value stops the process with an error that names the "
        "variable. On AWS, set the variables as `environment_variables` of the stage in `.chalice/config.json`. "
        "Region, credentials and endpoints use boto3's own variables (`AWS_DEFAULT_REGION`, after `AWS_REGION`; "
        "`AWS_PROFILE`, `AWS_ENDPOINT_URL`).",
        settings.render,
    ),
    "retention": Page(
        "Personal data",
        "The kinds of personal data that the service keeps, as `retention show` prints them. [Retention and "
        "erasure](../retention.md) explains the commands that remove them.",
        retention.render,
    ),
    "restore": Page(
        "Checks after a restore",
        "What `doctor` compares after tables were restored, as in [Restore](../operations.md#restore). An order is a "
        "payment that a TPP sent, by its [`X-Request-Id`](../concepts/payments.md#x-request-id). A claim reserves an "
        "[`Idempotency-Key`](../concepts/payments.md#idempotency-key), or the reference of a "
        "[card API request](../concepts/card-requests.md#repeats), for one request. It holds the first response, "
        "which repeats get.",
        restore.render,
    ),
    "statistics": Page(
        "Columns of the statistics",
        "The columns of `statistics export`, and of the downloads of the page "
        "[Performance](../web-interface.md#performance). [Statistics](../statistics.md) defines the figures.",
        statistics_columns.render,
    ),
    **{
        name: Page(layout.title, layout.introduction, partial(sdk.render, name))
        for name, layout in sdk_layout.LAYOUTS.items()
    },
    "sdk-listen": Page(
        "Python: the command",
        "The [Python package](../../sdk/README.md) installs the command `causeway`. Its exit code is 0 if it "
        "succeeded, 1 if it failed, and 2 if the options are wrong. `causeway --version` prints the version. "
        "The README shows [a run, and what happens when something fails](../../sdk/README.md#behind-a-firewall).",
        sdk_listen.render,
    ),
}
