"""The kinds of places that events come from: one file a source, each with ``list_names``, ``match``, ``resolve`` and
``describe``.

In: a ``model.probe.ProbeSpec`` (what was asked) and a ``ResolveContext`` (this host: tracefs, BTF, architecture,
process). Out: ``model.site.Site`` values (what was found), or a ``ProbeError`` with the nearest names. Nothing is
attached here. ``registry`` is the way in. lang/ (types of ``args``), plan/ (how to attach), api and cli (list, explain)
may import this.
"""
