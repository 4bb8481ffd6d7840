"""Card verification values and PIN verification values, as defined by the card schemes.

Both computations encrypt a few digits with triple DES under the issuer's double-length key and take decimal digits from
the result. Mastercard's CVC2 and Visa's CVV2 are computed in the same way.
"""

from __future__ import annotations

from itertools import islice

from cryptography.hazmat.decrepit.ciphers.algorithms import TripleDES
from cryptography.hazmat.primitives.ciphers import Cipher, modes

KEY_BYTES = 16
"""The length in bytes of a double-length DES key, which consists of a left half and a right half."""
_SERVICE_CODE = "000"
"""The service code for printed values, which do not appear on a track."""
_BLOCKS_DIGITS = 32


def cvc2(cvk: bytes, pan: str, year: int, month: int) -> str:
    """Return the three digits on a card that expires at the end of ``month`` (1 to 12) of ``year`` (four digits).

    The expiry date has the format YYMM, as on the tracks and for CVC1 and CVV1. The service code is 000. (The schemes
    also permit MMYY, but every verifier must use the same order.)
    """
    return card_verification_value(cvk, pan, f"{year % 100:02}{month:02}", _SERVICE_CODE)


def card_verification_value(cvk: bytes, pan: str, expiry: str, service_code: str) -> str:
    """Return a CVC or CVV of any kind.

    ``expiry`` has four digits in the issuer's order. ``service_code`` has three digits.
    """
    digits = f"{pan}{expiry}{service_code}".ljust(_BLOCKS_DIGITS, "0")
    first, second = bytes.fromhex(digits[:16]), bytes.fromhex(digits[16:])
    left = cvk[:8]
    halfway = _encrypt_block(left + left, first)  # equal halves: single DES
    mixed = bytes(one ^ other for one, other in zip(halfway, second, strict=True))
    return decimal_digits(_encrypt_block(cvk, mixed), 3)


def pvv(pvk: bytes, pan: str, pin: str, index: int = 1) -> str:
    """Return the four-digit Visa PIN verification value (PVV) of a four-digit PIN.

    The PVV is computed from the eleven digits before the card number's check digit, the key ``index`` (PVKI, 1 to 6)
    and the PIN. About one in ten thousand other PINs has the same PVV.
    """
    return decimal_digits(_encrypt_block(pvk, bytes.fromhex(f"{pan[-12:-1]}{index}{pin}")), 4)


def _encrypt_block(key: bytes, block: bytes) -> bytes:
    cipher = Cipher(TripleDES(key + key[:8]), modes.ECB())  # noqa: S305 - there is one block only
    encryptor = cipher.encryptor()
    return encryptor.update(block) + encryptor.finalize()


def decimal_digits(block: bytes, count: int) -> str:
    """Return the first ``count`` decimal digits of the hexadecimal block.

    If the block has fewer decimal digits, its letters are converted to digits (A becomes 0) and appended.
    """
    text = block.hex()
    decimal = (digit for digit in text if digit.isdigit())
    others = (str(int(digit, 16) - 10) for digit in text if not digit.isdigit())
    return "".join(islice((*decimal, *others), count))
