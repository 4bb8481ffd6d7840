"""The program with all its commands; running one command builds only the parts that it needs."""

from __future__ import annotations

from infra.admin.builder import build_program

program = build_program()
