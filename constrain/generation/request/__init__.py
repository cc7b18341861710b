"""The checked arguments of `generate`: prompts, limits, drafts, shapes of other interfaces.

takes: the arguments of `generate`
gives: settings, constraints, token ids; or an error that names the argument
start reading at: request.py, then arguments.py
"""
