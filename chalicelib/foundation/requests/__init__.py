"""The request engine: reads data, decides, writes the result, and repeats these steps after a conflict."""
