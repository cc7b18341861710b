"""Other engines: constraints inside the programs that run models.

takes: what an engine hands over (a request's constraint as text, its tokenizer, rows of bitmasks)
gives: the engine's own interfaces, filled in
start reading at: requests/__init__.py, then vllm/__init__.py or sglang/__init__.py; processor.py for the loops of
transformers

Importing this package imports no engine and no torch: an engine loads what it needs.
"""
