"""The parts that the operations of the TPP-facing API share: parameters, responses, and the table of bank webhooks."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from chalicelib.openbanking.protocol import own_answers
from chalicelib.openbanking.protocol.webhooks import Webhook
from infra.render.openapi import introduction, psu_headers, security
from infra.render.openapi.models import Model, example, model_of
from infra.render.openapi.own_calls import Caller
from infra.render.openapi.responses import Responses
from infra.render.openapi.row_docs import Purpose
from infra.render.openapi.schemas import Json

PROOF_HEADER = "DpopProof"
"""The component of the header with a DPoP proof."""
PSU = psu_headers.references()
NONCE = ("DPoP-Nonce",)
_OPERATION_IDS = {"/tpp/banks/{bic}": "bank"}
"""Those that the path without its parameter does not tell apart."""


class Operations:
    """Builds the operations of the TPP-facing API."""

    def __init__(self, responses: Responses) -> None:
        self._responses = responses
        self._schemas = responses.schemas

    def _good(self, path: str, models: Mapping[Any, Model], *headers: str) -> Json:
        schema = any_of([self._schemas.ref(model) for model in models.values()])
        examples = {
            f"version_{version}" if len(models) > 1 else "success": {
                "summary": f"A version {version} bank" if len(models) > 1 else "Success",
                "value": example(model),
            }
            for version, model in models.items()
        }
        return self._responses.success(path, schema, examples, "Success.", *headers)

    def _accepted_response(self, path: str, *more: str) -> Json:
        """Return the response to a deferred call."""
        model = model_of(own_answers.Accepted)
        examples = {"accepted": {"summary": "Accepted", "value": example(model)}}
        text = "Accepted: with `Prefer: respond-async`, the call is carried out later."
        headers = ("Accepted-At", "Preference-Applied", *more)
        return self._responses.success(path, self._schemas.ref(model), examples, text, *headers)


def operation(
    path: str, purpose: Purpose, tag: str, caller: Caller, parameters: list[Json], responses: Json, needs: str = ""
) -> Json:
    """Return an operation. ``needs`` is the last paragraph of its description."""
    return {
        "operationId": _OPERATION_IDS.get(path)
        or re.sub("[^a-z0-9]+", "_", path.partition("/{")[0].rpartition("/tpp/")[2]).strip("_"),
        "tags": [tag],
        "summary": purpose.title,
        "description": "\n\n".join(text for text in (purpose.text, needs) if text),
        "security": security.REQUIREMENTS[caller],
        "parameters": [*parameters, ref("RequestIdIfAny" if caller == "anybody" else "RequestId")],
        "responses": responses,
    }


def table_of_webhooks(webhooks: Mapping[int, Webhook]) -> str:
    """Return a table of the required scope and the webhook for each version."""
    rows = [(version, f"`{row.scope}`" if row.scope else "none", f"`{row.path}`") for version, row in webhooks.items()]
    return introduction.table(("Bank version", "Scope", "Bank webhook"), rows)


def ref(name: str) -> Json:
    """Return a reference to the component of a parameter."""
    return {"$ref": f"#/components/parameters/{name}"}


def any_of(schemas: list[Json]) -> Json:
    """Return a schema of alternatives, or the only alternative."""
    return schemas[0] if len(schemas) == 1 else {"anyOf": schemas}
