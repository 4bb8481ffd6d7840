"""The settings of the API's stage that Chalice does not set: throttling and the access log."""

from __future__ import annotations

import json
from typing import Any

from infra.deploy.limits import REQUEST_BURST, REQUESTS_PER_SECOND

LOG_OUTPUT = "ApiAccessLogArn"
"""The output of ``infra/resources.yaml`` with the ARN of the access log."""
LOG_ACCOUNT = "ApiLogAccount"
"""The logical name of the API Gateway account resource, which permits API Gateway to write access logs."""
LOG_FORMAT = json.dumps(
    {
        "stage": "$context.stage",
        "requestId": "$context.requestId",
        "requestTime": "$context.requestTime",
        "ip": "$context.identity.sourceIp",
        "httpMethod": "$context.httpMethod",
        "resourcePath": "$context.resourcePath",
        "status": "$context.status",
        "responseType": "$context.error.responseType",
        "responseLength": "$context.responseLength",
        "responseLatency": "$context.responseLatency",
    },
    separators=(",", ":"),
)
"""The format of a log line: one JSON object per request. It contains the route, but never ``path`` or the query,
because the paths of cancel URLs contain secrets.
"""


def sam_properties(log_arn: Any) -> dict[str, Any]:
    """Return the properties of the API in a SAM template. ``log_arn`` may be a CloudFormation function."""
    throttling = {
        "ResourcePath": "/*",
        "HttpMethod": "*",
        "ThrottlingRateLimit": REQUESTS_PER_SECOND,
        "ThrottlingBurstLimit": REQUEST_BURST,
    }
    return {"MethodSettings": [throttling], "AccessLogSetting": {"DestinationArn": log_arn, "Format": LOG_FORMAT}}


def update(client: Any, interface: str, stage: str, log_arn: str) -> None:
    """Set the throttling and the access log of a stage that Chalice deployed.

    Args:
        client: a boto3 client of API Gateway.
        interface: the API's id.
    """
    values = {
        "/*/*/throttling/rateLimit": str(REQUESTS_PER_SECOND),
        "/*/*/throttling/burstLimit": str(REQUEST_BURST),
        "/accessLogSettings/destinationArn": log_arn,
        "/accessLogSettings/format": LOG_FORMAT,
    }
    patches = [{"op": "replace", "path": path, "value": value} for path, value in values.items()]
    client.update_stage(restApiId=interface, stageName=stage, patchOperations=patches)
