"""How long a piece of code takes: between any two points of it, each leg of several, or a function from end to end.

In: points as people write them, and a file. Out: a program of the bpftrace language that measures inside of the kernel,
so that no span is lost, and its maps as totals and text. Who may import me: cli/.

    points   lines, functions, addresses, returns -> probes
    program  probes -> the program
    legs     its maps -> totals by leg, told as views/latency tells them
"""
