"""Questions that are ready to be asked of a recording: each a file of data, ``questions/NAME.toml``.

In: a store of recordings (``store.opening.Asked``) and the name of a question, or words about it. Out: an ``Answer``:
what is missing, a conclusion in plain words, and tables as its evidence; as text or as values for JSON. cli/ may import
this.

    title   = "Who takes the CPU from whom"
    words   = "preempt evict ..."                  what it is found by, beside its name and title
    needs   = ["sched:sched_switch"]               kinds of events (globs, alternatives parted by |)
    better  = ["sched:sched_waking"]               what makes it better
    record  = "-a -e 'sched:sched_switch,...'"     options of probescope record

    [parts]                                        SQL by names: @NAME@ stands for it in queries
    NAME = "select ..."

    [[facts]]                                      a query of one row, whose columns are facts
    needs = [...]                                  left out where these are missing
    sql = "select ..."

    [[say]]                                        of the sentences of one topic, the first that holds is said
    topic = "who"
    when  = ["share >= 50"]                        facts compared with numbers; a fact that is not known holds nowhere
    text  = "{victim} lost the CPU {share:.0f} % ..."

    [[evidence]]                                   a table; ``sql`` names durations NAME_ns, which are shown with units
    title = "..."
    sql   = "select ..."
"""
