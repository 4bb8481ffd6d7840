"""The repository's own CloudFormation template, as tests read it."""

from __future__ import annotations

from infra.deploy import template
from infra.deploy.template import Template


def for_stage(stage: str) -> Template:
    """The template with its parameters filled in for one stage."""
    return Template(template.load(), Stage=stage)
