"""The guide uses the versions of packages that are tested."""

import re

from tests.generators.tools import VERSIONS
from tests.kit.documents import DOCUMENTS


def test_the_guide_installs_the_tested_versions() -> None:
    found = re.findall(r"([\w/-]+)@([\d.]+)", DOCUMENTS["docs/guides/typescript.md"])

    assert len(found) == 3
    assert {name: VERSIONS[name] for name, _ in found} == dict(found)
