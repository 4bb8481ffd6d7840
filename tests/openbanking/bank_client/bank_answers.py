"""What banks answer, as TPPs get it and as it is logged."""

from __future__ import annotations

from typing import Any

from tests.kit.logs import Lines
from tests.openbanking.examples import Json, Row


def odd_answers(lines: Lines) -> list[str]:
    """The problems of odd answers that were logged."""
    logged = [line for line in lines.all() if line["message"] == "malformed bank response"]
    return [problem for line in logged for problem in line["problems"]]


def handed_on(row: Row, answer: Json) -> Json:
    """The bank's answer as the TPP gets it."""
    asked = {"payment_id": row.request["payment_id"]} if row.call == "/tpp/payment_status" else {}
    return asked | {name: value for name, value in answer.items() if row.version == 2 or name != "status"}


def in_camel_case(value: Any) -> Any:
    if isinstance(value, dict):
        return {camel(name): in_camel_case(inner) for name, inner in value.items()}
    return [in_camel_case(inner) for inner in value] if isinstance(value, list) else value


def camel(name: str) -> str:
    first, *others = name.split("_")
    return first + "".join(map(str.capitalize, others))
