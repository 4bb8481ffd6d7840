"""The portal: programme managers' people in the web interface."""
