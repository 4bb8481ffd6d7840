"""The exported names of ``causeway.tpp`` and ``causeway.bank``. Each name is imported from its module on first use."""

from __future__ import annotations

import ast
import textwrap
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cache

from infra.render.sdk import bank, source, tpp
from infra.render.sdk_package import SOURCE


@dataclass(frozen=True, eq=False)
class Package:
    """A package whose names are imported on first use.

    Attributes:
        generated: maps the names of the package's generated modules to their sources. The package exports all names in
        these modules.
        written: the exported names of the package's manually written modules.
        foreign_errors: the errors that the package never raises.
    """

    name: str
    generated: Callable[[], Mapping[str, str]]
    written: Mapping[str, tuple[str, ...]]
    foreign_errors: frozenset[str]


TPP_NAMES: Mapping[str, tuple[str, ...]] = {
    "causeway._retries": ("Retries",),
    "causeway.tpp._async.client": ("AsyncTpp",),
    "causeway.tpp._async.consent": ("AsyncConsent",),
    "causeway.tpp._async.native": ("AsyncNativeConsent", "AsyncNativeTpp"),
    "causeway.tpp._credentials": ("ClientAssertion", "ProofKey"),
    "causeway.tpp._statuses": ("is_final", "is_paid"),
    "causeway.tpp._generated.sync.client": ("Tpp",),
    "causeway.tpp._generated.sync.consent": ("Consent",),
    "causeway.tpp._generated.sync.native": ("NativeConsent", "NativeTpp"),
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
    Package("tpp", tpp.modules, TPP_NAMES, frozenset({"HubError"})),
    Package(
        "bank",
        bank.modules,
        BANK_NAMES,
        frozenset({"ApiError", "AuthorizationEnded", "BankUnavailable", "ConsentRefused", "ForgedCallback"})
        | {"InvalidEvent", "OutcomeUnknown", "RateLimited", "UnusablePages", "WaitTimeout"},
    ),
)


def module(package: Package) -> str:
    """Return the source of the module that lists a package's names for lazy imports and for type checkers."""
    names = names_by_module(package)
    imports = "\n".join(f"    from {home} import {_fill(of, 8)}" for home, of in names.items()).replace(",)", ")")
    listed = sorted(name for of in names.values() for name in of)
    modules = "\n".join(f'    "{home}": {_fill(map(_quote, of), 8)},' for home, of in names.items())
    about = f"The names of ``causeway.{package.name}``, and the module that each is imported from on first use."
    head = f'{source.NOTICE}\n# fmt: off\n# isort: skip_file\n\n"""{about}"""\n\nfrom __future__ import annotations\n'
    tables = f"__all__ = {_fill(map(_quote, listed), 4)}\n\nNAMES = {{\n{modules}\n}}\n"
    return f"{head}\nfrom typing import TYPE_CHECKING\n\nif TYPE_CHECKING:\n{imports}\n\n{tables}"


def _fill(names: Iterable[str], indent: int) -> str:
    listed = ", ".join(names) + ","
    if len(listed) < source.WIDTH // 2:
        return f"({listed})"
    lines = textwrap.wrap(listed, source.WIDTH - indent)
    return "(\n" + textwrap.indent("\n".join(lines), " " * indent) + "\n" + " " * (indent - 4) + ")"


def _quote(name: str) -> str:
    return f'"{name}"'


@cache
def names_by_module(package: Package) -> Mapping[str, tuple[str, ...]]:
    """Map each module to its names, in the order of the modules."""
    generated = {name: public_names(text) for name, text in package.generated().items() if not name.endswith(".calls")}
    errors = public_names((SOURCE / "causeway" / "errors.py").read_text("utf-8"))
    raised = tuple(name for name in errors if name not in package.foreign_errors)
    return dict(sorted({**package.written, **generated, "causeway.errors": raised}.items()))


def public_names(text: str) -> tuple[str, ...]:
    """Return the public classes and type aliases of a module, without constants. Names that exist only for type
    checkers are included.
    """
    blocks = [node.body if isinstance(node, ast.If) else [node] for node in ast.parse(text).body]
    found = [
        each.name if isinstance(each, ast.ClassDef) else ast.unparse(each.targets[0])
        for block in blocks
        for each in block
        if isinstance(each, ast.ClassDef | ast.Assign)
    ]
    return tuple(sorted(name for name in found if name[0].isupper() and not name.isupper()))
