"""The program with all its commands. Running a command builds only the required parts."""

from __future__ import annotations

from infra.admin.builder import build_program

program = build_program()
