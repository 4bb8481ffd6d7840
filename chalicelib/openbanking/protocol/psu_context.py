"""The PSU's headers: what a TPP tells the bank about the PSU's device and connection (Berlin Group, NextGenPSD2)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import Any, Self

from chalicelib.foundation.lazy_dataclasses import dataclass

ADDRESS = "PSU-IP-Address"


@dataclass(frozen=True, slots=True)
class PsuContext:
    """The PSU's ``headers`` in a request, by name; personal data, which must not be logged."""

    headers: Mapping[str, str] = field(default_factory=dict, repr=False)

    def as_members(self) -> dict[str, Any]:
        """The members of a stored call."""
        return {"psu_headers": dict(self.headers)}

    @classmethod
    def from_members(cls, members: Mapping[str, Any]) -> Self:
        """Read a stored call; those stored by earlier versions of the service have only the address."""
        if "psu_headers" in members:
            return cls(members["psu_headers"])
        address = members.get("psu_address")
        return cls({ADDRESS: address} if address else {})


UNATTENDED = PsuContext()
"""No PSU is present."""
