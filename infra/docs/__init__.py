"""The reference in ``docs/reference``, made of the tables and documents that the service itself follows."""
