"""The shape of the code: figures that may only fall, and what each of them counts."""
