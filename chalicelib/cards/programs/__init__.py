"""Programme manager configuration: programmes, credentials, groups."""
