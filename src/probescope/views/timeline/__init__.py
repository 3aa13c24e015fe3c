"""The timeline: what a page that draws recordings asks, and the answers.

In: stores of recordings (``store.opening.Asked``). Out: answers to the page's questions, over a websocket, or all of
them in one file. Who may import me: cli. aiohttp, numpy and DuckDB are imported inside functions, or by modules that
are.

    store ──► lod/ (levels of detail, kept beside the store) ──► answers/ ──► server ══ websocket ══► the page
                                                                    └──────► one_file ─────────────► the page, alone

``protocol`` says what goes over the wire; ``page/`` is what the build of ``web/`` leaves here.
"""
