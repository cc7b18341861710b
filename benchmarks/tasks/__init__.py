"""The parts of `run_tasks.py`: what a real model answers, by each way to get an answer, and what it costs.

    task.py        a task: question, constraint, how an answer is read and judged
    calls.py, extraction.py, gsm8k.py, bbh.py, tools.py, sql.py, humaneval.py
                   the tasks, a file for each: rows, prompt, scorer
    arms.py        the ways to get an answer, as one table
    peers.py       masks of other libraries in the loop of `generate`
    answer.py      one task by one arm, as one record
    measures.py    shares with intervals, paired differences with an exact test
    python_names.py   judges of names, attributes and calls in a Python text
    page.py        from records to the tables of docs/how-good.md

start reading at: arms.py
"""
