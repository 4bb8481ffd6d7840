"""The deployment, rehearsed: Chalice's own code, against an emulator; and its zip files, in an empty environment."""
