"""The layout of the SDK's reference: the modules on each page in order, and the page that describes each name."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache

import griffe

from infra.render.docs import sdk_source
from infra.render.docs.apis import anchor
from infra.render.docs.sdk_notation import Notation
from infra.render.docs.sdk_source import Definition
from infra.render.sdk import tpp
from infra.render.sdk_package import SOURCE, load


@dataclass(frozen=True)
class Group:
    """A section of a page: the names that the package exports from ``modules``. The names in ``first`` are listed
    first. If ``unified`` is not ``None``, the section has only the models of unified calls, or only all others.
    """

    title: str
    modules: tuple[str, ...]
    introduction: str = ""
    first: tuple[str, ...] = ()
    unified: bool | None = None

    def has(self, name: str) -> bool:
        """Return whether a name of the modules belongs to the section."""
        return self.unified is None or (name in unified_models()) == self.unified


@dataclass(frozen=True)
class Layout:
    """The layout of a reference page about one package."""

    title: str
    package: str
    introduction: str
    groups: Sequence[Group]


@dataclass(frozen=True)
class Entry:
    """A name that users import, with its module and definition."""

    name: str
    module: str
    node: Definition


RECORDS = (
    "Messages are frozen dataclasses; all members are keyword arguments. Amounts are `Decimal`, times `datetime`. "
    "`to_json()` gives the JSON object, `from_json(data)` reads one: it keeps unknown members in `.extra`, and raises "
    "`ValueError` if a mandatory member is missing or has the wrong type."
)
LAYOUTS: Mapping[str, Layout] = {
    "sdk-tpp": Layout(
        "Python: TPP calls",
        "tpp",
        "The calls of a third-party provider: `from causeway.tpp import …`. Start with [the package's "
        "README](../../sdk/README.md). Answers are [models](sdk-tpp-models.md), and failures are "
        "[errors](sdk-errors.md). [Client keys](sdk-keys.md) and [events](sdk-events.md) have their own pages. "
        "[TPP calls and events](tpp-api.md) describes the HTTP calls themselves.",
        (
            Group("Client", ("causeway.tpp._generated.sync.client",)),
            Group("Consent", ("causeway.tpp._generated.sync.consent",)),
            Group("Native calls", ("causeway.tpp._generated.sync.native",)),
            Group(
                "Asynchronous programs",
                ("causeway.tpp._async.client", "causeway.tpp._async.consent", "causeway.tpp._async.native"),
                "The asynchronous classes have the same methods, parameters and answers: `await` them, and go through "
                "lists with `async for`. `close` is `aclose`, `with` is `async with`.",
            ),
            Group("Stored tokens", ("causeway.tpp.tokens",)),
            Group(
                "Helpers",
                (
                    "causeway.tpp._generated.psu",
                    "causeway.tpp.pkce",
                    "causeway.tpp._statuses",
                    "causeway.tpp._generated.calls",
                ),
            ),
        ),
    ),
    "sdk-tpp-models": Layout(
        "Python: TPP models",
        "tpp",
        f"What [calls](sdk-tpp.md) take and answer. {RECORDS} Classes that end in `V1` or `V2` belong to native calls "
        "at banks of that protocol version.",
        (
            Group("Of unified calls", ("causeway.tpp._generated.models",), unified=True),
            Group("At banks of version 1", ("causeway.tpp._generated.models_v1",)),
            Group("At banks of version 2", ("causeway.tpp._generated.models_v2",)),
            Group("At the hub", ("causeway.tpp._generated.models",), unified=False),
            Group("Values", ("causeway.tpp._generated.literals",)),
        ),
    ),
    "sdk-events": Layout(
        "Python: events",
        "tpp",
        "Events that the hub sends to a TPP, verified and read: `from causeway.tpp import EventVerifier`. "
        "[Delivery](../concepts/delivery.md) tells when they come and how they are signed; "
        "[`causeway listen`](sdk-listen.md) brings them to a program behind a firewall.",
        (
            Group("Receiving", ("causeway.tpp.events",), first=("EventVerifier", "ReceivedEvent", "parse_event")),
            Group("Events and their data", ("causeway.tpp._generated.event_models",), RECORDS),
        ),
    ),
    "sdk-errors": Layout(
        "Python: errors and repeats",
        "tpp",
        "All errors are `CausewayError`, and `error.advice` says in one sentence what to do. Import them from "
        "`causeway.tpp`, `causeway.bank` or `causeway.errors`. "
        "[The README](../../sdk/README.md#errors) has a table of what is repeated after which failure.",
        (Group("Errors", ("causeway.errors",)), Group("Repeats", ("causeway._retries",))),
    ),
    "sdk-keys": Layout(
        "Python: client keys",
        "tpp",
        "Signed client assertions and DPoP proofs, with the extra `causeway[crypto]`. "
        "[Client security](../concepts/client-security.md) tells what the hub demands.",
        (
            Group("Keys in files", ("causeway.tpp.crypto",)),
            Group(
                "Keys elsewhere",
                ("causeway.tpp._credentials",),
                "`Tpp` takes any object with these methods, such as one that signs in an HSM.",
            ),
        ),
    ),
    "sdk-bank": Layout(
        "Python: banks",
        "bank",
        "The bank's side, with the extra `causeway[bank]`: `from causeway.bank import …`. "
        "[The README](../../sdk/README.md#a-bank) has a whole bank, and [Connect a bank](../guides/bank.md) builds one "
        "step by step. [Models](sdk-bank-models.md) and [errors](sdk-errors.md#huberror) have their own pages.",
        (
            Group("Application", ("causeway.bank.app",)),
            Group("Calls to the hub", ("causeway.bank.hub",)),
            Group(
                "What functions get",
                ("causeway.bank.calls", "causeway.bank.accounts", "causeway.bank.pages"),
                "The application passes these to the functions that a bank fills in.",
                first=("Call",),
            ),
            Group(
                "Refusals",
                ("causeway.bank.refusals",),
                "Functions raise these; the application answers in the form of the bank's version.",
            ),
            Group("Stored consents and payments", ("causeway.bank.storage",)),
            Group("Signatures", ("causeway.bank.signatures",)),
        ),
    ),
    "sdk-bank-models": Layout(
        "Python: bank models",
        "bank",
        f"The messages between the hub and a bank, from the bank's side. {RECORDS} The [reference of version "
        "1](bank-api-v1.md) and [of version 2](bank-api-v2.md) describe the HTTP messages.",
        (
            Group("Version 1", ("causeway.bank._generated.models_v1",)),
            Group("Version 2", ("causeway.bank._generated.models_v2",)),
            Group("Values", ("causeway.bank._generated.literals",)),
        ),
    ),
}
"""The layouts of the pages, by file name."""
HANDLES: Mapping[str, str] = {
    "Tpp": "tpp",
    "causeway.tpp._generated.sync.consent": "consent",
    "NativeTpp": "tpp.native",
    "NativeConsent": "consent.native",
    "Bank": "bank",
    "HubClient": "hub",
}
"""The variable names that the README uses for objects, by class or module. The methods of all other classes are
prefixed with the class name.
"""
_SHARED = "causeway.errors", "causeway._retries"
"""Modules that a single page describes for the packages ``tpp`` and ``bank``."""


def handle_of(entry: Entry) -> str | None:
    """Return the variable name that the page uses for objects of a class. Return ``None`` if the methods of the class
    have no sections.
    """
    return HANDLES.get(entry.module) or HANDLES.get(entry.name)


def entries(package: str, group: Group) -> list[Entry]:
    """Return the names of a group in the order of the page."""
    found = [each for module in group.modules for each in module_entries(package, module) if group.has(each.name)]
    return sorted(found, key=lambda each: each.name not in group.first)


@cache
def unified_models() -> frozenset[str]:
    """Return the names of the models that only unified calls use."""
    unified, others = (
        tpp.with_references(tpp.references([each for path, _, each in tpp.operations() if has(path)]), tpp.schemas())
        for has in (_is_unified, lambda path: not _is_unified(path))
    )
    return frozenset(unified - others)


def _is_unified(path: str) -> bool:
    return path.startswith("/tpp/unified/")


def module_entries(package: str, module: str) -> list[Entry]:
    names = {name for each in packages(package, module) for name in names_by_module(each).get(module, ())}
    return [Entry(name, module, node) for name, node in sdk_source.definitions(module).items() if name in names]


def packages(package: str, module: str) -> Sequence[str]:
    """Return the packages from which users import the public names of ``module``. A page of ``package`` describes the
    names.
    """
    return ("tpp", "bank") if module in _SHARED else (package,)


@cache
def names_by_module(package: str) -> Mapping[str, tuple[str, ...]]:
    """Return the names that a package exports, grouped by module."""
    found: Mapping[str, tuple[str, ...]] = load(f"{package}._generated.names").NAMES
    return found


@cache
def notation(package: str) -> Notation:
    """Return the notation of a package's types and signatures, in which each documented name has a link."""
    return Notation(dict(_links(package)), dict(_aliases(package)))


def _links(package: str) -> Iterator[tuple[str, str]]:
    for page, layout in LAYOUTS.items():
        for group in layout.groups:
            for each in entries(layout.package, group):
                if package in packages(layout.package, each.module):
                    yield each.name, f"{page}.md#{anchor(each.name)}"
                handle = handle_of(each)
                if handle is not None and isinstance(each.node, griffe.Class):
                    calls = [f"{handle}.{method.name}" for method in sdk_source.methods(each.node)]
                    yield from ((call, f"{page}.md#{anchor(call)}") for call in calls)


def _aliases(package: str) -> Iterator[tuple[str, str]]:
    folder = SOURCE / "causeway" / package
    for file in sorted(folder.rglob("*.py")):
        module = ".".join(file.relative_to(SOURCE).with_suffix("").parts).removesuffix(".__init__")
        for name, node in sdk_source.definitions(module).items():
            if not isinstance(node, griffe.Attribute) or node.annotation is not None or name.isupper():
                continue
            if isinstance(node.value, griffe.ExprBinOp | griffe.ExprSubscript):
                yield name, str(node.value)
