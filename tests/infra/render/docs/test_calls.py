"""The Markdown description of the calls in an OpenAPI document."""

import copy
from typing import Any

from infra.render.docs.calls import CallPages
from tests.kit.documents import tables

_TEXT = {"type": "string"}
DOCUMENT: dict[str, Any] = {
    "paths": {
        "/books/{id}": {
            "get": {
                "summary": "Read a book",
                "description": "The book, or its newest edition.",
                "parameters": [
                    {
                        "name": "id",
                        "in": "path",
                        "required": True,
                        "description": "Which",
                        "schema": {"type": "string"},
                    },
                    {"name": "lines", "in": "query", "schema": {"type": "integer", "default": 10}},
                    {"$ref": "#/components/parameters/Trace"},
                ],
                "responses": {
                    "200": {
                        "description": "Success.",
                        "content": {
                            "application/json": {
                                "schema": {"$ref": "#/components/schemas/Book"},
                                "examples": {"usual": {"value": {"title": "Emma", "authors": [{"name": "J. A."}]}}},
                            }
                        },
                    },
                    "404": {"description": "It is not known.\n\n- `NO_BOOK`: There is no such book"},
                },
            }
        }
    },
    "webhooks": {},
    "components": {
        "parameters": {"Trace": {"name": "Trace", "in": "header", "description": "Follows it", "schema": _TEXT}},
        "schemas": {
            "Book": {
                "properties": {
                    "title": {"type": "string", "maxLength": 80, "description": "Its title"},
                    "authors": {"type": "array", "items": {"$ref": "#/components/schemas/Author"}},
                },
                "required": ["title"],
            },
            "Author": {"properties": {"name": {"type": ["string", "null"], "description": "As printed"}}},
        },
    },
}


def rendered(document: dict[str, Any]) -> str:
    pages = CallPages(document)
    return pages.render(pages.calls)


def test_a_call_is_documented_with_purpose_headers_parameters_and_example() -> None:
    text = rendered(DOCUMENT)

    assert text.startswith("## `GET /books/{id}`\n\nRead a book.\n\nThe book, or its newest edition.\n\n")
    assert "Headers: `Trace`." in text
    assert ["id", "mandatory", "text", "Which"] in tables(text)[0]
    assert ["lines", "optional", "integer", "Default 10"] in tables(text)[0]
    assert '{"title": "Emma", "authors": [{"name": "J. A."}]}' in text


def test_members_of_objects_in_a_list_are_documented_after_the_list() -> None:
    found = tables(rendered(DOCUMENT))[1]

    assert found[2:] == [
        ["title", "mandatory", "text 80", "Its title"],
        ["authors", "optional", "list of objects", ""],
        ["authors.name", "optional", "text", "As printed"],
    ]


def test_the_type_of_a_member_that_is_always_present_says_whether_it_can_be_null() -> None:
    document = copy.deepcopy(DOCUMENT)
    document["components"]["schemas"]["Author"]["required"] = ["name"]

    assert ["authors.name", "mandatory", "text or null", "As printed"] in tables(rendered(document))[1]


def test_an_error_response_is_listed_with_its_call() -> None:
    assert ["404", "NO_BOOK", "There is no such book"] in tables(rendered(DOCUMENT))[2]


def test_error_responses_shared_by_most_calls_are_listed_once_at_the_end() -> None:
    document = copy.deepcopy(DOCUMENT)
    for name in ("pages", "covers", "maps"):
        document["paths"][f"/{name}"] = document["paths"]["/books/{id}"]

    text = rendered(document)

    assert text.count("NO_BOOK") == 1
    assert text.index("## Common refusals") < text.index("NO_BOOK")
