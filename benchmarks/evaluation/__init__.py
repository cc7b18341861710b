"""The parts of `jsonschemabench.py`, in which a model writes JSON under a schema, through any engine.

    tasks.py      a MaskBench file as a task: prompt, known instance, how an answer is scored
    decode.py     the model; one decoding loop for all engines; likelihood of a known text under masks
    evaluate.py   one engine on one task, as one record
    report.py     from records to tables



start reading at: evaluate.py
"""
