"""The version of this release: of the service, its commands, and the Python package in ``sdk/``."""

VERSION = "1.0.0"
"""``make release`` writes it, here and in ``sdk/src/causeway/__init__.py``, which is installed without the service."""
USER_AGENT = f"Causeway/{VERSION}"
"""The ``User-Agent`` of all requests to banks, receivers of events, clients' key sets, and AWS."""
