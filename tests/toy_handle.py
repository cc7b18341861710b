"""A table of logits with a tokenizer and a vocabulary of its own: what `generate` and `score` ask of a model."""

import constrain
from toy_model import TableModel

PIECES = [b"a", b"b", b"ab", b"a", b"ba", b"bab", None, None]  # two ids for "a", two ends
ENDS = [6, 7]


class Cutter:
    """Greedy: the longest piece first, then the lowest id."""

    bos_token_id = 6

    def __call__(self, text: str, add_special_tokens: bool = True) -> dict[str, list[int]]:
        ids, left = [], text.encode()
        while left:
            fitting = [i for i, piece in enumerate(PIECES) if piece and left.startswith(piece)]
            ids.append(max(fitting, key=lambda i: (len(PIECES[i] or b""), -i)))
            left = left[len(PIECES[ids[-1]] or b"") :]
        return {"input_ids": ids}


class ToyHandle(TableModel):
    """A table of logits that has what `score` asks of a model."""

    tokenizer = Cutter()
    vocabulary = constrain.Vocabulary(PIECES, ENDS)
