"""The version is defined in one place, and every output contains this version."""

import re
import tomllib

import pytest

import causeway
from chalicelib.foundation.aws import boto3_clients
from chalicelib.foundation.http.outbound import Outbound
from chalicelib.foundation.version import USER_AGENT, VERSION
from infra.render.openapi.document import document
from tests.kit.documents import ROOT
from tests.kit.http import good, socket_server
from tests.kit.source_code import FOUNDATION, MODULES, SOURCES, imports, modules_matching, within


def test_the_service_and_the_sdk_have_the_same_semantic_version() -> None:
    assert re.fullmatch(r"(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)", VERSION)
    assert causeway.__version__ == VERSION


def test_the_pyproject_file_declares_a_dynamic_version() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]

    assert "version" not in project
    assert project["dynamic"] == ["version"]


def test_the_openapi_documents_contain_the_version_of_the_service() -> None:
    made = document("Title", "Introduction", tags=[], paths={}, components={})

    assert made["info"]["version"] == VERSION


@pytest.mark.parametrize("call", ["post", "get"])
def test_the_user_agent_of_outbound_requests_contains_the_version(call: str) -> None:
    outbound = Outbound(public_only=False)
    with socket_server(good) as server:
        if call == "post":
            outbound.post(server.url, b"{}", {}, repeat=False)
        else:
            outbound.get(server.url, largest=100, total_seconds=60)

    ((_, request),) = server.requests
    assert f"\r\nuser-agent: {USER_AGENT}\r\n".encode().lower() in request.lower()


def test_the_user_agent_of_aws_requests_contains_the_version() -> None:
    assert boto3_clients.client("sesv2").meta.config.user_agent.split()[0] == USER_AGENT


def test_only_foundation_modules_send_http_requests() -> None:
    senders = ("urllib3", "requests", "httpx", "urllib.request", "http.client")
    found = {module for module in MODULES if not within(module, "chalicelib.demo_bank")}
    found |= {module for module in SOURCES if within(module, "infra.conformance")}
    callers = {module for module in found if any(within(name, *senders) for name in imports(module))}

    assert callers <= set(modules_matching(FOUNDATION))
