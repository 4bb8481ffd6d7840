"""Measurements: processor time beside a floor and a script with boto3, latency, and throughput."""
