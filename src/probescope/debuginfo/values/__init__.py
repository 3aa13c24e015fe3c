"""Values of C++, Rust and Go as people read them: a std::string is a text, a map its pairs, an enum its variant.

In: types of a binary's own debug information, and bytes of a traced process. Out: recipes of what to read at a probe
(``model.capture``), and texts. ``sources`` makes the recipes, ``views`` has the texts made; ``probescope.printer`` adds
printers. Bytes and debug information are hostile: every walk is bounded.

    vtypes    types as values need them     shapes   what the parts of known types mean; cpp, rust, golang know them
    recipe    what is read at the probe     memory   what was read; value, walks: typed looks into it
    show      texts                         registry printers of users                captures   all of it put together
"""
