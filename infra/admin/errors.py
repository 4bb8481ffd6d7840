"""Expected errors of commands, and their messages for the operator."""

from __future__ import annotations

from botocore.exceptions import BotoCoreError, ClientError

from chalicelib.cards.events.event_secrets import NoEventSecret
from chalicelib.cards.programs.credentials import CredentialChanged, NoOldKey, UnknownCredential
from chalicelib.delivery.journal import NotResendable, SearchTooWide, UnknownDelivery
from chalicelib.foundation.aws.errors import AwsError, ErrorResponse, SecretChanged
from chalicelib.foundation.crypto.certificates import InvalidCertificate
from chalicelib.foundation.crypto.distinguished_names import InvalidName
from chalicelib.foundation.crypto.keyring import NoKeys, Unsealable
from chalicelib.foundation.crypto.resealing import DataKeyNeeded
from chalicelib.foundation.crypto.signatures import InvalidKey
from chalicelib.foundation.dynamodb.store import Busy, StoreError, Throttled
from chalicelib.foundation.settings import InvalidSetting
from chalicelib.openbanking.flows.payments.outcomes import NotResolved
from chalicelib.openbanking.records.bank_record import InvalidBank
from chalicelib.openbanking.records.banks import BankExists, UnknownBank
from chalicelib.openbanking.records.certificate_blocklist import InvalidSerialNumber
from chalicelib.openbanking.records.client_validation import InvalidClient
from chalicelib.openbanking.records.clients import UnknownClient
from chalicelib.statistics.ingest import DayRefused
from chalicelib.website.accounts.account_flow import SecretNotValid
from chalicelib.website.records.users import InvalidUser, NotIdentified, UnknownUser, UserExists
from infra.admin.connection import StageUnknown
from infra.customers.loading import CustomersChanged, InvalidCustomers, TooManyCustomers, UnknownCustomers
from infra.programme.file import InvalidProgramme
from infra.programme.loading import EntryInUse, LoadConflict, LoadTooLarge
from infra.retention.errors import NotErasable

_SPOKEN = (
    *(StageUnknown, InvalidSetting, InvalidKey, NoKeys, SecretChanged, Unsealable, DataKeyNeeded),
    *(InvalidBank, BankExists, UnknownBank, InvalidClient, UnknownClient, DayRefused),
    *(InvalidUser, UserExists, UnknownUser, NotIdentified, SecretNotValid),
    *(UnknownDelivery, NotResendable, SearchTooWide, NotResolved),
    *(UnknownCredential, CredentialChanged, NoOldKey, NoEventSecret),
    *(InvalidCertificate, InvalidName, InvalidSerialNumber),
    *(NotErasable,),
    *(InvalidProgramme, EntryInUse, LoadTooLarge, LoadConflict),
    *(InvalidCustomers, TooManyCustomers, CustomersChanged, UnknownCustomers),
)
"""Errors whose message is shown to the operator."""

_NO_CREDENTIALS = {
    *("AccessDenied", "AccessDeniedException", "ExpiredToken", "ExpiredTokenException", "InvalidClientTokenId"),
    *("InvalidSignatureException", "SignatureDoesNotMatch", "UnrecognizedClientException"),
}
_NOT_FOUND = {"NotFoundException", "ResourceNotFoundException"}


def explain_error(error: Exception, *spoken: type[Exception]) -> str | None:
    """Return the error message for the operator, or ``None`` for an unexpected error.

    ``spoken`` contains further error classes whose message is printed.
    """
    if not isinstance(error, (*_SPOKEN, *spoken, StoreError, AwsError, ClientError, BotoCoreError)):
        return None
    if isinstance(error, Throttled):
        return "DynamoDB takes no more calls of this table for now: try again in a minute"
    if isinstance(error, Busy):
        return "the record was changed concurrently: try again"
    if isinstance(error, StoreError) and isinstance(error.__cause__, AwsError):
        error = error.__cause__
    if isinstance(error, ErrorResponse):
        return _explain_refusal(error.operation, error.code)
    if isinstance(error, ClientError):
        return _explain_refusal(error.operation_name, error.response.get("Error", {}).get("Code", ""))
    text = " ".join(str(error).split()).rstrip(".")
    return f"AWS cannot be used: {text}" if isinstance(error, AwsError | BotoCoreError) else text


def _explain_refusal(call: str, code: str) -> str:
    if code in _NOT_FOUND:
        return (
            f"a resource of this stage does not exist ({call}: {code}): "
            "create the resources with `make deploy`, or start the local stack with `make run`"
        )
    if code in _NO_CREDENTIALS:
        return f"AWS refuses these credentials ({call}: {code})"
    return f"AWS refused {call}: {code}"
