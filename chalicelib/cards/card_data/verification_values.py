"""Card verification values and PIN verification values, computed as the card schemes define them.

Both take a few digits, encipher them with triple DES under a double-length key of the issuer, and pick decimal digits
from the result. Mastercard's CVC2 and Visa's CVV2 are the same computation.
"""

from __future__ import annotations

from itertools import islice

from cryptography.hazmat.decrepit.ciphers.algorithms import TripleDES
from cryptography.hazmat.primitives.ciphers import Cipher, modes

KEY_BYTES = 16
"""A double-length DES key: its left half, then its right half."""
_SERVICE_CODE = "000"
"""What the computation takes for a service code when the value is one that is printed, and in no track."""
_BLOCKS_DIGITS = 32


def cvc2(cvk: bytes, pan: str, year: int, month: int) -> str:
    """The three digits printed on the card that expires at the end of ``month`` (1 to 12) of ``year`` (four digits).

    The expiry date goes in as YYMM, the order that it has in the tracks and in the computation of CVC1 and CVV1, with
    the service code 000. (The schemes leave issuers free to use MMYY; every verifier has to use the same.)
    """
    return card_verification_value(cvk, pan, f"{year % 100:02}{month:02}", _SERVICE_CODE)


def card_verification_value(cvk: bytes, pan: str, expiry: str, service_code: str) -> str:
    """The CVC or CVV of any kind: ``expiry`` four digits in the issuer's order, ``service_code`` three."""
    digits = f"{pan}{expiry}{service_code}".ljust(_BLOCKS_DIGITS, "0")
    first, second = bytes.fromhex(digits[:16]), bytes.fromhex(digits[16:])
    left = cvk[:8]
    halfway = _encrypt_block(left + left, first)  # equal halves: single DES
    mixed = bytes(one ^ other for one, other in zip(halfway, second, strict=True))
    return _decimal_digits(_encrypt_block(cvk, mixed), 3)


def pvv(pvk: bytes, pan: str, pin: str, index: int = 1) -> str:
    """The Visa PIN verification value, four digits, of a PIN of four digits.

    It is computed from the last eleven digits of the card number before its check digit, the ``index`` of the key
    (PVKI, 1 to 6) and the PIN. About one in ten thousand other PINs has the same value.
    """
    return _decimal_digits(_encrypt_block(pvk, bytes.fromhex(f"{pan[-12:-1]}{index}{pin}")), 4)


def _encrypt_block(key: bytes, block: bytes) -> bytes:
    """One block of eight bytes under a double-length key."""
    cipher = Cipher(TripleDES(key + key[:8]), modes.ECB())  # noqa: S305 - there is one block only
    encryptor = cipher.encryptor()
    return encryptor.update(block) + encryptor.finalize()


def _decimal_digits(block: bytes, count: int) -> str:
    """The first decimal digits among the hexadecimal ones; if they do not suffice, then A as 0, B as 1 and so on."""
    text = block.hex()
    decimal = (digit for digit in text if digit.isdigit())
    others = (str(int(digit, 16) - 10) for digit in text if not digit.isdigit())
    return "".join(islice((*decimal, *others), count))
