"""The names of SGLang that the plug-in relies upon, and the version whose files were read.

The registry and its classes are SGLang's own interface for grammar backends; the traversal of draft trees is not.
"""

from constrain.engines.requests.interfaces import Interface

READ = ("0.5.23",)
_BASE = "sglang.srt.constrained.base_grammar_backend"
INTERFACE = Interface(
    "SGLang",
    READ,
    {
        "sglang.srt.speculative.spec_utils:traverse_tree": (
            "retrieve_next_token", "retrieve_next_sibling", "draft_tokens", "grammar", "allocate_token_bitmask",
        ),
        "sglang.srt.constrained.reasoner_grammar_backend:ReasonerGrammarBackend.__init__": (
            "self", "grammar_backend", "reasoning_parser", "tokenizer", "enable_strict_thinking",
        ),
        f"{_BASE}:GrammarStats": (),
        "sglang.srt.parser.reasoning_parser:ReasoningParser": (),
        "sglang.srt.runtime_context:get_serving": (),
    },
    {
        f"{_BASE}:BaseGrammarObject": {
            "accept_token": ("self", "token"),
            "rollback": ("self", "k"),
            "is_terminated": ("self",),
            "allocate_vocab_mask": ("self", "vocab_size", "batch_size", "device"),
            "fill_vocab_mask": ("self", "vocab_mask", "idx"),
            "fill_vocab_mask_batched": ("entries", "vocab_mask"),
            "reset_vocab_mask": ("vocab_mask",),
            "move_vocab_mask": ("vocab_mask", "device"),
            "apply_vocab_mask": ("logits", "vocab_mask"),
            "copy": ("self",),
            "try_jump_forward": ("self", "tokenizer"),
            "jump_forward_str_state": ("self", "helper"),
            "jump_and_retokenize": ("self", "old_output_ids", "new_output_ids", "next_state"),
        },
        f"{_BASE}:BaseGrammarBackend": {
            "dispatch_json": ("self", "key_string"),
            "dispatch_regex": ("self", "key_string"),
            "dispatch_ebnf": ("self", "key_string"),
            "dispatch_structural_tag": ("self", "key_string"),
            "dispatch_fallback": ("self", "key_type", "key_string"),
            "set_cache": ("self", "key", "value"),
            "reset": ("self",),
        },
        f"{_BASE}:InvalidGrammarObject": {"__init__": ("self", "error_message")},
    },
)  # fmt: skip
