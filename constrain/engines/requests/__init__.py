"""The part that engines with structured outputs share: the constraint of a request, from its text to its masks.

options.py           how constraints are read: limits, spelling, whitespace
constraints.py       the constraint of a request; constrain/chat/tags/structural.py: free text with tags, for tool calls
vocabulary.py        the bytes of an engine's tokens
compiler.py          one engine: the vocabulary, compiled constraints
warm.py              what is read and followed before the first request
image.py, images.py  the masks of what a constraint met, as arrays and as files, for the next start
request.py           one request: its matcher, its ends, its fault
proof.py             what an answer's constraint enforced, as one JSON object
interfaces.py        whether an engine has what is relied upon
"""
