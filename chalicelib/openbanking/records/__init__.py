"""One record and its rules per module; partition keys are spelled only here."""
