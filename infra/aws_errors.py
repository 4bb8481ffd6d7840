"""Explains AWS errors in sentences, and detects endpoints that are not AWS endpoints."""

from __future__ import annotations

import os
from collections.abc import Mapping

from botocore.exceptions import BotoCoreError, ClientError
from botocore.parsers import ResponseParserError

from chalicelib.foundation.aws.errors import AwsError, ErrorResponse

AWS_ERRORS = (AwsError, ClientError, BotoCoreError, ResponseParserError)
"""The errors that a call to AWS can raise, caused by AWS or by boto3."""


def explain(error: Exception, environ: Mapping[str, str] = os.environ) -> str:
    """Explain the error as a sentence without a full stop.

    A response without an AWS error code comes from a web server, or from an emulator that lacks the service. For such a
    response, the sentence contains the operation and the endpoint in ``environ``.
    """
    if isinstance(error, ClientError) and str(error.response["Error"].get("Code", "")).isdigit():
        what = f"{error.operation_name} with HTTP status {error.response['Error']['Code']}"
    elif isinstance(error, ErrorResponse) and error.code.isdigit():
        what = f"{error.operation} with HTTP status {error.code}"
    elif isinstance(error, ResponseParserError):
        what = "with something that cannot be read"
    else:
        return str(error)
    addresses = sorted({value for name, value in environ.items() if name.startswith("AWS_ENDPOINT_URL") and value})
    where = f"the endpoint at {' or '.join(addresses)}" if addresses else "AWS"
    return f"{where} answered {what}, and not as AWS does: it may be no emulator of AWS, or one that lacks this service"
