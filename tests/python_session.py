"""A session of Python that tests type into: each line on its input has it run the file that the line names.

After each, it prints a line with its first argument and an exit code. Names live until the end of the session.
"""

from __future__ import annotations

import sys
import traceback
from pathlib import Path
from typing import Any


def main(ended: str) -> None:
    names: dict[str, Any] = {"__name__": "__main__"}
    for line in sys.stdin:
        file, code = Path(line.strip()), 0
        try:
            exec(compile(file.read_text("utf-8"), file.name, "exec"), names)  # noqa: S102 - our own document
        except Exception:
            traceback.print_exc()
            code = 1
        print(f"\n{ended} {code}", flush=True)


if __name__ == "__main__":
    main(sys.argv[1])
