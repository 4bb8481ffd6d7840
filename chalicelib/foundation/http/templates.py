"""Templates of pages: escaped, strict about what is missing, and loaded when the first page is asked for."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from jinja2 import Environment


@dataclass(frozen=True)
class Templates:
    """The templates in some folders, the first of which wins; ``filters`` by the names that templates use."""

    folders: Sequence[Path]
    filters: Mapping[str, Callable[..., Any]] = field(default_factory=dict)

    def render(self, template: str, /, **context: Any) -> str:
        """The text of a page. Raises: jinja2.UndefinedError, for a value that the template needs and was not given."""
        return self._environment.get_template(template).render(**context)

    def load(self) -> None:
        """Load every template now, so that no visitor waits for it."""
        for name in self._environment.list_templates():
            self._environment.get_template(name)

    @cached_property
    def _environment(self) -> Environment:
        from jinja2 import Environment, FileSystemLoader, StrictUndefined  # few requests need templates

        environment = Environment(
            loader=FileSystemLoader(self.folders),
            autoescape=True,
            undefined=StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
            auto_reload=False,
        )
        environment.filters.update(self.filters)
        return environment
