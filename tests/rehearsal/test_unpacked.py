"""Every handler in the zip files, unpacked into an empty environment, handles the events of AWS."""

import json
import os
import re
import subprocess
import sys
import sysconfig
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import boto3
import pytest

from infra.deploy import lock, template
from infra.deploy.functions import FUNCTIONS
from infra.local.event_runner import schedule_event, sqs_event
from infra.repository import ROOT
from tests.infra.deploy.layer_files import used_modules
from tests.infra.deployment import for_stage
from tests.rehearsal import libraries, runtime
from tests.rehearsal.project import ADDRESSES, Project, registered

pytestmark = pytest.mark.rehearsal
STAGE = "dev"
ENVIRONMENT = {"STAGE": STAGE, "PUBLIC_URL": ADDRESSES[STAGE]}
QUEUE = f"causeway-{STAGE}-deliveries"
SCHEDULED = sorted(each.name for each in FUNCTIONS if each.is_scheduled and STAGE in each.stages)


STANDARD_LIBRARY = [
    str(place)
    for place in Path(sysconfig.get_path("stdlib")).iterdir()
    if place.name not in ("site-packages", "dist-packages")
]


@dataclass(frozen=True)
class Function:
    """The unpacked application, which is called in the same way as by Lambda. Each handler has its own process."""

    code: Path
    layer: Path
    answers: Path

    def call(self, handler: str, *events: Mapping[str, Any]) -> list[Any]:
        output = self._run(runtime.__file__, handler, stdin=events)
        self._loaded_its_own(output["files"])
        assert output["botocore"] == lock.read(ROOT / "requirements.txt")["botocore"].version
        found: list[Any] = output["answers"]
        return found

    def use_libraries(self, modules: Sequence[str]) -> None:
        self._loaded_its_own(self._run(libraries.__file__, stdin=modules))

    def _run(self, script: str, *arguments: str, stdin: Sequence[Any]) -> Any:
        """Run a script that can import only the application and the layer. Return the script's output."""
        environ = {name: value for name, value in os.environ.items() if name.startswith("AWS_")}
        command = [sys.executable, "-I", "-S", "-B", script, str(self.code), str(self.layer)]
        done = subprocess.run(
            [*command, *arguments, str(self.answers)],
            input=json.dumps(stdin),
            env=environ | ENVIRONMENT | {"AWS_LAMBDA_FUNCTION_NAME": "rehearsed"},
            cwd=self.code,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return json.loads(self.answers.read_text(encoding="utf-8"))

    def _loaded_its_own(self, files: Sequence[str]) -> None:
        scripts = (runtime.__file__, libraries.__file__)
        own = (str(self.code), str(self.layer), *scripts, *STANDARD_LIBRARY)
        assert [file for file in files if not file.startswith(own)] == []


@pytest.fixture(scope="session")
def function(deployed: Project, tmp_path_factory: pytest.TempPathFactory) -> Function:
    place = tmp_path_factory.mktemp("unpacked")
    for kind in ("appcode", "managed-layer"):
        with zipfile.ZipFile(deployed.packages(kind)[0]) as file:
            file.extractall(place / kind)
    (libraries,) = (place / "managed-layer").glob("python/lib/*/site-packages")
    return Function(place / "appcode", libraries, place / "answers.json")


def operator(*arguments: str, stdin: str = "") -> Any:
    output = subprocess.run(
        [sys.executable, "-m", "infra.admin", *arguments, "--json"],
        input=stdin,
        env=os.environ | ENVIRONMENT,
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert output.returncode == 0, output.stdout + output.stderr
    return json.loads(output.stdout)


@pytest.fixture(scope="session")
def started(deployed: Project) -> None:
    """Complete the first deployment of the stage. Create the secrets and their keys, because moto does not create
    secrets.
    """
    for secret in for_stage(STAGE).resources(template.SECRET).values():
        boto3.client("secretsmanager").create_secret(Name=secret["Name"])
    operator("keys", "init")


def request(method: str, path: str, resource: str = "", **headers: str) -> dict[str, Any]:
    """Return the event that API Gateway creates for a request."""
    names = re.findall(r"\{(\w+)\}", resource)
    found = re.fullmatch(re.sub(r"\{\w+\}", "([^/]+)", resource or path), path)
    assert found is not None
    return {
        "resource": resource or path,
        "path": path,
        "httpMethod": method,
        "headers": headers,
        "multiValueHeaders": {name: [value] for name, value in headers.items()},
        "queryStringParameters": None,
        "multiValueQueryStringParameters": None,
        "pathParameters": dict(zip(names, found.groups(), strict=True)) or None,
        "stageVariables": None,
        "requestContext": {
            "resourcePath": resource or path,
            "path": f"/{STAGE}{path}",
            "httpMethod": method,
            "stage": STAGE,
            "identity": {"sourceIp": "192.0.2.1", "userAgent": "rehearsal"},
        },
        "body": None,
        "isBase64Encoded": False,
    }


def test_the_unpacked_api_handler_responds_to_requests(function: Function, started: None) -> None:
    requests = {
        "health": request("GET", "/health"),
        "page": request("GET", "/"),
        "keys": request("GET", "/.well-known/jwks.json"),
        "banks": request("GET", "/tpp/banks"),
        "document": request("GET", "/openapi/tpp.json"),
        "cards": request("POST", "/api")
        | {"body": '{"action":"getCards"}', "headers": {"content-type": "application/json"}},
        "nothing": request("GET", "/nowhere", "/{first}"),
    }

    answers = dict(zip(requests, function.call("app.app", *requests.values()), strict=True))

    assert answers["health"]["statusCode"] == 200
    page = answers["page"]
    assert (page["statusCode"], page["headers"]["Content-Type"].partition(";")[0]) == (200, "text/html")
    assert "<title>" in page["body"]
    assert len(json.loads(answers["keys"]["body"])["keys"]) == 1
    assert (answers["banks"]["statusCode"], json.loads(answers["banks"]["body"])["code"]) == (
        401,
        "AUTHENTICATION_REQUIRED",
    )
    assert json.loads(answers["document"]["body"])["openapi"].startswith("3.")
    assert json.loads(answers["cards"]["body"])["status_code"] == 1101
    assert answers["nothing"]["statusCode"] == 404
    (style, *_) = re.findall(r"/static/[^\"]+\.css", page["body"])
    (sheet,) = function.call("app.app", request("GET", style, "/static/{name}"))
    assert (sheet["statusCode"], sheet["headers"]["Content-Type"].partition(";")[0]) == (200, "text/css")


def test_the_layer_contains_all_modules_that_the_service_imports(function: Function) -> None:
    function.use_libraries(used_modules())


def test_the_unpacked_deliver_handler_attempts_the_deliveries_of_a_batch(function: Function, started: None) -> None:
    operator("users", "add", "ada@example.com", "--terms-accepted", "--password-stdin", stdin="rain on a tin roof")
    client = operator(
        *("clients", "add", "--owner", "ada@example.com", "--title", "Rehearsed"),
        *("--events-url", "https://receiver.invalid/events"),
    )["client"]["client_id"]
    sent = [operator("clients", "test-event", client) for _ in range(2)]
    sqs = boto3.client("sqs")
    url = sqs.get_queue_url(QueueName=QUEUE)["QueueUrl"]
    received = sqs.receive_message(QueueUrl=url, MaxNumberOfMessages=10, AttributeNames=["All"])["Messages"]
    messages = list({each["Body"]: each for each in received}.values())  # a slow answer has a message sent again
    event = sqs_event(messages, f"arn:aws:sqs:eu-west-1:123456789012:{QUEUE}", "eu-west-1")

    assert len(messages) == len(sent)
    assert function.call(registered(STAGE)["handlers"]["deliver"], event) == [{"batchItemFailures": []}]
    for message in messages:
        delivery = operator("deliveries", "show", message["Body"])["delivery"]
        assert delivery["attempts"] == 1
    alone = function.call(registered(STAGE)["handlers"]["deliver"], {"Records": event["Records"][:1]})
    assert alone == [None]


@pytest.mark.parametrize("name", SCHEDULED)
def test_every_unpacked_schedule_handler_runs(function: Function, started: None, name: str) -> None:
    assert name in registered(STAGE)["schedules"]
    event = schedule_event(f"causeway-{STAGE}-{name}-event", datetime(2026, 11, 22, 1, 10, tzinfo=UTC), "eu-west-1")

    assert function.call(registered(STAGE)["handlers"][name], event) == [None]
