"""The two forms of reads: native, in the shape of the bank's version, and unified, in one shape for all versions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

from chalicelib.foundation.fields.field_types import Message
from chalicelib.foundation.http.outbound import Reply
from chalicelib.foundation.lazy_dataclasses import dataclass
from chalicelib.foundation.wiring import Call
from chalicelib.openbanking.bank_client.bank_answers import AnswerReader, read_answer
from chalicelib.openbanking.flows.consent.permissions import require_scope, withhold_unapproved
from chalicelib.openbanking.oauth.tpp_request import TppRequest, read_fields, read_parameters
from chalicelib.openbanking.protocol.version import Version
from chalicelib.openbanking.protocol.webhooks import RelayedCall, Webhook
from chalicelib.openbanking.records.bank_record import Bank
from chalicelib.openbanking.records.consents import Consent
from chalicelib.openbanking.unified.calls import UnifiedCall, unified_scope


class Read(Protocol):
    """A validated read of a TPP."""

    @property
    def webhook(self) -> Webhook:
        """The webhook in the consent's version."""

    @property
    def members(self) -> Mapping[str, Any]:
        """The request to the bank."""

    def request_to(self, bank: Bank, /) -> Mapping[str, Any]:
        """Return the request to this bank, which may support less than its version. Raises: Refusal."""

    def as_members(self) -> Mapping[str, Any]:
        """Return the members that restore the read from the body of its delivery, besides the request."""

    def reader(self, consent: Consent, bank: Bank, /) -> AnswerReader:
        """Return the reader of the bank's response."""


@dataclass(frozen=True, slots=True)
class NativeRead:
    """A read in the form of the bank's version."""

    webhook: Webhook
    members: Mapping[str, Any]

    def request_to(self, _bank: Bank) -> Mapping[str, Any]:
        return self.members

    def as_members(self) -> Mapping[str, Any]:
        return {}

    def reader(self, consent: Consent, _bank: Bank) -> AnswerReader:
        """Return the reader of the bank's response, which removes accounts that the PSU did not approve."""

        def read(version: Version, webhook: Webhook, request: Mapping[str, Any], reply: Reply) -> Mapping[str, Any]:
            return withhold_unapproved(consent, webhook, read_answer(version, webhook, request, reply))

        return read


def native_call(tpp_call: RelayedCall, consent: Consent) -> RelayedCall:
    """Return the native call of a call in the consent's version."""
    if not isinstance(tpp_call, UnifiedCall):
        return tpp_call
    from chalicelib.openbanking.unified.versions import UNIFIED_VERSIONS

    return UNIFIED_VERSIONS[consent.api_version].read(tpp_call).native


def require_read_scope(tpp_call: RelayedCall, native: RelayedCall, consent: Consent) -> Webhook:
    """Return the webhook of a call's ``native`` call, if the consent's scopes allow it. Raises: Refusal."""
    return require_scope(native, consent, unified_scope(tpp_call))


def validate_read(
    tpp_call: RelayedCall, webhook: Webhook, request: TppRequest, *, consent: Consent, call: Call
) -> Read:
    """Validate the members of a request. Raises: Refusal."""
    if isinstance(tpp_call, UnifiedCall):
        from chalicelib.openbanking.flows.reads.unified_reads import validate_unified

        given = request.parameters() if tpp_call.method == "GET" else request.json()
        return call(validate_unified, tpp_call, webhook, given, consent=consent)
    if tpp_call.method == "GET":
        return NativeRead(webhook, _dump(read_parameters(webhook.request, request.parameters())))
    return NativeRead(webhook, _dump(read_fields(webhook.request, request.json())))


def restore_read(
    tpp_call: RelayedCall, webhook: Webhook, members: Mapping[str, Any], *, consent: Consent, call: Call
) -> Read:
    """Restore a read from the body of its delivery. Raises: Refusal."""
    if isinstance(tpp_call, UnifiedCall):
        from chalicelib.openbanking.flows.reads.unified_reads import validate_unified

        return call(validate_unified, tpp_call, webhook, members["unified"], consent=consent)
    return NativeRead(webhook, members["request"])


def _dump(message: Message) -> Mapping[str, Any]:
    return message.model_dump(exclude_none=True)
