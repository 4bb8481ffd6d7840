"""The software bill of materials lists every package of a stage and is reproducible."""

import json
from pathlib import Path

from infra.deploy import sbom
from infra.deploy.lock import Pin

PINS = [Pin("pydantic", "2.14.3", None, frozenset()), Pin("boto3", "1.44.5", None, frozenset())]


def test_the_sbom_lists_every_package_with_its_version(tmp_path: Path) -> None:
    document = json.loads(sbom.write(PINS, "0.1.0", tmp_path).read_text("utf-8"))

    assert (document["bomFormat"], document["specVersion"]) == ("CycloneDX", "1.6")
    assert document["metadata"]["component"] == {
        "bom-ref": "causeway",
        "name": "causeway",
        "type": "application",
        "version": "0.1.0",
    }
    assert [each["purl"] for each in document["components"]] == ["pkg:pypi/boto3@1.44.5", "pkg:pypi/pydantic@2.14.3"]


def test_identical_packages_produce_an_identical_sbom(tmp_path: Path) -> None:
    first = sbom.write(PINS, "0.1.0", tmp_path).read_bytes()

    assert sbom.write(PINS, "0.1.0", tmp_path).read_bytes() == first
