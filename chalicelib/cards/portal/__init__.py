"""The portal: card pages of the web interface for programme managers' staff."""
