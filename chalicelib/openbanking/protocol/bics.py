"""BICs (ISO 9362). A BIC of 8 characters denotes the bank's head office, as does the same BIC with the branch code
``XXX``.
"""

from __future__ import annotations

HEAD_OFFICE = "XXX"
_SHORT, _LONG = 8, 11


def spellings(bic: str) -> tuple[str, ...]:
    """Return the equivalent forms of a BIC, beginning with the given form. The result is empty for an invalid BIC."""
    if len(bic) not in (_SHORT, _LONG):
        return ()
    if len(bic) == _SHORT:
        return bic, f"{bic}{HEAD_OFFICE}"
    return (bic, bic[:_SHORT]) if bic.endswith(HEAD_OFFICE) else (bic,)


def is_same_bank(bic: str, other: str) -> bool:
    """Whether two BICs name the same bank."""
    return other in spellings(bic)
