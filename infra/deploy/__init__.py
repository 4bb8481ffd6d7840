"""Deploys a stage to AWS: the template of its resources, its packages, and its CloudFormation stack."""
