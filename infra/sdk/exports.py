"""The names of ``causeway.tpp``, and the module that each is imported from on first use."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from functools import cache

from infra.openapi.document import ROOT
from infra.sdk import source, tpp

PACKAGE = ROOT / "sdk" / "src"
WRITTEN: Mapping[str, tuple[str, ...]] = {
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
"""Names in modules that are written by hand; of ``causeway.errors`` and the generated modules all are exported."""
HEAD = '''"""The client for third-party providers: ``Tpp`` and, with the same methods awaited, ``AsyncTpp``.

Each name is imported on first use, so that importing the client takes little time.
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


def module() -> str:
    """The source of ``causeway/tpp/__init__.py``."""
    names = exported()
    imports = "\n".join(f"    from {home} import {name} as {name}" for home, of in names.items() for name in of)
    listed = sorted(name for of in names.values() for name in of)
    table = f"__all__ = {listed!r}\n\n_NAMES = {dict(names)!r}"
    head = f"{source.NOTICE}\n\n{HEAD}\nif TYPE_CHECKING:\n{imports}\n\n{table}\n"
    return source.formatted(head + TAIL)


@cache
def exported() -> Mapping[str, tuple[str, ...]]:
    """The names of each module, in the order of the modules."""
    generated = {name: public_names(text) for name, text in tpp.modules().items() if not name.endswith("_calls")}
    errors = public_names((PACKAGE / "causeway" / "errors.py").read_text("utf-8"))
    return dict(sorted({**WRITTEN, **generated, "causeway.errors": errors}.items()))


def public_names(text: str) -> tuple[str, ...]:
    """The classes and type aliases of a module: names that begin with a capital and are no constants."""
    found = []
    for node in ast.parse(text).body:
        if isinstance(node, ast.ClassDef):
            found.append(node.name)
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            found.append(node.targets[0].id)
    return tuple(sorted(name for name in found if not name.isupper() and not name.startswith("_")))
