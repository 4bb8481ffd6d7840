"""Benchmarks: processor time, latency and throughput of the service, compared with a minimal client and with boto3."""
