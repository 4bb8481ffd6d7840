"""AWS calls without boto3's clients, which take a third of a cold start and retry calls invisibly.

``calls`` sends all AWS calls. botocore finds unusual credentials and endpoints. SES and S3, which few functions call,
use boto3 clients (see ``boto3_clients``).
"""
