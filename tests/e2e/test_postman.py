"""The Postman collection, run from top to bottom as Postman would run it."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import reduce
from typing import Any

import pytest
import requests

from chalicelib.cards.actions import ACTIONS, SIMULATOR_ACTIONS
from chalicelib.foundation.identifiers import new_uuid
from chalicelib.openbanking.protocol.versions import VERSIONS
from chalicelib.openbanking.protocol.webhooks import PAYMENTS, RELAYED, PaymentCall, RelayedCall
from infra.local import stackfile
from infra.postman.write import write
from tests.patience import PATIENCE_SECONDS

pytestmark = pytest.mark.e2e


@pytest.fixture(scope="session")
def collection(stack: dict[str, Any], tmp_path_factory: pytest.TempPathFactory) -> Any:
    """What ``make postman`` writes for the running stack."""
    place = tmp_path_factory.mktemp("postman")
    stackfile.write(place / "stack.json", stack)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(stackfile.VARIABLE, str(place / "stack.json"))
        for name, value in stack["environment"].items():
            patch.setenv(name, value)
        written, _ = write(place)
    return json.loads(written.read_text("utf-8"))


def requests_of(collection: Any) -> Iterator[tuple[str, Any]]:
    for folder in collection["item"]:
        for item in folder["item"]:
            yield f"{folder['name']}: {item['name']}", item


def filled_in(text: str, variables: Mapping[str, str]) -> str:
    """A text with Postman's variables replaced by their values."""
    return re.sub(r"\{\{(.+?)\}\}", lambda found: new_uuid() if found[1] == "$guid" else variables[found[1]], text)


def send(item: Any, variables: Mapping[str, str]) -> requests.Response:
    asked = item["request"]
    query = [
        (each["key"], filled_in(each["value"], variables)) for each in asked["url"]["query"] if "disabled" not in each
    ]
    with requests.Session() as session:
        session.trust_env = False
        return session.request(
            asked["method"],
            filled_in(asked["url"]["raw"].partition("?")[0], variables),
            params=query,
            headers={each["key"]: filled_in(each["value"], variables) for each in asked["header"]},
            data=filled_in(asked.get("body", {}).get("raw", ""), variables).encode(),
            allow_redirects=False,
            timeout=PATIENCE_SECONDS,
        )


def test_every_request_of_the_collection_is_answered_as_its_test_says(collection: Any) -> None:
    variables = {each["key"]: each["value"] for each in collection["variable"]}
    wrong = []
    for name, item in requests_of(collection):
        test, *further = item["event"][0]["script"]["exec"]
        answer = send(item, variables)
        if f"have.status({answer.status_code})" not in test or not succeeds(answer, further, variables):
            wrong.append(f"{name}: {answer.status_code} {answer.text}")

    assert wrong == []


def succeeds(answer: requests.Response, script: Sequence[str], variables: dict[str, str]) -> bool:
    """Do what a request's further script does: look at ``status``, and keep what later requests name."""
    for line in script:
        if 'json().status).to.eql("success")' in line and answer.json()["status"] != "success":
            return False
        for name, way in re.findall(r'collectionVariables\.set\("(.+?)", pm\.response\.json\(\)\.(.+?)\)', line):
            variables[name] = str(reduce(member, re.findall(r"\w+", way), answer.json()))
    return True


def member(found: Any, name: str) -> Any:
    """What JavaScript finds at ``found.name``, or at ``found[0]``."""
    return found[int(name)] if isinstance(found, list) else found[name]


def test_the_collection_has_every_action_of_the_card_api(collection: Any) -> None:
    (folder,) = [folder for folder in collection["item"] if folder["name"] == "Cards"]
    asked = [json.loads(item["request"]["body"]["raw"]) for item in folder["item"]]

    assert {body["action"] for body in asked} == ACTIONS.keys() | SIMULATOR_ACTIONS.keys()
    assert {body["request_reference_id"] for body in asked} == {"{{$guid}}"}


def test_the_collection_has_every_call_of_both_banks(collection: Any) -> None:
    every: tuple[RelayedCall | PaymentCall, ...] = (*RELAYED, *PAYMENTS)
    for version, folder in ((1, collection["item"][1]), (2, collection["item"][3])):
        paths = {"/" + "/".join(item["request"]["url"]["path"]) for item in folder["item"]}
        calls = [call for call in every if VERSIONS[version].webhook(call)]

        assert {call.path for call in calls} <= paths


def test_the_collection_has_a_call_that_is_answered_later_and_reads_its_outcome(collection: Any) -> None:
    for version, folder in ((1, collection["item"][1]), (2, collection["item"][3])):
        asked = [item["request"] for item in folder["item"]]
        headers = {each["key"]: each["value"] for request in asked for each in request["header"]}

        assert headers["Prefer"] == "respond-async"
        assert f"{{{{base_url}}}}/tpp/requests/{{{{request_id_{version}}}}}" in {each["url"]["raw"] for each in asked}


def test_a_tpps_requests_hold_no_credential_that_is_not_a_variable(collection: Any) -> None:
    secrets = {each["value"] for each in collection["variable"] if re.search("token|key|access_api", each["key"])}
    text = json.dumps([collection["item"][1], collection["item"][3], collection["item"][5]])

    assert [secret for secret in secrets if secret in text] == []
