"""Entry point of ``.venv/bin/python -m infra.admin``."""

import logging
import sys

from infra import command


def main() -> None:
    """Run the program. The import is deferred so that Ctrl-C during start-up prints one line, not a traceback."""
    from infra.admin.builder import COMMANDS, build_program

    logging.disable()  # standard output may have to be a single JSON document
    asked = [word for word in sys.argv[1:2] if word in COMMANDS]
    program = build_program(asked or COMMANDS)
    program(prog_name=f"{command.PYTHON} -m infra.admin")


if __name__ == "__main__":
    command.run(main)
