"""Starts the one-machine stack: ``.venv/bin/python -m infra.local``."""

from infra import command


def main() -> int:
    """Run the stack. The import is deferred so that Ctrl-C during the import prints one line, not a traceback."""
    from infra.local import stack

    return stack.main()


if __name__ == "__main__":
    command.run(main)
