"""``.venv/bin/python -m infra.postman``."""

from infra import command


def main() -> int:
    """The command; imported here, so that Ctrl-C is one line from the first moment."""
    from infra.postman import write

    return write.main()


if __name__ == "__main__":
    command.run(main)
