"""Renders the OpenAPI documents and the pages of ``/docs`` to ``chalicelib/website/rendered`` if their sources have
changed.

The folder is ignored by Git, but packages contain it.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Mapping

from infra import command
from infra.render import rendered_folder


def main(arguments: list[str] | None = None) -> int:
    """Run the command. Returns the exit code."""
    parser = command.parser("infra.render", __doc__)
    parser.add_argument(
        "--sources", action="store_true", help="write the SDK's generated modules and the tables of documents first"
    )
    parser.add_argument("--end-with-stdin", action="store_true", help="stop when standard input closes")
    options = parser.parse_args(arguments)
    if options.end_with_stdin:
        from infra.local.process import exit_with_parent

        exit_with_parent()
    if options.sources:
        from infra.render.docs import inserted_tables
        from infra.render.sdk import __main__ as sdk

        sdk.main([])
        inserted_tables.update()
    begun = time.monotonic()
    if rendered_folder.update(build):
        print(f"Rendered the documents in {time.monotonic() - begun:.1f} s", file=sys.stderr)
    return 0


def build() -> Mapping[str, str]:
    from infra.render.files import texts  # imports much: the usual run only compares fingerprints

    return texts()


if __name__ == "__main__":
    command.run(main)
