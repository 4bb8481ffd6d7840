"""The operator's command line for the banks, clients, keys and users of a stage."""
