"""The emulator of ``make run`` with two additional operations for deployments: reading a layer version by its ARN, and
reading the account's concurrency limit.

``.venv/bin/python -m tests.rehearsal.emulator`` prints the emulator's address, and ends when standard input closes.
"""

import json
from typing import Any

from moto.awslambda import urls
from moto.awslambda.responses import LambdaResponse

from infra.local import emulator


def get_layer_version_by_arn(self: Any) -> str:
    """Implement ``GetLayerVersionByArn``, which moto lacks."""
    name, version = self.querystring["Arn"][0].split(":")[-2:]
    return json.dumps(self.backend.get_layer_version(name, version).get_layer_version())


def get_account_settings(self: Any) -> str:
    """Implement ``GetAccountSettings``, which moto lacks, with Lambda's default quota."""
    reserved = sum(int(each.reserved_concurrency or 0) for each in self.backend.list_functions())
    limit = {"ConcurrentExecutions": 1000, "UnreservedConcurrentExecutions": 1000 - reserved}
    return json.dumps({"AccountLimit": limit})


if __name__ == "__main__":
    responses: Any = LambdaResponse
    responses.get_layer_version_by_arn = get_layer_version_by_arn
    responses.get_account_settings = get_account_settings
    urls.url_paths["{0}/(?P<api_version>[^/]+)/account-settings/?$"] = LambdaResponse.dispatch
    emulator.main()
