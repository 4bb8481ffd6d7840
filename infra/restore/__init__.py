"""What is inconsistent across tables that were restored one by one."""
