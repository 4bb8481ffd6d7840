"""AWS calls without boto3's clients. boto3 takes a third of a cold start, and its retries are invisible to the caller.

The module ``calls`` sends the AWS calls. botocore resolves uncommon configurations of credentials and endpoints. Calls
of SES and S3, which few functions need, use boto3 clients (see ``boto3_clients``).
"""
