"""The functions of LiteLLM that the handler calls."""

#: Dollars for a token of a prompt, and of an output.
PRICES = {"small": (1e-06, 2e-06)}


def cost_per_token(model="", prompt_tokens=0, completion_tokens=0):
    if model not in PRICES:
        raise Exception(f"This model isn't mapped yet: {model}")
    prompt_price, output_price = PRICES[model]
    return prompt_tokens * prompt_price, completion_tokens * output_price
