"""HTTP in both directions: incoming requests and pages, and calls to other parties."""
