"""The table of parsers: what each takes, and which errors it documents."""

from __future__ import annotations

from collections.abc import Mapping

from tests.parsers import credential_parsers, document_parsers, message_parsers, text_parsers
from tests.parsers.target import Target

TARGETS: Mapping[str, Target] = {
    **message_parsers.TARGETS,
    **credential_parsers.TARGETS,
    **document_parsers.TARGETS,
    **text_parsers.TARGETS,
}
