import constrain


def dates() -> constrain.Constraint:
    return constrain.regex(r"\d{4}-\d{2}-\d{2}") | constrain.choices(["today", "tomorrow"])


item = constrain.json_schema({"type": "integer"})
calls: constrain.Constraint = constrain.seq("f(", item, ")") & constrain.regex(r"f\(\d{1,2}\)")
g = constrain.generate(constrain.reference.load(), "A call: ", constraint=calls, max_tokens=8, seed=1)
print(g.text, constrain.generate(constrain.reference.load(), "When? ", constraint=dates(), seed=1).text)
