"""The operator's command line: banks, clients, keys and users of one stage."""
