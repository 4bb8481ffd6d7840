"""Programme managers' set-ups as files: what a file may say, and how a stage comes to hold what it says."""
