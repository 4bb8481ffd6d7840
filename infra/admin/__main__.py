"""Entry point of ``.venv/bin/python -m infra.admin``."""

import logging

from infra import command


def main() -> None:
    """Run the program. The import is deferred so that Ctrl-C during start-up prints one line, not a traceback."""
    from infra.admin.commands import program

    logging.disable()  # standard output may have to be a single JSON document
    program(prog_name=f"{command.PYTHON} -m infra.admin")


if __name__ == "__main__":
    command.run(main)
