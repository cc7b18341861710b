from typing_extensions import assert_type

import constrain


def ask(model: str, question: str) -> bool | None:
    messages = [{"role": "system", "content": "Answer true or false."}, {"role": "user", "content": question}]
    g = constrain.generate(model, messages, type=bool)
    assert_type(g, constrain.Generation[bool])
    both = constrain.generate(model, [messages, messages], type=bool)
    assert_type(both, list[constrain.Generation[bool]])
    return g.value
