"""The benches of benchmark.py, one file for each question. They time; what is right is evaluate.py's."""
