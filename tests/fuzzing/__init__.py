"""Programs that send generated input: bytes to every parser, and requests to every operation of a running stack."""
