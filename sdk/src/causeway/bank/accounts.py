"""The type of an account in either version."""

from __future__ import annotations

from causeway.bank._generated.models_v1 import AccountV1
from causeway.bank._generated.models_v2 import AccountReferenceV2

Account = AccountV1 | AccountReferenceV2
"""What the function ``accounts`` lists."""
