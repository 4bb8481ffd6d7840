"""A request in the collection, and its Postman format."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

Json = dict[str, Any]


@dataclass(frozen=True, slots=True)
class PostmanRequest:
    """One request.

    Attributes:
        query, off: the enabled parameters with their values, and the names of the disabled ones.
        script: additional tests of the response, in JavaScript.
    """

    operation: Json
    method: str
    path: str
    headers: Mapping[str, str]
    query: Mapping[str, Any]
    off: tuple[str, ...] = ()
    body: str | None = None
    name: str = ""
    script: tuple[str, ...] = ()

    def item(self) -> Json:
        """The request in Postman's format, with a test of the status."""
        status = "202" if "Prefer" in self.headers else next(iter(self.operation["responses"]))
        sent = [{"key": name, "value": str(value)} for name, value in self.query.items()]
        left = [{"key": name, "value": "", "disabled": True} for name in self.off]
        asked = "&".join(f"{entry['key']}={entry['value']}" for entry in sent)
        request: Json = {
            "method": self.method,
            "description": self.operation["description"],
            "header": [{"key": name, "value": value} for name, value in self.headers.items()],
            "url": {
                "raw": f"{{{{base_url}}}}{self.path}" + (f"?{asked}" if asked else ""),
                "host": ["{{base_url}}"],
                "path": self.path.strip("/").split("/"),
                "query": [*sent, *left],
            },
        }
        if self.body is not None:
            request["body"] = {"mode": "raw", "raw": self.body, "options": {"raw": {"language": "json"}}}
        test = f'pm.test("the status is {status}", () => pm.response.to.have.status({status}));'
        return {
            "name": self.name or self.operation["summary"],
            "event": [{"listen": "test", "script": {"type": "text/javascript", "exec": [test, *self.script]}}],
            "protocolProfileBehavior": {"followRedirects": False},
            "request": request,
        }
