"""Deploys a stage to AWS: one template of application and resources, its packages, and its stack."""
