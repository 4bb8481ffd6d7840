"""One version, which every place shows."""

from __future__ import annotations

import re
import tomllib

import pytest

import causeway
from chalicelib.foundation.aws import boto3_clients
from chalicelib.foundation.http.outbound import Outbound
from chalicelib.foundation.version import USER_AGENT, VERSION
from infra.render.openapi.document import document
from tests.documents import ROOT
from tests.foundation.http.connections import good
from tests.foundation.servers import serving
from tests.source_code import FOUNDATION, MODULES, SOURCES, imports, modules_matching, within


def test_the_version_is_a_semantic_version_that_service_and_package_share() -> None:
    assert re.fullmatch(r"(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)", VERSION)
    assert causeway.__version__ == VERSION


def test_the_project_file_has_no_version_of_its_own() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]

    assert "version" not in project
    assert project["dynamic"] == ["version"]


def test_openapi_documents_have_the_version() -> None:
    made = document("Title", "Introduction", tags=[], paths={}, components={})

    assert made["info"]["version"] == VERSION


@pytest.mark.parametrize("call", ["post", "get"])
def test_requests_to_other_parties_name_the_version(call: str) -> None:
    outbound = Outbound(public_only=False)
    with serving(good) as server:
        if call == "post":
            outbound.post(server.url, b"{}", {}, repeat=False)
        else:
            outbound.get(server.url, largest=100, total_seconds=60)

    ((_, request),) = server.requests
    assert f"\r\nuser-agent: {USER_AGENT}\r\n".encode().lower() in request.lower()


def test_requests_to_aws_name_the_version() -> None:
    assert boto3_clients.client("sesv2").meta.config.user_agent.split()[0] == USER_AGENT


def test_other_parties_are_called_through_the_module_that_names_the_version() -> None:
    senders = ("urllib3", "requests", "httpx", "urllib.request", "http.client")
    found = {module for module in MODULES if not within(module, "chalicelib.demo_bank")}
    found |= {module for module in SOURCES if within(module, "infra.conformance")}
    callers = {module for module in found if any(within(name, *senders) for name in imports(module))}

    assert callers <= set(modules_matching(FOUNDATION))
