"""Responses in the formats that AWS documents, and responses damaged on the network.

Documentation: https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/Programming.LowLevelAPI.html and
https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/Programming.Errors.html
"""

import gzip
import json
import zlib
from typing import Any

import pytest

from chalicelib.foundation.aws.answers import Answer, read
from chalicelib.foundation.aws.errors import ErrorResponse, NoAnswer

DYNAMODB = "com.amazonaws.dynamodb.v20120810#"
ITEM = b'{"Item":{"AnimalType":{"S":"Dog"},"Age":{"N":"8"},"Name":{"S":"Fido"}}}'
CANCELLED = {
    "__type": f"{DYNAMODB}TransactionCanceledException",
    "Message": "Transaction cancelled, please refer cancellation reasons for specific reasons",
    "CancellationReasons": [
        {"Code": "ConditionalCheckFailed", "Item": {"id": {"S": "1"}}, "Message": "The conditional request failed"},
        {"Code": "None"},
    ],
}


def answer(body: bytes, status: int = 200, **headers: str) -> Answer:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return Answer(status, {"x-amz-crc32": str(zlib.crc32(body))} | named, body)


def refused(body: Any, status: int = 400, **headers: str) -> ErrorResponse:
    content = body if isinstance(body, bytes) else json.dumps(body).encode()
    with pytest.raises(ErrorResponse) as caught:
        read("PutItem", answer(content, status, **headers))
    return caught.value


def test_a_successful_aws_response_is_returned_as_members() -> None:
    assert read("GetItem", answer(ITEM))["Item"]["Name"] == {"S": "Fido"}


@pytest.mark.parametrize("body", [b"", b"{}"])
def test_an_empty_successful_aws_response_has_no_members(body: bytes) -> None:
    assert read("SendMessage", answer(body)) == {}


def test_the_checksum_of_a_compressed_response_covers_the_compressed_bytes() -> None:
    zipped = gzip.compress(ITEM)

    assert read("GetItem", answer(zipped, content_encoding="gzip")) == json.loads(ITEM)
    with pytest.raises(NoAnswer, match="checksum"):
        read("GetItem", answer(zipped, content_encoding="gzip", x_amz_crc32=str(zlib.crc32(ITEM))))


def test_an_aws_response_with_a_wrong_checksum_raises_the_no_answer_exception() -> None:
    with pytest.raises(NoAnswer, match="checksum"):
        read("GetItem", answer(ITEM, x_amz_crc32="1"))


@pytest.mark.parametrize("body", [ITEM[:20], b"<html></html>", b"[]", b"null", b"\xff"])
def test_a_success_response_that_is_not_a_json_object_raises_the_no_answer_exception(body: bytes) -> None:
    with pytest.raises(NoAnswer):
        read("GetItem", answer(body))


@pytest.mark.parametrize("body", [gzip.compress(ITEM, mtime=0)[:30], b"not zipped"])
def test_a_damaged_gzip_response_raises_the_no_answer_exception(body: bytes) -> None:
    with pytest.raises(NoAnswer):
        read("GetItem", answer(body, content_encoding="gzip"))


@pytest.mark.parametrize(
    "code",
    [
        *("AccessDeniedException", "ConditionalCheckFailedException", "IncompleteSignatureException"),
        *("ItemCollectionSizeLimitExceededException", "LimitExceededException", "MissingAuthenticationTokenException"),
        *("ProvisionedThroughputExceededException", "RequestLimitExceeded", "ResourceInUseException"),
        *("ResourceNotFoundException", "ThrottlingException", "UnrecognizedClientException", "ValidationException"),
        *("TransactionConflictException", "TransactionInProgressException", "IdempotentParameterMismatchException"),
    ],
)
def test_an_aws_error_code_is_read_without_its_namespace(code: str) -> None:
    for written in (f"{DYNAMODB}{code}", f"com.amazon.coral.validate#{code}", code, f"{code}:http://internal/"):
        error = refused({"__type": written, "message": "why"})
        assert (error.code, error.status, str(error)) == (code, 400, f"PutItem: {code}: why")


def test_an_aws_error_code_is_read_from_a_header() -> None:
    assert refused({}, x_amzn_errortype="ThrottlingException:http://internal/").code == "ThrottlingException"


def test_an_sqs_error_has_the_code_of_the_query_protocol() -> None:
    older = "AWS.SimpleQueueService.NonExistentQueue"
    error = refused({"__type": "com.amazonaws.sqs#QueueDoesNotExist"}, x_amzn_query_error=f"{older};Sender")

    assert error.code == older


def test_the_error_of_a_cancelled_transaction_has_the_cancellation_reasons() -> None:
    error = refused(CANCELLED)

    assert error.code == "TransactionCanceledException"
    assert error.members["CancellationReasons"] == CANCELLED["CancellationReasons"]


@pytest.mark.parametrize("status", [403, 500, 502, 503, 504])
def test_an_html_error_page_has_the_http_status_as_error_code(status: int) -> None:
    error = refused(b"<html><body>Bad Gateway</body></html>", status)

    assert (error.code, error.status, error.members) == (str(status), status, {})


@pytest.mark.parametrize(("asked", "seconds"), [("2", 2), ("", 0), ("Sun, 29 Nov 2026 10:00:00 GMT", 0), ("-1", 0)])
def test_an_aws_error_contains_the_delay_of_the_retry_after_header(asked: str, seconds: int) -> None:
    assert refused({"__type": "a#B"}, 503, retry_after=asked).retry_after == seconds


def test_an_aws_error_contains_the_request_id_of_the_response() -> None:
    error = refused({"__type": "a#B", "message": "why"}, x_amzn_requestid="R4")

    assert (error.request_id, str(error)) == ("R4", "PutItem: B: why (request R4)")
    assert error.title == "PutItem: B (request R4)"
