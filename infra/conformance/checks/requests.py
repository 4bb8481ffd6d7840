"""Checks of request validation: a bank must refuse requests that violate the member tables.

The hub never sends such requests, so the specification does not require refusals. All these checks are advisory.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, get_args

from pydantic import BaseModel

from chalicelib.openbanking.protocol.version import Version
from infra.conformance.check import Check
from infra.conformance.checks.judging import require_refused, service_to_bank
from infra.conformance.evidence import CheckSkipped, Evidence
from infra.conformance.session import Session
from infra.conformance.subjects import Subject

Path = tuple[str, ...]
_FIRST = "0"


def checks(version: Version, subject: Subject) -> list[Check]:
    """Return the checks of one webhook's requests."""
    stands = service_to_bank(version, subject.webhook.path)
    found = [_check(subject, stands, "not-json", "a body that is not JSON", _send_text(subject))]
    paths = list(mandatory_members(subject.webhook.request))
    if subject.webhook.request.model_fields:
        found.append(_check(subject, stands, "empty", "a body without members", _send_empty(subject)))
    for path in paths:
        name = ".".join(path)
        found.append(_check(subject, stands, f"without-{name}", f"a body without {name}", _send_without(subject, path)))
        found.append(
            _check(
                subject, stands, f"type-{name}", f"a body with {name} of a wrong type", _send_mistyped(subject, path)
            )
        )
    return found


def _check(subject: Subject, stands: str, name: str, what: str, run: Callable[[Session], Evidence]) -> Check:
    expected = "The call is refused with an error"
    return Check(
        f"{subject.name}.request-{name}", f"refuses {what}", stands, "advice", expected, run, subject.webhook.path
    )


def mandatory_members(model: type[BaseModel]) -> Iterator[Path]:
    """Return the paths of a model's mandatory members, including nested mandatory members."""
    for name, described in model.model_fields.items():
        if not described.is_required():
            continue
        spelled = described.alias or name
        yield (spelled,)
        inner = _inner_model(described.annotation)
        listed = (_FIRST,) if _is_list(described.annotation) else ()
        if inner is not None:
            yield from ((spelled, *listed, *path) for path in mandatory_members(inner))


def _inner_model(annotation: Any) -> type[BaseModel] | None:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    return next((found for part in get_args(annotation) if (found := _inner_model(part)) is not None), None)


def _is_list(annotation: Any) -> bool:
    return getattr(annotation, "__origin__", None) is list or any(map(_is_list, get_args(annotation)))


def _send_text(subject: Subject) -> Callable[[Session], Evidence]:
    def run(session: Session) -> Evidence:
        call = session.send(subject, body=b"{not JSON", note="the body is signed as it is")
        return require_refused(session, subject, call)

    return run


def _send_empty(subject: Subject) -> Callable[[Session], Evidence]:
    def run(session: Session) -> Evidence:
        session.request(subject)
        return require_refused(session, subject, session.send(subject, {}))

    return run


def _send_without(subject: Subject, path: Path) -> Callable[[Session], Evidence]:
    def run(session: Session) -> Evidence:
        members = _changed(session.request(subject), path, lambda holder, name: holder.pop(name))
        return require_refused(session, subject, session.send(subject, members))

    return run


def _send_mistyped(subject: Subject, path: Path) -> Callable[[Session], Evidence]:
    def mistype(holder: Any, name: str) -> None:
        holder[name] = "text" if isinstance(holder[name], dict | list) else {"text": "text"}

    def run(session: Session) -> Evidence:
        members = _changed(session.request(subject), path, mistype)
        return require_refused(session, subject, session.send(subject, members))

    return run


def _changed(value: Any, path: Path, change: Callable[[Any, str], object]) -> Any:
    first, *rest = path
    copied = list(value) if isinstance(value, list) else dict(value)
    place: Any = int(first) if isinstance(copied, list) else first
    if isinstance(copied, dict) and place not in copied:
        raise CheckSkipped(f"the good request has no {'.'.join(path)}")
    if rest:
        copied[place] = _changed(copied[place], tuple(rest), change)
    else:
        change(copied, place)
    return copied
