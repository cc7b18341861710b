"""Answers of several options and orders: the likeliest span, rankings, distributions over orders, distinct outputs."""
