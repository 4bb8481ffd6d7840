"""The pages of the web interface, and the way to each."""

from __future__ import annotations

from urllib.parse import urlencode

from tests.browser.walks import Walk, opens

_REFUSED = {"error": "access_denied", "error_description": "The customer refused", "state": "a-state"}
_FORGED = {"payment_id": "5f6c1f0e", "status": "4", "message": "Paid", "bic": "DEMOGB21"}


def walks() -> tuple[Walk, ...]:
    """Every page that needs no bank; those that a PSU comes back to are met again on the way through a bank."""
    return (
        Walk(
            "website",
            (
                ("home", opens("/")),
                ("callback-empty", opens("/authorize/callback")),
                ("callback-refused", opens(f"/authorize/callback?{urlencode(_REFUSED)}")),
                ("payment-empty", opens("/payments/callback")),
                ("payment-forged", opens(f"/payments/callback?{urlencode(_FORGED)}")),
            ),
        ),
    )
