from typing import Any

import constrain
from constrain.models.hf import ConstraintProcessor

reference = constrain.reference.load()
vocabulary = constrain.Vocabulary.from_huggingface(reference.tokenizer)
compiled = constrain.compile(constrain.regex("[a-z]{3}"), vocabulary)
processor = ConstraintProcessor(compiled)
model: Any = reference.model  # the types of transformers are no part of this
ids = reference.tokenizer("A word: ", return_tensors="pt")["input_ids"]
print(model.generate(ids, logits_processor=[processor], max_new_tokens=8, do_sample=False))
