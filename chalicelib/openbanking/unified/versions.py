"""The tables of the unified API, by version of the bank protocol. To add a version, add its tables here."""

from __future__ import annotations

from collections.abc import Mapping

from chalicelib.openbanking.unified import v1_tables, v2_tables
from chalicelib.openbanking.unified.tables import UnifiedVersion

UNIFIED_VERSIONS: Mapping[int, UnifiedVersion] = {1: v1_tables.UNIFIED, 2: v2_tables.UNIFIED}
