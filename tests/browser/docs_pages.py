"""The documentation: its overview, a guide, a reference, and what a search finds."""

from __future__ import annotations

from tests.browser.walks import Walk, opens


def walks() -> tuple[Walk, ...]:
    return (
        Walk(
            "docs",
            (
                ("overview", opens("/docs")),
                ("guide", opens("/docs/guides/tpp")),
                ("faults", opens("/docs/guides/tpp-faults")),
                ("reference", opens("/docs/reference/tpp-api")),
                ("reference-part", opens("/docs/reference/card-actions/fees")),
                ("package", opens("/docs/sdk")),
                ("package-reference", opens("/docs/reference/sdk-tpp")),
                ("page", opens("/docs/operations")),
                ("search", opens("/docs?q=payment")),
                ("nothing-found", opens("/docs?q=zebra")),
                ("no-such-page", opens("/docs/nowhere")),
            ),
            ("/docs", "/docs/{page}", "/docs/{page}/{subpage}", "/docs/{page}/{subpage}/{part}"),
        ),
    )
