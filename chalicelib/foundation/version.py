"""The version of this release, which applies to the service, its commands, and the Python package in ``sdk/``."""

VERSION = "1.0.0"
"""The version number. ``make release`` writes it to this module and to ``sdk/src/causeway/__init__.py``, because the
package is installed without the service.
"""
USER_AGENT = f"Causeway/{VERSION}"
"""The ``User-Agent`` of all requests to banks, receivers of events, clients' key sets, and AWS."""
