"""One record and its rules in each module; partition keys are spelled here only."""
