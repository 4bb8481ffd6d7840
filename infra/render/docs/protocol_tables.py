"""Tables of the bank protocol: the webhook of each TPP's call, and the error codes of both versions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from chalicelib.openbanking.protocol import errors
from chalicelib.openbanking.protocol.errors import VERSION_1, VERSION_2, Fault
from chalicelib.openbanking.protocol.versions import VERSIONS
from chalicelib.openbanking.protocol.webhooks import STATUS_PATH, Webhook
from chalicelib.openbanking.unified.calls import INITIATIONS, READS, UNIFIED_STATUS_PATH
from infra.render.docs.mapping import NONE
from infra.render.openapi import row_docs
from infra.render.openapi.introduction import table
from infra.render.openapi.own_calls import webhooks_of


def webhooks() -> str:
    """Return the webhooks of both versions with the calls that trigger them, and the scopes."""
    calls = [(f"`{call.method} {call.path}`", webhooks_of(call)) for call in READS]
    calls += [(f"`POST {call.path}`", webhooks_of(call)) for call in INITIATIONS.values()]
    triggers: dict[tuple[str, ...], list[str]] = {}
    for call, found in calls:
        triggers.setdefault(tuple(_webhook_cells(found)), []).append(call)
    rows = [(", ".join(names), *cells) for cells, names in triggers.items()]
    revoked = {number: version.revoke_token for number, version in VERSIONS.items()}
    rows += [*_status_rows(), ("A consent ends (unless the bank ended it)", *_webhook_cells(revoked))]
    return table(("Trigger", "Version 1", "Version 2", "Scope, version 1", "Scope, version 2"), rows)


def _status_rows() -> Iterator[tuple[str, ...]]:
    kinds: dict[str, list[str]] = {}
    for version in VERSIONS.values():
        for kind, webhook in version.payment_status.items():
            kinds.setdefault(webhook.path, []).append(kind)
    for path, names in kinds.items():
        found = {
            number: webhook
            for number, version in VERSIONS.items()
            for webhook in version.payment_status.values()
            if webhook.path == path
        }
        calls = ", ".join(f"`GET {each}`" for each in (STATUS_PATH, UNIFIED_STATUS_PATH))
        yield f"{calls}, {' or '.join(names)} payment", *_webhook_cells(found)


def _webhook_cells(found: Mapping[int, Webhook]) -> Iterator[str]:
    webhooks = [found.get(number) for number in VERSIONS]
    yield from (f"`{each.path}`" if each else NONE for each in webhooks)
    yield from (f"`{each.scope}`" if each and each.scope else NONE for each in webhooks)


def error_codes() -> str:
    """Return the codes of both versions for each fault in a bank's call."""
    described = row_docs.row_docs(errors.__name__)
    rows = [_fault_row(fault, described[fault.name]) for fault in Fault if fault.name in described]
    return table(("Cause", "Status", "Version 1", "Version 2", "Additional"), rows)


def _fault_row(fault: Fault, cause: str) -> tuple[str, ...]:
    first, second = VERSION_1[fault.v1].status, VERSION_2[fault.v2].status
    status = str(first) if first == second else f"{first} / {second}"
    additional = f"`{fault.additional}`" if fault.additional else ""
    return cause.removesuffix("."), status, str(fault.v1), f"`{fault.v2}`", additional
