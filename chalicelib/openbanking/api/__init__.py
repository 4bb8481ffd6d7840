"""HTTP for TPPs, OAuth clients and banks."""
