"""The names of ``causeway.tpp`` and ``causeway.bank``, and the module that each is imported from on first use."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache

from infra.render.sdk import bank, source, tpp
from infra.render.sdk.definitions import find_definitions
from infra.render.sdk.source import SOURCE


@dataclass(frozen=True, eq=False)
class Package:
    """A package with lazy names.

    Attributes:
        generated: names and sources of its generated modules, all of whose names it exports.
        written: its names in modules that are written by hand.
        foreign_errors: the errors that it never raises.
    """

    name: str
    docstring: str
    generated: Callable[[], Mapping[str, str]]
    written: Mapping[str, tuple[str, ...]]
    foreign_errors: frozenset[str]


TPP_NAMES: Mapping[str, tuple[str, ...]] = {
    "causeway._retries": ("Retries",),
    "causeway.tpp._async.client": ("AsyncTpp",),
    "causeway.tpp._async.consent": ("AsyncConsent",),
    "causeway.tpp._credentials": ("ClientAssertion", "ProofKey"),
    "causeway.tpp._statuses": ("is_final", "is_paid"),
    "causeway.tpp._sync.client": ("Tpp",),
    "causeway.tpp._sync.consent": ("Consent",),
    "causeway.tpp.crypto": ("DpopKey", "PrivateKeyJwt"),
    "causeway.tpp.events": ("Event", "EventVerifier", "ReceivedEvent", "UnknownEvent", "parse_event"),
    "causeway.tpp.pkce": ("new_code_verifier",),
    "causeway.tpp.tokens": ("OnRefresh", "Reload", "Tokens"),
}
BANK_NAMES: Mapping[str, tuple[str, ...]] = {
    "causeway._retries": ("Retries",),
    "causeway.bank.accounts": ("Account",),
    "causeway.bank.app": ("Bank",),
    "causeway.bank.calls": ("Call", "Consent", "Order", "Payment"),
    "causeway.bank.hub": ("HubClient",),
    "causeway.bank.pages": ("Choice", "Page"),
    "causeway.bank.refusals": (
        *("AccountUnknown", "BadRequest", "ConsentNotInForce", "InsufficientFunds", "OutOfService", "PaymentDeclined"),
        *("Refused", "RequestIdInvalid", "RequestIdUsed", "ResourceUnknown", "ScopeMissing", "StillRunning"),
        *("TooManyRequests", "WrongCredentials", "WrongSignature"),
    ),
    "causeway.bank.signatures": ("HubKeys", "Signer", "key_id", "verify"),
    "causeway.bank.storage": ("MemoryStorage", "Storage"),
}
PACKAGES = (
    Package(
        "tpp",
        "The client for third-party providers: ``Tpp`` and, with the same methods awaited, ``AsyncTpp``.",
        tpp.modules,
        TPP_NAMES,
        frozenset({"HubError"}),
    ),
    Package(
        "bank",
        "The bank's side: ``Bank``, an ASGI application to fill in, and ``HubClient``, signed calls to the hub.",
        bank.modules,
        BANK_NAMES,
        frozenset({"ApiError", "AuthorizationEnded", "BankUnavailable", "ConsentRefused", "ForgedCallback"})
        | {"InvalidEvent", "OutcomeUnknown", "RateLimited", "WaitTimeout"},
    ),
)
HEAD = '''"""{docstring}

Each name is imported on first use, so that importing the package takes little time.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any
'''
TAIL = """

_HOMES = {name: module for module, names in _NAMES.items() for name in names}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(importlib.import_module(_HOMES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOMES})
"""


def module(package: Package) -> str:
    """The source of a package's ``__init__.py``."""
    names = names_by_module(package)
    imports = "\n".join(f"    from {home} import {name} as {name}" for home, of in names.items() for name in of)
    listed = sorted(name for of in names.values() for name in of)
    table = f"__all__ = {listed!r}\n\n_NAMES = {dict(names)!r}"
    opening = HEAD.format(docstring=package.docstring)
    head = f"{source.NOTICE}\n\n{opening}\nif TYPE_CHECKING:\n{imports}\n\n{table}\n"
    return source.format_source(head + TAIL)


@cache
def names_by_module(package: Package) -> Mapping[str, tuple[str, ...]]:
    """The names of each module, in the order of the modules."""
    generated = {name: public_names(text) for name, text in package.generated().items() if not name.endswith("_calls")}
    errors = public_names((SOURCE / "causeway" / "errors.py").read_text("utf-8"))
    raised = tuple(name for name in errors if name not in package.foreign_errors)
    return dict(sorted({**package.written, **generated, "causeway.errors": raised}.items()))


def public_names(text: str) -> tuple[str, ...]:
    """The classes and type aliases of a module: names that begin with a capital and are no constants."""
    return tuple(sorted(name for name in find_definitions(text) if name[0].isupper() and not name.isupper()))
