from typing import Any

from typing_extensions import assert_type

import constrain

reference = constrain.reference.load()
vocabulary = constrain.Vocabulary.from_huggingface(reference.tokenizer)
compiled = constrain.compile(constrain.choices(["red", "green"]), vocabulary)
assert_type(compiled, constrain.CompiledConstraint)
for output in constrain.generate(reference, "A colour: ", constraint=compiled, n=2, seed=1):
    assert_type(output, constrain.Generation[Any])
matcher = compiled.matcher()
assert_type(matcher, constrain.Matcher)
assert_type(matcher.advance_bytes(b"re"), bool)
assert_type(matcher.forced_bytes(), bytes)
