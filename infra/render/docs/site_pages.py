"""The pages of the documentation at ``/docs``: the menu, and the file of each page."""

from __future__ import annotations

import posixpath
from collections.abc import Iterator, Mapping, Sequence

from infra.repository import ROOT

SOURCE = ROOT / "docs"
MENU: Mapping[str, Sequence[str]] = {
    "Guides": (
        "guides/tpp",
        "guides/tpp-fapi",
        "guides/typescript",
        "guides/tpp-faults",
        "guides/tpp-customers",
        "guides/bank",
        "guides/programme-manager",
        "guides/operator",
        "web-interface",
        "sandbox",
    ),
    "Python package": (
        "sdk",
        "reference/sdk-tpp",
        "reference/sdk-tpp-models",
        "reference/sdk-events",
        "reference/sdk-errors",
        "reference/sdk-keys",
        "reference/sdk-listen",
        "reference/sdk-bank",
        "reference/sdk-bank-models",
        "sdk-changelog",
    ),
    "Concepts": (
        "concepts/versions",
        "concepts/requests",
        "concepts/consents-and-tokens",
        "concepts/client-security",
        "concepts/security-profile",
        "security",
        "concepts/payments",
        "concepts/deferred-calls",
        "concepts/delivery",
        "concepts/bank-integration",
        "concepts/bank-conformance",
        "concepts/card-requests",
        "concepts/card-data",
        "concepts/card-network",
        "concepts/external-payments",
        "concepts/ledger",
        "statistics",
    ),
    "Reference": (
        "reference/tpp-api",
        "reference/bank-api-v1",
        "reference/bank-api-v2",
        "reference/bank-checks",
        "reference/card-actions",
        "reference/card-events",
        "reference/card-values",
        "reference/commands",
        "reference/settings",
        "reference/retention",
        "reference/restore",
        "reference/statistics",
    ),
    "Running it": (
        "deployment",
        "domains",
        "operations",
        "alarms",
        "logs",
        "local-stack",
        "programme-file",
        "data",
        "retention",
        "figures",
        "capacity",
        "architecture",
        "tour",
    ),
}
"""The pages of the menu by section. The home page, ``README.md``, is the first page."""
HOME = "README"
ADDRESS = "/docs/"
"""The start of a page's path, relative to the service's URL."""
GENERATED = "reference/"
"""The start of the names of pages that are generated from the code."""
PACKAGE_PAGES: Mapping[str, str] = {"sdk": "sdk/README.md", "sdk-changelog": "sdk/CHANGELOG.md"}
"""Documentation pages outside the folder ``docs``. The pages belong to a package that is published separately."""
DIVIDED = frozenset(
    {
        "reference/tpp-api",
        "reference/bank-api-v1",
        "reference/bank-api-v2",
        "reference/bank-checks",
        "reference/card-actions",
        "reference/sdk-tpp-models",
        "reference/sdk-bank-models",
    }
)
"""Pages that are too long for a single HTML page; ``site_parts`` divides them."""


def page_names() -> Iterator[str]:
    yield HOME
    for pages in MENU.values():
        yield from pages


def file_of(page: str) -> str:
    """Return the path of a page's file, relative to the repository. For a generated page, the file does not exist."""
    return PACKAGE_PAGES.get(page, f"docs/{page}.md")


def page_of(page: str, target: str) -> str | None:
    """Return the page or other file of ``docs`` to which a link refers. Return ``None`` if the link refers to neither.

    Generated pages exist only at ``/docs``. Documents link to them with addresses such as ``/docs/reference/settings``.
    """
    if target.startswith(ADDRESS):
        name = target.removeprefix(ADDRESS)
        return name if is_generated(name) else None
    file = posixpath.normpath(posixpath.join(posixpath.dirname(file_of(page)), target))
    for name, package_file in PACKAGE_PAGES.items():
        if package_file == file:
            return name
    name = file.removeprefix("docs/").removesuffix(".md")
    exists = (ROOT / file).is_file() or (is_generated(page) and is_generated(name))
    return name if file.startswith("docs/") and exists else None


def is_generated(page: str) -> bool:
    """Return whether a page is generated from the code, and therefore has no file in the repository."""
    return page.startswith(GENERATED) and page in set(page_names())
