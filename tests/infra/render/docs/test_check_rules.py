"""Every rule in the table of checks links to an existing section."""

import pytest

from chalicelib.openbanking.protocol.version import Version
from chalicelib.openbanking.protocol.versions import VERSIONS
from infra.conformance.checks import checks_of
from infra.render.docs.apis import anchor
from infra.render.docs.check_rules import section_of
from infra.render.docs.sources import source_of


@pytest.mark.parametrize("version", VERSIONS.values(), ids=str)
def test_the_documentation_section_of_every_check_rule_exists(version: Version) -> None:
    rules = {rule for check in checks_of(version) for rule in check.paragraph.split("; ")}
    missing = {rule: section_of(rule, version) for rule in rules if not is_section(section_of(rule, version))}

    assert missing == {}


def is_section(place: str) -> bool:
    page, _, wanted = place.partition("#")
    lines = source_of(page.removesuffix(".md")).splitlines()
    return wanted in {anchor(line.lstrip("# ")) for line in lines if line.startswith("#")}


@pytest.mark.parametrize(
    ("rule", "section"),
    [
        ("Specification, Authentication: X-Signature", "concepts/bank-integration.md#signatures"),
        ("Specification, Authentication: X-Api-Key", "concepts/bank-integration.md#headers"),
        ("Bank integration: Answers, Address", "concepts/bank-integration.md#answers"),
        ("Specification, Enumerations: balance_type", "reference/bank-api-v2.md#webhooks-to-the-bank"),
    ],
)
def test_a_check_rule_links_to_the_documentation_section_that_explains_the_rule(rule: str, section: str) -> None:
    assert section_of(rule, VERSIONS[2]) == section
