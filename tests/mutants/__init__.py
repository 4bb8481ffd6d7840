"""Small defects in core modules, each of which the tests have to notice (``make mutants``)."""
