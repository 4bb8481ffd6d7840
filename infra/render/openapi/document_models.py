"""Models of requests and responses that are used only in the documents, because the service processes or relays these
messages without models.
"""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from pydantic import ConfigDict, Field
from pydantic.alias_generators import to_camel

from chalicelib.foundation.fields.field_types import Message, OpenMessage
from chalicelib.openbanking.protocol.bank_identifiers import LONGEST_PAYMENT_ID
from chalicelib.openbanking.protocol.fields import AN, Bic
from chalicelib.openbanking.protocol.payment_enumerations import PaymentOutcome
from chalicelib.openbanking.protocol.tpp_calls import (
    REQUEST_ID,
    AuthorizationParameters,
    ChosenBank,
    ClientMembers,
    ConsentType,
)


class RequestPlace(Message):
    """The path of ``GET /tpp/requests/{request_id}``."""

    request_id: AN[REQUEST_ID]
    """The ``request_id`` from the response with status 202. Example: ``"b81f6e03d29c4a57e6f1d8"``."""


class FrontDoorQuery(Message):
    """The query of ``GET /oauth/authorize``: the RFC 6749 parameters, or the `request_uri` of a pushed request (RFC
    9126).
    """

    described_in: ClassVar = (AuthorizationParameters, ChosenBank)

    client_id: AN[64]
    """The Client ID. Example: ``"4f1c2b7a9d8e6f503a1b2c"``."""
    request_uri: AN[512] | None = None
    """The ``request_uri`` of a pushed request; valid for 60 seconds. Example if sent: ``PUSHED_REQUEST``."""
    response_type: Literal["code"] | None = None
    """Always ``code``; mandatory without ``request_uri``."""
    bic: Bic | None = None
    chosen_bic: Bic | None = None
    scope: AN[4096] | None = None
    """The scopes, separated by spaces; mandatory without ``request_uri``. Example: ``"accounts"``."""
    redirect_uri: AN[2048] | None = None
    state: AN[512] | None = None
    """Example: ``"lVZ1uF2wC8mJr0d6oKxq3A"``."""
    code_challenge: AN[128] | None = None
    code_challenge_method: Literal["S256"] | None = None
    consent_type: ConsentType = "reusable"
    dpop_jkt: AN[43] | None = None


class PushedMembers(ClientMembers):
    """The body of ``POST /oauth/par``: the parameters of an authorization request, and the client's credentials."""

    described_in: ClassVar = (AuthorizationParameters,)

    client_id: AN[64] | None = None
    """Example: ``"4f1c2b7a9d8e6f503a1b2c"``."""
    response_type: Literal["code"]
    """Always ``code``."""
    bic: Bic | None = None
    scope: AN[4096]
    """The scopes, separated by spaces. Example: ``"accounts"``."""
    redirect_uri: AN[2048] | None = None
    state: AN[512] | None = None
    code_challenge: AN[128] | None = None
    code_challenge_method: Literal["S256"] | None = None
    consent_type: ConsentType = "reusable"
    dpop_jkt: AN[43] | None = None


class CancelQuery(Message):
    """The query of ``GET /bank/cancel/{secret}``: the reason why no consent was given (RFC 6749 §4.1.2.1).

    Characters that the RFC forbids are removed, and long values are truncated.
    """

    error: str | None = None
    """The reason why no consent was given. The default is access_denied. Example: ``"access_denied"``."""
    error_description: str | None = None
    """A description, for people, of the reason why no consent was given. Example: ``"The customer declined"``."""


class AskedStatus(OpenMessage):
    """A payment's status as returned by a version 2 bank."""

    payment_id: AN[LONGEST_PAYMENT_ID]
    """The payment's identifier at the bank. Example: ``"P2026112100017"``."""
    transaction_status: AN[255]
    """The payment's status. Example: ``"ACSC"``."""
    outcome: PaymentOutcome | None = None
    """Present while it is unknown whether the bank has the payment, and after the bank has stated that the payment does
    not exist. Example if sent: ``"unknown"``.
    """


class WebhookErrorV1(OpenMessage):
    """An error from a bank. The service relays the code and the message to the TPP."""

    status: Literal["error"]
    """Always ``error``."""
    error_code: Annotated[int | str, Field(description="The bank's own code, or one of this protocol's")] | None = None
    """The bank's error code. Example: ``5101``."""
    message: AN[1024] | None = None
    """A description of the error for people. Example: ``"Insufficient funds in the account"``."""


class WebhookAdditionalError(OpenMessage):
    """A single problem found by the bank."""

    code: AN[255]
    """The error code. Example: ``"INVALID_MODEL_TYPE"``."""
    title: str | None = None
    """A description of the error for people; its wording may change. Example: ``"currency is required"``."""
    details: str | None = None
    """A description, for people, of the error's location; its wording may change. Example: ``"currency is required"``.
    """


class WebhookError(OpenMessage):
    """An error from a bank. The service relays the code and the title to the TPP."""

    model_config = ConfigDict(alias_generator=to_camel)

    code: AN[255]
    """The error code. Example: ``"FORMAT_ERROR"``."""
    title: str | None = None
    """A description of the error for people; its wording may change."""
    timestamp: AN[25]
    """The time of the error. Example: ``"2026-11-21T09:30:00+00:00"``."""
    request_id: str | None = None
    """The X-Request-Id of the request, or a generated id. Example: ``"fdfd4e95-a65f-44f4-8807-2ce2f6b89e89"``."""
    additional_errors: list[WebhookAdditionalError] | None = None
    """The individual errors, at most 50."""
