"""How model servers word a refusal: codes and expressions, each by what it means."""

from __future__ import annotations

import re

CONTEXT_CODES = frozenset(
    {
        "context_length_exceeded",
        "context_window_exceeded",
        "exceed_context_size_error",
        "model_max_prompt_tokens_exceeded",
        "request_too_large",
        "string_above_max_length",
    }
)

# What servers say of a prompt that is too long, as they said it in 2023 to 2026.
CONTEXT_WORDS = re.compile(
    # OpenAI, Azure, vLLM, DeepSeek, OpenRouter, Mistral, Fireworks, Groq, NVIDIA, xAI
    r"maximum (?:context|prompt|model|input) (?:length|limit|size|tokens)"
    r"|max(?:imum)? (?:allowed )?input (?:length|tokens)"
    r"|input tokens exceed"
    r"|exceed(?:s|ed)? (?:the )?(?:maximum|max) (?:allowed )?(?:number of )?(?:input )?tokens"
    r"|reduce (?:the length of the (?:messages|prompt|input)|your (?:message|prompt|input) (?:size|length))"
    # llama.cpp, Ollama, SGLang, LM Studio, LiteLLM, MiniMax, Anthropic
    r"|exceed(?:s|ed)? (?:the |your |this )?(?:available |max(?:imum)? |configured |model(?:'s)? )*"
    r"context[ _](?:size|length|window|limit)"
    r"|exceeds? the (?:model's )?maximum allowed length"
    r"|(?:longer|larger|greater|more) than the (?:model's |model |maximum )*"
    r"(?:context|model) (?:length|size|window)"
    r"|context[ _](?:size|length|window|limit)(?: has been| was| is)? exceed(?:ed|s)"
    r"|context (?:length|window|size) (?:of|is) only|configured context size is"
    r"|model's context length is only|loaded with context length of only|context overflow"
    # llama.cpp's batches
    r"|input is too large to process"
    # text-generation-inference, Together
    r"|`?inputs`? (?:tokens \+ `?max_new_tokens`? must be <=|must have less than)"
    # Anthropic, Bedrock, Fireworks, Ollama, Perplexity, Kimi, Baidu, Zhipu
    r"|(?:prompt|input|messages?)(?: tokens?| token length| prompt)?(?: is| are)? too (?:long|large)\b"
    r"|prompt (?:超长|exceeds max length)"
    r"|is too long and exceeds"
    # Google, Vertex, watsonx, Copilot
    r"|input token count .*(?:exceeds? the maximum|only supports up to)"
    r"|input (?:length|tokens?) .*(?:exceeds? the (?:maximum|limit)|cannot exceed)"
    r"|token count of [\d,]+ exceeds the limit of"
    # Cohere, Bedrock, Kimi, DashScope
    r"|too many (?:input )?tokens|exceeded model token limit|token limit exceeded"
    r"|tokens in request more than max tokens allowed|total number of tokens in the prompt cannot exceed"
    r"|range of input length should be|expected maxLength: \d+, actual"
    # Cerebras
    r"|current length is [\d,]+ while limit is",
    re.IGNORECASE,
)

# OpenAI and Groq refuse a prompt that is larger than a minute's tokens as they refuse too many prompts.
NEVER_FITS = re.compile(r"request too large for", re.IGNORECASE)
TOKENS_ASKED = re.compile(r"limit:? ([\d,]+).{0,40}?requested:? ([\d,]+)", re.IGNORECASE)

RATE_WORDS = re.compile(r"throttl|rate.?limit|too many requests|please (?:wait|try again in)", re.IGNORECASE)

MEMORY_WORDS = re.compile(
    r"out of memory|out[_-]of[_-]memory|OutOfMemory|cudaMalloc failed|failed to allocate\b.*\bmemory",
    re.IGNORECASE,
)
FILTER_WORDS = re.compile(
    r"content[_ ](?:filter|management policy|policy|exists risk)|ResponsibleAIPolicyViolation"
    r"|requires moderation|\b(?:input|prompt|request) was (?:flagged|blocked)"
    r"|safety (?:system|filter|settings)"
    r"|DataInspectionFailed|data_inspection_failed|PROHIBITED_CONTENT|usage policy|guardrail",
    re.IGNORECASE,
)

# A chat template that cannot write this conversation; llama.cpp answers 500.
TEMPLATE_WORDS = re.compile(
    r"conversation roles must alternate|jinja|chat template|TemplateError", re.IGNORECASE
)

# Refusals that every prompt would meet: a parameter, a model, a key, an account.
CONFIGURATION_CODES = frozenset(
    {
        "unsupported_parameter",
        "unsupported_value",
        "unknown_parameter",
        "missing_required_parameter",
        "invalid_api_key",
        "invalid_model",
        "model_not_found",
        "model_not_supported",
        "invalid_json_schema",
        "billing_not_active",
        "FAILED_PRECONDITION",
    }
)
CONFIGURATION_WORDS = re.compile(
    r"unrecognized (?:request )?argument|(?:unsupported|unknown|unrecognized|unexpected|extra|missing) "
    r"(?:required )?(?:parameter|value|field|name|input|argument|property)"
    r"|extra_forbidden|extra inputs are not permitted"
    r"|(?:does not|doesn't|not) (?:yet )?support|is unsupported|not available in your"
    r"|api[ _-]?key|credential|unauthori[sz]ed|permission|signature"
    r"|(?:model|deployment)\b.*"
    r"\b(?:not found|does not exist|not exist|invalid|unavailable|not a valid|deprecated)"
    r"|(?:invalid|no such|unknown|not a valid) model"
    r"|response_format|json_schema|invalid schema|grammar|tool_choice|structured output"
    r"|credit|billing|balance|quota|arrears|good standing|payment|subscription",
    re.IGNORECASE,
)
NO_CREDIT_CODES = frozenset({"insufficient_quota", "billing_hard_limit_reached"})
