"""BICs (ISO 9362): 8 characters mean the head office of a bank, as the branch code ``XXX`` does."""

from __future__ import annotations

HEAD_OFFICE = "XXX"
_SHORT, _LONG = 8, 11


def spellings(bic: str) -> tuple[str, ...]:
    """The equivalent forms of a BIC, first the given one; empty for an invalid BIC."""
    if len(bic) not in (_SHORT, _LONG):
        return ()
    if len(bic) == _SHORT:
        return bic, f"{bic}{HEAD_OFFICE}"
    return (bic, bic[:_SHORT]) if bic.endswith(HEAD_OFFICE) else (bic,)


def is_same_bank(bic: str, other: str) -> bool:
    """Whether two BICs name the same bank."""
    return other in spellings(bic)
