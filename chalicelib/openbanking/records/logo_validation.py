"""Validation of an uploaded logo by its content: PNG, JPEG, or an SVG drawing without external references."""

from __future__ import annotations

from chalicelib.openbanking.records.bank_logos import LOGO_BYTES, Logo
from chalicelib.openbanking.records.bank_record import InvalidBank
from chalicelib.openbanking.records.raster_logos import JPEG, PNG, check_jpeg, clean_png
from chalicelib.openbanking.records.svg_logos import check_svg


def read_logo(content: bytes) -> Logo:
    """Check a logo and determine its media type. Data that browsers do not need is removed. Raises: InvalidBank."""
    if not 0 < len(content) <= LOGO_BYTES:
        raise InvalidBank(f"a logo must have 1 to {LOGO_BYTES} bytes; this one has {len(content)}")
    if content.startswith(PNG):
        return Logo(clean_png(content), "image/png")
    if content.startswith(JPEG):
        check_jpeg(content)
        return Logo(content, "image/jpeg")
    check_svg(content)
    return Logo(content, "image/svg+xml")
