"""Messages: JSON objects whose members are validated by their types."""

from __future__ import annotations

from itertools import islice
from typing import TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError

from chalicelib.foundation.fields.problems import InvalidMessage, Problem, problems_of

PROBLEMS = 50
"""The most problems that one response lists."""
M = TypeVar("M", bound="Message")


class Message(BaseModel):
    """A JSON object; members that its model does not declare are rejected."""

    model_config = ConfigDict(extra="forbid", frozen=True, defer_build=True, hide_input_in_errors=True)

    @classmethod
    def read(cls: type[M], value: object, most: int | None = PROBLEMS) -> M:
        """Validate a parsed JSON value. Raises: InvalidMessage, with at most so many problems; all without a limit."""
        if not isinstance(value, dict):
            raise InvalidMessage([Problem("", "type", "the body must be a JSON object")])
        try:
            return cls.model_validate(value)
        except ValidationError as error:
            raise InvalidMessage(list(islice(problems_of(cls, error), most))) from None


class OpenMessage(Message):
    """A JSON object that may have members its model does not declare."""

    model_config = ConfigDict(extra="allow")
