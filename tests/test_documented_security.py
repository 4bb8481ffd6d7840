"""The security documents name existing tests, and the concept document states the numbers in the code."""

import ast
from functools import cache
from typing import Any, NamedTuple

import pytest
import requests
from urllib3 import HTTPResponse

from chalicelib.openbanking.oauth import key_sets
from chalicelib.openbanking.protocol import oauth_security
from chalicelib.openbanking.protocol.oauth_security import SIGNING_ALGORITHMS
from chalicelib.openbanking.protocol.scopes import ROLES_BY_SERVICE
from chalicelib.openbanking.records.authorization_requests import LIFETIME
from tests.kit.documents import CLIENT_SECURITY, DOCUMENTS, ROOT, blocks, named, rows, section, tables

PROFILE = DOCUMENTS["docs/concepts/security-profile.md"]
HEAD = ["Clause", "It demands", "How it holds", "Shown by"]
ALL = " ".join(CLIENT_SECURITY.split())


class Threat(NamedTuple):
    threat: str
    defence: str
    tests: str


class Clause(NamedTuple):
    number: str
    demand: str
    holds: str
    tests: str


def clauses() -> list[Clause]:
    heads_and_rows = [(head, content) for head, _, *content in tables(PROFILE)]
    assert all(head == HEAD for head, _ in heads_and_rows)
    return [Clause(*row) for _, content in heads_and_rows for row in content]


CLAUSES = clauses()


def threats() -> list[Threat]:
    found = tables(DOCUMENTS["docs/security.md"])
    return [Threat(*row) for head, _, *content in found if head == ["Threat", "Defence", "Tests"] for row in content]


THREATS = threats()


@cache
def collected_tests(file: str) -> frozenset[str]:
    path = ROOT / file
    assert path.is_relative_to(ROOT / "tests")
    assert path.name.startswith("test_")
    functions = (node.name for node in ast.parse(path.read_text("utf-8")).body if isinstance(node, ast.FunctionDef))
    return frozenset(name for name in functions if name.startswith("test_"))


@pytest.mark.parametrize("clause", CLAUSES, ids=lambda clause: clause.number)
def test_every_security_clause_in_the_docs_names_existing_tests(clause: Clause) -> None:
    assert clause.demand
    assert clause.holds
    for test in clause.tests.split(", "):
        file, _, name = test.partition("::")
        assert name in collected_tests(file), test


@pytest.mark.parametrize("row", THREATS, ids=lambda row: row.threat)
def test_every_defence_against_a_threat_in_the_docs_names_existing_tests(row: Threat) -> None:
    assert row.defence
    for test in row.tests.split(", "):
        file, _, name = test.partition("::")
        assert name in collected_tests(f"tests/{file}"), test


def test_every_trust_boundary_has_threats_and_all_stride_categories_occur() -> None:
    boundaries = section(DOCUMENTS["docs/security.md"], "## Boundaries").split("\n### ")[1:]

    assert len(boundaries) == 7
    assert all("| Threat | Defence | Tests |" in text for text in boundaries)
    assert {row.threat.partition(": ")[0] for row in THREATS} == set("STRIDE")


def test_docs_list_every_fapi_clause_that_applies_to_servers() -> None:
    numbers = {part.strip() for clause in CLAUSES for part in clause.number.split(",")}
    of_servers = {f"5.3.2.1-{number}" for number in range(1, 15)} | {f"5.3.4-{number}" for number in range(1, 6)}
    of_flows = {f"5.3.2.2-{number}" for number in range(1, 14) if number != 11} | {"11"}

    assert of_servers | of_flows <= numbers
    assert len({clause.number for clause in CLAUSES}) == len(CLAUSES)


@pytest.mark.parametrize(
    "words",
    [
        f"At most {oauth_security.ASSERTION_SECONDS} s ahead, and at most {oauth_security.PAST_SECONDS} s past",
        f"Less than {oauth_security.PROOF_SECONDS} s old",
        f"{oauth_security.FUTURE_SECONDS} s are accepted",
        f"`request_uri` | {oauth_security.REQUEST_URI_SECONDS} s until",
        f"{oauth_security.CODE_SECONDS} s in every stage",
        f"Up to {oauth_security.PROOF_SECONDS // 60} minutes",
        f"after at most {LIFETIME // 60} minutes",
        f"at most {key_sets.MAX_KEY_SET_BYTES // 1024} KiB within {key_sets.FETCH_SECONDS:.0f} s",
        f"at most once in {key_sets.MIN_REFETCH_SECONDS} s",
    ],
)
def test_docs_state_the_numbers_of_client_security(words: str) -> None:
    assert words in ALL


def test_the_client_example_restores_the_www_authenticate_header() -> None:
    (example,) = blocks(CLIENT_SECURITY, "python")
    names: dict[str, Any] = {}
    exec(compile(example, "docs/concepts/client-security.md", "exec"), names)  # noqa: S102 - our own document
    request = requests.Request("GET", "https://causeway.example/tpp/consent").prepare()
    renamed = {"x-amzn-remapped-www-authenticate": 'DPoP error="use_dpop_nonce"'}

    response = names["RestoredChallenge"]().build_response(request, HTTPResponse(headers=renamed, status=401))

    assert response.headers["WWW-Authenticate"] == 'DPoP error="use_dpop_nonce"'


def test_docs_list_the_psd2_role_of_each_service() -> None:
    found = {row[0].partition(":")[0]: row[1] for row in rows(section(CLIENT_SECURITY, "### PSD2 certificates"))[2:]}

    assert found == dict(ROLES_BY_SERVICE)


def test_docs_list_every_algorithm_and_authentication_method() -> None:
    methods = [row[0] for row in rows(section(CLIENT_SECURITY, "## Client authentication"))[2:7]]

    assert methods == ["none", "client_secret_basic", "client_secret_post", "private_key_jwt", "tls_client_auth"]
    assert all(named(PROFILE, algorithm) for algorithm in SIGNING_ALGORITHMS)
