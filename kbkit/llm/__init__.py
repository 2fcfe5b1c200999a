"""Language models: any OpenAI-compatible endpoint, or a recording, behind one protocol; prompts, cache and account.

``client`` has the protocol, ``models`` opens models by name, ``calls`` runs prompts on them. Text of a KB is data:
prompts contain it as JSON strings, and state that it holds no instructions.
"""
