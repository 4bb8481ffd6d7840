"""Generation and decryption of KMS data keys."""

from __future__ import annotations

import base64

from chalicelib.foundation.aws.calls import send_twice

_PURPOSE = {"purpose": "causeway-data-key"}


class Kms:
    """Generates and unwraps data keys with one KMS key."""

    def __init__(self, key_id: str) -> None:
        self._key_id = key_id

    def generate_data_key(self) -> tuple[bytes, bytes]:
        """Generate a 256-bit key, in plaintext and wrapped. Raises: AwsError."""
        request = {"KeyId": self._key_id, "KeySpec": "AES_256", "EncryptionContext": _PURPOSE}
        answer = send_twice("kms", "GenerateDataKey", request)
        return base64.b64decode(answer["Plaintext"]), base64.b64decode(answer["CiphertextBlob"])

    def unwrap(self, wrapped: bytes) -> bytes:
        """Decrypt a wrapped key. Raises: AwsError."""
        request = {"CiphertextBlob": base64.b64encode(wrapped).decode(), "EncryptionContext": _PURPOSE}
        return base64.b64decode(send_twice("kms", "Decrypt", request)["Plaintext"])
