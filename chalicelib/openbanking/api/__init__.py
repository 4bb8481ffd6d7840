"""HTTP endpoints for TPPs, OAuth clients and banks."""
