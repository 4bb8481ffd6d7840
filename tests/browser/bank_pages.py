"""The pages of the demonstration banks, and the way to each."""

from __future__ import annotations

from tests.browser import psu
from tests.browser.visitor import Visitor
from tests.browser.walks import Step, Stops, Walk, follows, goes_back, presses

_NAMES = {1: "one", 2: "two"}
_WRONG = {"username": "nobody", "password": "wrong"}


def walks() -> tuple[Walk, ...]:
    """Every page of both banks, and those of the fault banks that differ."""
    return _walks_of_banks() + tuple(Walk(f"faults-{name}", _faults(version)) for version, name in _NAMES.items())


def _walks_of_banks() -> tuple[Walk, ...]:
    return tuple(
        Walk(f"bank-{name}-{subject}", stops)
        for version, name in _NAMES.items()
        for subject, stops in {
            "front": _front(version),
            "authorization": _authorization(version),
            "refusal": _refusal(version),
            "payment": _payment(version),
            "bulk-payment": _bulk_payment(version),
            "customer": _customer(version),
        }.items()
    )


def _front(version: int) -> Stops:
    return (
        ("welcome", _opens(version, "")),
        ("not-found", _opens(version, "/nowhere")),
        ("nothing-to-authorize", _opens(version, "/authorize")),
        ("session-over", _opens(version, "/confirm?journey=unknown")),
        ("unknown-payment", _opens(version, "/payment/unknown")),
    )


def _authorization(version: int) -> Stops:
    return (
        ("sign-in", lambda visitor: visitor.open(psu.authorization(visitor, version))),
        ("wrong-password", presses("Sign in", **_WRONG)),
        ("accounts", _takes_place(version)),
        ("no-account", presses("Continue")),
        ("confirm", _chooses_accounts),
        ("wrong-key-code", presses("Approve", key_code="000000")),
        ("callback", _gives_key_code("Approve")),
        ("finished", goes_back),
    )


def _refusal(version: int) -> Stops:
    return (
        ("callback", lambda visitor: psu.refuse(visitor, psu.authorization(visitor, version))),
        ("finished", goes_back),
        ("payment-callback", lambda visitor: psu.refuse(visitor, psu.direct_payment(visitor, version))),
        ("payment-finished", goes_back),
    )


def _payment(version: int) -> Stops:
    return (
        ("sign-in", lambda visitor: visitor.open(psu.direct_payment(visitor, version))),
        ("wrong-password", presses("Sign in", **_WRONG)),
        ("account", _takes_place(version)),
        ("confirm", presses("Continue")),
        ("wrong-key-code", presses("Confirm", key_code="000000")),
        ("callback", _gives_key_code("Confirm")),
        ("outcome", goes_back),
    )


def _bulk_payment(version: int) -> Stops:
    return (
        ("sign-in", lambda visitor: visitor.open(psu.bulk_payment(visitor, version))),
        ("confirm", _takes_place(version)),
        ("all-payments", lambda visitor: visitor.page.locator("summary").click()),
    )


def _customer(version: int) -> Stops:
    return (
        ("sign-in", _opens(version, "/my-accounts")),
        ("wrong-password", presses("Sign in", **_WRONG)),
        ("accounts", _takes_place(version)),
        ("account", lambda visitor: visitor.follow(visitor.page.locator("li.account a").first.inner_text())),
        ("earlier", follows("Earlier")),
        ("consents", _opens(version, "/consents")),
        ("revoke-asked", psu.ask_to_revoke),
        ("revoked", presses("Revoke the consent")),
        ("consents-sign-in", presses("Sign out")),
        ("no-consents", presses(f"Sign in as {psu.OTHER_PERSON[version]}")),
    )


def _faults(version: int) -> Stops:
    return (
        ("welcome", lambda visitor: visitor.open(visitor.bank(version, faults=True)["domain"])),
        ("sign-in", lambda visitor: visitor.open(psu.authorization(visitor, version, faults=True))),
        ("wrong-password", presses("Sign in", **_WRONG)),
        ("many-accounts", presses("Sign in as Many")),
        ("confirm", presses("Continue")),
        ("area-sign-in", lambda visitor: visitor.open(f"{visitor.bank(version, faults=True)['domain']}/consents")),
        ("area", presses("Sign in as No accounts")),
        ("accounts", lambda visitor: visitor.open(f"{visitor.bank(version, faults=True)['domain']}/my-accounts")),
        ("payment-sign-in", lambda visitor: visitor.open(psu.direct_payment(visitor, version, faults=True))),
        ("payment-of-many", presses("Sign in as Many")),
    )


def _opens(version: int, place: str) -> Step:
    return lambda visitor: visitor.open(f"{visitor.bank(version)['domain']}{place}")


def _takes_place(version: int) -> Step:
    return lambda visitor: psu.take_place(visitor, version)


def _gives_key_code(button: str) -> Step:
    return lambda visitor: psu.give_key_code(visitor, button)


def _chooses_accounts(visitor: Visitor) -> None:
    psu.tick_accounts(visitor)
    visitor.press("Continue")
