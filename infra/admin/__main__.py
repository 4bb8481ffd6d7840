"""``python -m infra.admin``."""

import logging

from infra.admin.commands import program

if __name__ == "__main__":
    logging.disable()  # the commands speak for themselves, and standard output may have to be one JSON document
    program(prog_name="python -m infra.admin")
