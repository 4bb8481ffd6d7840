"""All rendered files: the OpenAPI documents and the pages of the documentation."""

from __future__ import annotations

from collections.abc import Mapping

from chalicelib.website import docs_index, openapi_documents
from infra.render.docs import site
from infra.render.openapi import documents


def texts() -> Mapping[str, str]:
    """Return the text of each file, by its name in the folder. Raises: LinkError."""
    return {
        **{f"{openapi_documents.FOLDER}/{name}.json": documents.text(name) for name in documents.DOCUMENTS},
        **{
            f"{openapi_documents.FOLDER}/{openapi_documents.GENERATORS}/{name}.json": documents.text_for_generators(
                name
            )
            for name in documents.DOCUMENTS
        },
        **{f"{docs_index.FOLDER}/{name}": text for name, text in site.texts().items()},
    }
