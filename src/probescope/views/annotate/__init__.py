"""Code of functions with what each instruction costs.

In: samples of a recording that are put together by address (``views.reporting.sums``), files of this machine. Out:
text, piece by piece. Who may import me: cli/. x86 is decoded by iced-x86, which is asked for when there is something to
decode.

    sums -> hits.Function: weight by address -> body.Body: its bytes, names, source lines -> listing.text
"""
