"""The open banking hub: between third-party providers (TPPs) and banks (ASPSPs)."""
