"""Distinguished names as text (RFC 4514) in a canonical form, for comparison and as keys."""

from __future__ import annotations

from typing import Any

from cryptography.x509 import Name, NameAttribute, ObjectIdentifier, RelativeDistinguishedName

_TYPE_NAMES = {
    "2.5.4.3": ("CN",),
    "2.5.4.6": ("C",),
    "2.5.4.7": ("L",),
    "2.5.4.8": ("ST",),
    "2.5.4.9": ("STREET",),
    "2.5.4.10": ("O",),
    "2.5.4.11": ("OU",),
    "0.9.2342.19200300.100.1.1": ("UID",),
    "0.9.2342.19200300.100.1.25": ("DC",),
    "2.5.4.4": ("SN", "SURNAME"),
    "2.5.4.5": ("SERIALNUMBER",),
    "2.5.4.12": ("TITLE",),
    "2.5.4.15": ("BUSINESSCATEGORY",),
    "2.5.4.17": ("POSTALCODE",),
    "2.5.4.42": ("GN", "GIVENNAME"),
    "2.5.4.97": ("ORGANIZATIONIDENTIFIER",),
    "1.2.840.113549.1.9.1": ("E", "EMAILADDRESS"),
    "1.3.6.1.4.1.311.60.2.1.1": ("JURISDICTIONL", "JURISDICTIONLOCALITYNAME"),
    "1.3.6.1.4.1.311.60.2.1.2": ("JURISDICTIONST", "JURISDICTIONSTATEORPROVINCENAME"),
    "1.3.6.1.4.1.311.60.2.1.3": ("JURISDICTIONC", "JURISDICTIONCOUNTRYNAME"),
}
"""The names of the attribute types in RFC 4514, section 3, followed by names that programs write for other types."""
_TEXT_TAGS = ("\x0c", "\x13", "\x16")
"""The DER tags UTF8String, PrintableString and IA5String."""


class InvalidName(ValueError):
    """The text is not a distinguished name of RFC 4514, or is empty."""


class _AnyCase(dict[str, ObjectIdentifier]):
    def get(self, key: str, default: Any = None) -> Any:
        return super().get(key.upper(), default)


_TYPES = _AnyCase({name: ObjectIdentifier(number) for number, names in _TYPE_NAMES.items() for name in names})


def normalize_name(name: str) -> str:
    """Convert a name to its canonical form: attribute types as in RFC 4514, values without unnecessary escapes.

    The order of attributes is unchanged, except that attributes joined by ``+`` are sorted alphabetically, because
    their order has no meaning.

    Raises: InvalidName.
    """
    return ",".join(split_name(name))


def split_name(name: str) -> list[str]:
    """Return the attributes of a normalised name in order. Raises: InvalidName."""
    try:
        parsed = Name.from_rfc4514_string(name, _TYPES)
        parts = [_normalize(part).rfc4514_string() for part in reversed(parsed.rdns)]
    except (ValueError, TypeError):
        parts = []
    if not parts:
        raise InvalidName(f"{name!r} is not a distinguished name such as CN=TPP,O=Example,C=GB")
    return parts


def _normalize(part: RelativeDistinguishedName) -> RelativeDistinguishedName:
    attributes = [NameAttribute(each.oid, _decode_text(str(each.value))) for each in part]
    return RelativeDistinguishedName(sorted(attributes, key=lambda each: each.rfc4514_string()))


def _decode_text(value: str) -> str:
    """Return the text of a value in hexadecimal DER (``#…``, RFC 4514, section 2.4), the notation of Java."""
    is_der = value[:1] in _TEXT_TAGS and len(value) > 1 and ord(value[1]) == len(value[2:].encode()) < 128
    return value[2:] if is_der else value
