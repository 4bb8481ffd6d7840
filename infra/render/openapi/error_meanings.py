"""The meanings of the members of errors."""

from __future__ import annotations

from collections.abc import Mapping

from infra.render.openapi.metadata_meanings import Meaning

ERRORS: Mapping[str, Meaning] = {
    "error_code": ("The error code", 4301),
    "message": (
        "A description of the error for people",
        "Parameter request_url not correct: the request URL is unknown",
    ),
    "own_calls.WebhookErrorV1.status": ("Always `error`", "error"),
    "own_calls.WebhookErrorV1.error_code": ("The bank's own code", 5101),
    "own_calls.WebhookErrorV1.message": ("A description of the error for people", "Insufficient funds in the account"),
    "errors.Error.code": ("The error code", "FORMAT_ERROR"),
    "errors.TokenError.code": ("The error code", "FORMAT_ERROR"),
    "own_calls.WebhookError.code": ("The error code", "FORMAT_ERROR"),
    "errors.AdditionalError.code": ("The error code", "INVALID_MODEL_TYPE"),
    "own_calls.WebhookAdditionalError.code": ("The error code", "INVALID_MODEL_TYPE"),
    "reason_code": (
        (
            "Why a payment failed: `outcome_unknown` (the bank may have it), `not_sent`, `refused_by_bank`, or "
            "`bad_answer` (the bank's response cannot be used, and it may have the payment); absent from other errors"
        ),
        "outcome_unknown",
    ),
    "title": ("A description of the error for people; its wording may change", "currency is required"),
    "details": ("The location of the error, for people; its wording may change", "currency is required"),
    "timestamp": ("When the error occurred", "2026-11-21T09:30:00+00:00"),
    "request_id": ("The request's X-Request-Id, or a generated one", "fdfd4e95-a65f-44f4-8807-2ce2f6b89e89"),
    "additional_errors": ("The individual errors, at most 50", None),
    "error": ("The RFC 6749 error code", "invalid_grant"),
    "error_description": ("A description of the error for people", "the authorization code has expired"),
}
