"""Calls of AWS without boto3's clients, which took a third of a cold start and repeat calls unseen.

``calls`` is the one way to AWS; botocore finds unusual credentials and endpoints. SES and S3, which few
functions call, have a client of boto3 (see ``boto3_clients``).
"""
