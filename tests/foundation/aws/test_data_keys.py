"""Data keys have 256 bits. Each data key is bound to its purpose."""

import boto3
import pytest
from botocore.exceptions import ClientError

from chalicelib.foundation.aws.data_keys import Kms

pytestmark = pytest.mark.usefixtures("resources")
ALIAS = "alias/causeway-local"


def test_a_data_key_has_256_bits_and_is_unwrapped_by_the_same_kms_key() -> None:
    kms = Kms(ALIAS)
    plain, wrapped = kms.generate_data_key()

    assert len(plain) == 32
    assert plain not in wrapped
    assert Kms(ALIAS).unwrap(wrapped) == plain


def test_a_data_key_cannot_be_unwrapped_for_another_purpose() -> None:
    _, wrapped = Kms(ALIAS).generate_data_key()

    with pytest.raises(ClientError):
        boto3.client("kms").decrypt(CiphertextBlob=wrapped, EncryptionContext={"purpose": "another"})
