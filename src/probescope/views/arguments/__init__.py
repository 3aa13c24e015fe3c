"""Arguments of functions that nothing declares: guessed from machine code, and from what is passed while it runs.

In: a program's file, values that a program printed. Out: guesses, marked as such, and their text. Who may import me:
cli/. Decoding x86 needs the package iced-x86.

    code      a file's code as the guesser walks it: functions, their names, who calls them
    sampled   the program that prints arguments, and what its values look like
    text      guesses as a person reads them
"""
