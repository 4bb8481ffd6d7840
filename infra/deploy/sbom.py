"""The bill of materials of a stage: the packages of its layer and its function, in CycloneDX format."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path

from cyclonedx.model.bom import Bom
from cyclonedx.model.component import Component, ComponentType
from cyclonedx.output import make_outputter
from cyclonedx.schema import OutputFormat, SchemaVersion
from packageurl import PackageURL

from infra.deploy.lock import Pin

NAME = "sbom.json"


def write(pins: Iterable[Pin], version: str, folder: Path) -> Path:
    """Write the bill of materials of the application's ``version``. Equal packages yield identical files."""
    bom = Bom()
    application = Component(name="causeway", version=version, type=ComponentType.APPLICATION, bom_ref="causeway")
    bom.metadata.component = application
    bom.components.update(_component(pin) for pin in pins)
    bom.register_dependency(application, bom.components)
    document = json.loads(make_outputter(bom, OutputFormat.JSON, SchemaVersion.V1_6).output_as_string())
    del document["serialNumber"], document["metadata"]["timestamp"]
    file = folder / NAME
    file.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")
    return file


def _component(pin: Pin) -> Component:
    address = PackageURL("pypi", None, pin.name, pin.version)
    return Component(
        name=pin.name, version=pin.version, type=ComponentType.LIBRARY, purl=address, bom_ref=address.to_string()
    )
