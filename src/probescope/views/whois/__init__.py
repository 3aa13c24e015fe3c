"""From what a person holds in hand to the function: a message, an address, a source line, an error that is returned.

In: files (programs, the kernel's own, its modules) and what is looked for. Out: ``Finding``s, and their text. Who may
import me: cli/. Nothing is run or traced: code is read, and the probe to set is offered as a command.

    images    what is known of one file: references, functions, source lines, how its probes are written
    kernel    the kernel's file with the running kernel's names, and its modules
    search    messages and returned errors to the code that has them
    places    addresses and source lines
    text      findings as a person reads them
"""
