"""Set-ups of programme managers: programmes, credentials, groups."""
