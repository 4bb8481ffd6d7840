"""Explains AWS errors in sentences, and endpoints that do not respond like AWS."""

from __future__ import annotations

import os
from collections.abc import Mapping

from botocore.exceptions import BotoCoreError, ClientError
from botocore.parsers import ResponseParserError

from chalicelib.foundation.aws.errors import AwsError, ErrorResponse

AWS_ERRORS = (AwsError, ClientError, BotoCoreError, ResponseParserError)
"""All errors of a call of AWS, by the service or by boto3."""


def explain(error: Exception, environ: Mapping[str, str] = os.environ) -> str:
    """The error as a sentence without its full stop.

    A response without an AWS error code is a page of a web server, or of an emulator that lacks the service: it is left
    out, and the operation and the endpoint of ``environ`` are named instead.
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
