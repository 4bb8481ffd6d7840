"""The emulator of ``make run`` with what Chalice asks for besides: a version of a layer, by its ARN.

``.venv/bin/python -m tests.rehearsal.emulator`` prints its address, and ends when its standard input closes.
"""

from __future__ import annotations

import json
from typing import Any

from moto.awslambda.responses import LambdaResponse

from infra.local import emulator


def get_layer_version_by_arn(self: Any) -> str:
    """``GetLayerVersionByArn``, which moto does not have."""
    name, version = self.querystring["Arn"][0].split(":")[-2:]
    return json.dumps(self.backend.get_layer_version(name, version).get_layer_version())


if __name__ == "__main__":
    responses: Any = LambdaResponse
    responses.get_layer_version_by_arn = get_layer_version_by_arn
    emulator.main()
