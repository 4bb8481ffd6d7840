"""The reference in ``docs/reference``, generated from the service's own tables and documents."""
