"""Writes the reports of a run as JSON, JUnit XML and HTML. Secrets in all texts are already masked."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

from infra.conformance import report_html
from infra.conformance.check import Result
from infra.conformance.runner import Run
from infra.conformance.verdict import conclusion, result_of

NAME = "report"


def write(run: Run, folder: Path) -> list[Path]:
    """Write all reports to ``folder``, each atomically. Return the files. Raises: OSError."""
    folder.mkdir(parents=True, exist_ok=True)
    texts = {"html": report_html.render(run), "json": as_json(run), "xml": as_junit(run)}
    files = []
    for ending, text in texts.items():
        file = folder / f"{NAME}.{ending}"
        draft = file.with_suffix(f".{ending}.new")
        draft.write_text(text, encoding="utf-8")
        draft.replace(file)
        files.append(file)
    return files


def as_json(run: Run) -> str:
    """Return the report as JSON. For a skipped check, ``received`` contains the reason."""
    content = {
        "bank": run.bic,
        "version": run.version,
        "started_at": run.started_at,
        "result": result_of(run),
        "verdict": conclusion(run),
        "narrowed": run.narrowed,
        "checks": [_members(result) for result in run.results],
    }
    return json.dumps(content, indent=2, ensure_ascii=False) + "\n"


def _members(result: Result) -> Mapping[str, Any]:
    check = result.check
    wrong = f"{result.problem}\n\n" if result.problem else ""
    return {
        "id": check.check_id,
        "title": check.title,
        "paragraph": check.paragraph,
        "level": check.level,
        "outcome": result.outcome,
        "problem": result.problem,
        "sent": result.sent,
        "received": f"{wrong}{result.received}".rstrip(),
        "expected": check.expected,
    }


def as_junit(run: Run) -> str:
    """Return the report as JUnit XML with a test case for each check.

    A failed advisory check counts as skipped. A mandatory check blocked by an earlier failure is an error.
    """
    suite = ET.Element(
        "testsuite",
        name=f"conformance.{run.bic}",
        tests=str(len(run.results)),
        failures=str(run.count("failed", "mandatory")),
        errors=str(len(run.blocked)),
        skipped=str(run.count("skipped") - len(run.blocked) + run.count("failed", "advice")),
        time=f"{run.seconds:.3f}",
        timestamp=run.started_at,
    )
    for result in run.results:
        _add_case(suite, result)
    root = ET.Element("testsuites")
    root.append(suite)
    ET.indent(root)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ET.tostring(root, encoding="unicode") + "\n"


def _add_case(suite: ET.Element, result: Result) -> None:
    check = result.check
    case = ET.SubElement(suite, "testcase", classname=check.group, name=check.check_id, time=f"{result.seconds:.3f}")
    if result.fails_run:
        failure = ET.SubElement(case, "failure", type=check.level, message=_xml(result.problem))
        failure.text = _xml(_explain(result))
    elif result.is_blocked:
        ET.SubElement(case, "error", type="blocked", message=_xml(result.problem))
    elif result.outcome == "failed":
        ET.SubElement(case, "skipped", message=_xml(f"advice: {result.problem}"))
    elif result.outcome == "skipped":
        ET.SubElement(case, "skipped", message=_xml(result.problem))


def _explain(result: Result) -> str:
    parts = [("expected", result.check.expected), ("rule", result.check.paragraph), *result.exchange]
    return "\n\n".join(f"{name}: {text}" for name, text in parts)


def _xml(text: str) -> str:
    """Remove characters that XML 1.0 does not allow."""
    return "".join(each if each in "\t\n\r" or each.isprintable() else "?" for each in text)
