"""The typed program: the seam between languages and collectors.

In: nodes built by a language's lowering. Out: ``Program`` values that evaluate/, bpf/, plan/ and collect/ consume.
Anyone above may import this; it imports only model/, diagnostics and errors. Rules that every program obeys are
executable: ``ir/rules.py``; it prints and reads back by ``ir/text.py``.
"""
