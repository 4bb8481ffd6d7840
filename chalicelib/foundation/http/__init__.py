"""HTTP in both directions: views and pages at the edge, and calls to other parties."""
