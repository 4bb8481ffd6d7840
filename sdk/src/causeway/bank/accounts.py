"""The type of an account in version 1 or version 2."""

from __future__ import annotations

from causeway.bank._generated.models_v1 import AccountV1
from causeway.bank._generated.models_v2 import AccountReferenceV2

Account = AccountV1 | AccountReferenceV2
"""The type of the accounts that the function ``accounts`` returns."""
