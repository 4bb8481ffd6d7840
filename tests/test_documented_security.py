"""The reference of the security profile names tests that exist, and the concept gives the code's numbers."""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import requests
from urllib3 import HTTPResponse

from chalicelib.openbanking.oauth import key_sets
from chalicelib.openbanking.protocol import oauth_security
from chalicelib.openbanking.protocol.oauth_security import SIGNING_ALGORITHMS
from chalicelib.openbanking.protocol.psd2_certificates import ROLES_BY_SERVICE
from chalicelib.openbanking.records.authorization_requests import LIFETIME
from infra.render.docs.fapi_clauses import PARTS, Clause
from tests.documents import CLIENT_SECURITY, ROOT, blocks, named, reference, rows, section

CLAUSES = [clause for part in PARTS for clause in part.clauses]
ALL = " ".join(CLIENT_SECURITY.split())


@cache
def names_of_tests(file: Path) -> frozenset[str]:
    """The names of the tests in a file."""
    found = ast.walk(ast.parse(file.read_text("utf-8")))
    return frozenset(node.name for node in found if isinstance(node, ast.FunctionDef) and node.name.startswith("test_"))


@pytest.mark.parametrize("clause", CLAUSES, ids=lambda clause: clause.number)
def test_every_clause_is_shown_by_tests_that_exist(clause: Clause) -> None:
    assert clause.tests
    for test in clause.tests:
        file, _, name = test.partition("::")
        assert name in names_of_tests(ROOT / "tests" / file), test


def test_every_clause_for_servers_is_listed() -> None:
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
        f"after {LIFETIME // 60} minutes at the latest",
        f"at most {key_sets.MAX_KEY_SET_BYTES // 1024} KiB within {key_sets.FETCH_SECONDS:.0f} s",
        f"at most once in {key_sets.MIN_REFETCH_SECONDS} s",
    ],
)
def test_the_numbers_of_client_security_are_the_codes(words: str) -> None:
    assert words in ALL


def test_a_client_that_renames_the_challenge_back_finds_it() -> None:
    (example,) = blocks(CLIENT_SECURITY, "python")
    names: dict[str, Any] = {}
    exec(compile(example, "docs/concepts/client-security.md", "exec"), names)  # noqa: S102 - our own document
    request = requests.Request("GET", "https://causeway.example/tpp/consent").prepare()
    renamed = {"x-amzn-remapped-www-authenticate": 'DPoP error="use_dpop_nonce"'}

    response = names["RestoredChallenge"]().build_response(request, HTTPResponse(headers=renamed, status=401))

    assert response.headers["WWW-Authenticate"] == 'DPoP error="use_dpop_nonce"'


def test_the_roles_of_psd2_certificates_are_the_codes() -> None:
    found = {row[0].partition(":")[0]: row[1] for row in rows(section(CLIENT_SECURITY, "### PSD2 certificates"))[2:]}

    assert found == dict(ROLES_BY_SERVICE)


@pytest.mark.usefixtures("rendered")
def test_every_algorithm_and_every_method_is_documented() -> None:
    profile = reference("security-profile")
    methods = [row[0] for row in rows(section(CLIENT_SECURITY, "## Client authentication"))[2:7]]

    assert methods == ["none", "client_secret_basic", "client_secret_post", "private_key_jwt", "tls_client_auth"]
    assert all(named(profile, algorithm) for algorithm in SIGNING_ALGORITHMS)
