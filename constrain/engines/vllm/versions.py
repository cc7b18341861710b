"""The names of vLLM that the plug-in relies upon, and the versions that are tested.

The idea: vLLM has no registry for backends of structured outputs, so the hooks rely on names that may change between
its versions. Each is listed here (`requests/interfaces.py` says what follows if one differs). Engines with another
backend are never touched.
"""

from constrain.engines.requests.interfaces import Interface

TESTED = ("0.32.0",)
_SIGNATURES = {
    "vllm.v1.structured_output:StructuredOutputManager.__init__": ("self", "vllm_config"),
    "vllm.v1.engine.input_processor:InputProcessor.__init__": ("self", "vllm_config"),
    "vllm.v1.engine.input_processor:InputProcessor._validate_params": ("self", "params"),
    "vllm.v1.structured_output.request:get_structured_output_key": ("params",),
    "vllm.v1.worker.worker_base:WorkerBase.__init__": ("self", "vllm_config"),
    "vllm.exceptions:VLLMValidationError": ("message",),
}
"""Function → the parameters that it begins with."""
_METHODS = {
    "vllm.v1.structured_output.backend_types:StructuredOutputGrammar": {
        "accept_tokens": ("self", "request_id", "tokens"),
        "validate_tokens": ("self", "tokens"),
        "rollback": ("self", "num_tokens"),
        "fill_bitmask": ("self", "bitmask", "batch_index"),
        "is_terminated": ("self",),
        "reset": ("self",),
    },
    "vllm.v1.structured_output.backend_types:StructuredOutputBackend": {
        "compile_grammar": ("self", "request_type", "grammar_spec", "stop_token_ids"),
        "allocate_token_bitmask": ("self", "max_num_seqs"),
        "destroy": ("self",),
    },
}
"""Abstract class → its abstract methods, all of them, with their parameters."""
INTERFACE = Interface("vLLM", TESTED, _SIGNATURES, _METHODS)
RECORDING = Interface(
    "vLLM",
    TESTED,
    {
        "vllm.v1.worker.gpu_model_runner:GPUModelRunner.sample_tokens": ("self", "grammar_output"),
        "vllm.v1.worker.gpu_model_runner:GPUModelRunner._sample": ("self", "logits", "spec_decode_metadata"),
    },
    {},
)
"""What recording weights by the V1 model runner relies upon; only a worker looks. An engine does without."""
RECORDING_V2 = Interface(
    "vLLM",
    TESTED,
    {
        "vllm.v1.worker.gpu.model_runner:GPUModelRunner.sample": ("self", "hidden_states", "input_batch"),
        "vllm.v1.worker.gpu.structured_outputs:StructuredOutputsWorker.apply_grammar_bitmask": (
            "self", "logits", "input_batch",
        ),
        "vllm.v1.worker.gpu.sample.sampler:Sampler.add_request": ("self", "req_idx", "sampling_params"),
        "vllm.v1.worker.gpu.sample.sampler:Sampler.__call__": ("self", "logits", "input_batch"),
        "vllm.v1.worker.gpu.spec_decode.rejection_sampler:RejectionSampler.__call__": ("self", "logits", "input_batch"),
    },
    {},
)  # fmt: skip
"""The same for V2, which is vLLM's default where Triton has a GPU."""
SPECULATOR = Interface(
    "vLLM",
    TESTED,
    {
        "vllm.v1.worker.gpu.model_runner:init_speculator": ("vllm_config", "device", "req_states"),
        "vllm.v1.worker.gpu.model_runner:GPUModelRunner.add_requests": ("self", "scheduler_output"),
    },
    {},
)
"""What the drafter relies upon under V2."""
ROWS = Interface(
    "vLLM",
    TESTED,
    {
        "vllm.v1.engine.logprobs:LogprobsProcessor.from_new_request": ("tokenizer", "request"),
        "vllm.v1.engine.logprobs:LogprobsProcessor._update_sample_logprobs": ("self", "logprobs_lists"),
    },
    {},
)
"""What keeping rows as arrays relies upon. A front end without reads vLLM's own lists."""
GRAMMARS = Interface(
    "vLLM",
    TESTED,
    {"vllm.v1.structured_output:StructuredOutputManager._create_grammar": ("self", "request")},
    {},
)
"""What ending texts in time, and going on with a text that the prompt has, rely upon. An engine without `complete` does
without: particles then go token by token."""
STEPS = Interface(
    "vLLM",
    TESTED,
    {
        "vllm.v1.engine.llm_engine:LLMEngine.add_request": ("self", "request_id", "prompt", "params"),
        "vllm.v1.engine.llm_engine:LLMEngine.step": ("self",),
        "vllm.v1.engine.llm_engine:LLMEngine.abort_request": ("self", "request_ids"),
    },
    {},
)
"""What particles inside an engine rely upon, beside `GRAMMARS`."""
