"""The answers to the page's questions: a function each, ``(Opened, arguments, Ticket) -> Reply``."""
