"""The OpenAPI documents that the service returns."""

from dataclasses import replace

import pytest

from chalicelib.website import rendered_files
from chalicelib.website.openapi_documents import DOCUMENTS
from tests.causeway import Causeway


@pytest.mark.parametrize("name", DOCUMENTS)
def test_an_openapi_document_is_served_as_rendered(causeway: Causeway, name: str) -> None:
    answer = causeway.call("GET", f"/openapi/{name}.json")

    assert answer.status == 200
    assert answer.headers["content-type"] == "application/json"
    assert answer.text == rendered_files.read(f"openapi/{name}.json")


@pytest.mark.parametrize("name", DOCUMENTS)
def test_a_document_for_generators_is_served_as_rendered(causeway: Causeway, name: str) -> None:
    answer = causeway.call("GET", f"/openapi/{name}.json?for=generators")

    assert answer.status == 200
    assert answer.text == rendered_files.read(f"openapi/generators/{name}.json")
    assert answer.headers["etag"] != causeway.call("GET", f"/openapi/{name}.json").headers["etag"]


def test_a_document_for_unknown_readers_returns_400(causeway: Causeway) -> None:
    answer = causeway.call("GET", "/openapi/tpp.json?for=people")

    assert answer.status == 400
    assert answer.body == {"error": "`for` must be `generators`, or absent for the exact document."}


def test_a_served_openapi_document_contains_the_address_of_the_stage(causeway: Causeway) -> None:
    causeway.hub.settings = replace(
        causeway.hub.settings, public_url="https://hub.example", bank_api_url="https://banks.hub.example"
    )

    tpp, bank = causeway.call("GET", "/openapi/tpp.json"), causeway.call("GET", "/openapi/bank-v2.json")

    assert tpp.body["servers"][0]["url"] == "https://hub.example"
    assert bank.body["servers"][0]["url"] == "https://banks.hub.example"
    assert "127.0.0.1" not in tpp.text + bank.text


def test_an_unchanged_openapi_document_returns_304(causeway: Causeway) -> None:
    first = causeway.call("GET", "/openapi/tpp.json")

    again = causeway.call("GET", "/openapi/tpp.json", headers={"If-None-Match": f'"other", {first.headers["etag"]}'})
    strong = causeway.call(
        "GET", "/openapi/tpp.json", headers={"If-None-Match": first.headers["etag"].removeprefix("W/")}
    )
    other = causeway.call("GET", "/openapi/tpp.json", headers={"If-None-Match": '"other"'})

    assert (again.status, again.text, strong.status) == (304, "", 304)
    assert first.headers["etag"].startswith('W/"')  # since API Gateway compresses the document
    assert first.headers["vary"] == again.headers["vary"] == "Accept-Encoding"
    assert (other.status, other.headers["etag"]) == (200, first.headers["etag"])
    assert first.headers["cache-control"] == "public, max-age=300"
