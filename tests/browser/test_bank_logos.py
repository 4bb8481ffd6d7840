"""Browsers render every accepted logo, including logos at the cost limit."""

import base64

import pytest
from playwright.sync_api import Browser

from chalicelib.openbanking.records.logo_validation import read_logo
from tests.browser.window import PATIENCE
from tests.openbanking.logos import USUAL, WORST_ACCEPTED, svg

pytestmark = pytest.mark.pages

_DRAW = """async ([address, size]) => {
  const image = new Image(size, size);
  image.src = address;
  await image.decode();
  document.body.replaceChildren(image);
  const canvas = new OffscreenCanvas(size, size).getContext("2d");
  canvas.drawImage(image, 0, 0, size, size);
  return canvas.getImageData(0, 0, size, size).data.some((value) => value > 0);
}"""
_SIZE = 128
"""The logo width in pixels: twice the width on the bank choice page, for screens with a pixel ratio of 2."""


@pytest.mark.parametrize("inside", [*USUAL.values(), *WORST_ACCEPTED.values()], ids=[*USUAL, *WORST_ACCEPTED])
def test_an_accepted_logo_is_rendered(browser: Browser, inside: str) -> None:
    logo = read_logo(svg(inside, 'viewBox="0 0 512 512"'))
    address = f"data:{logo.media_type};base64,{base64.b64encode(logo.content).decode()}"
    with browser.new_context() as context:
        page = context.new_page()
        page.set_default_timeout(PATIENCE)

        assert page.evaluate(_DRAW, [address, _SIZE])
        page.screenshot()
