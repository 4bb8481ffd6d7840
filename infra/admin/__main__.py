"""``.venv/bin/python -m infra.admin``."""

import logging

from infra import command


def main() -> None:
    """Run the program; the late import lets Ctrl-C print one line from the first moment."""
    from infra.admin.commands import program

    logging.disable()  # the commands speak for themselves, and standard output may have to be one JSON document
    program(prog_name=f"{command.PYTHON} -m infra.admin")


if __name__ == "__main__":
    command.run(main)
