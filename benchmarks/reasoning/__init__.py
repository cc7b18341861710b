"""Questions whose answers are known, asked with a schema for the answer: what a constraint does to a model's answers.

start reading at: tasks.py
"""
