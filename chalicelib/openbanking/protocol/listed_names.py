"""The types of names that the documents list: the scopes and payment schemes of all versions."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from chalicelib.openbanking.protocol.unified_scopes import UNIFIED_SCOPES
from chalicelib.openbanking.protocol.versions import VERSIONS, scope_names

ScopeName = Annotated[
    str, Field(json_schema_extra={"enum": [name for version in VERSIONS.values() for name in version.scopes]})
]
UnifiedScopeName = Annotated[str, Field(json_schema_extra={"enum": list(UNIFIED_SCOPES)})]
AnyScopeName = Annotated[str, Field(json_schema_extra={"enum": [*scope_names()]})]

SchemeName = Annotated[
    str,
    Field(
        json_schema_extra={
            "enum": list(dict.fromkeys(name for version in VERSIONS.values() for name in version.schemes))
        }
    ),
]
