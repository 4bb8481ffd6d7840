"""The open banking hub, which connects third-party providers (TPPs) with banks (ASPSPs)."""
