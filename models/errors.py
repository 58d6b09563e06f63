"""The one error a user is meant to read: one line, what is wrong and what to do."""


class UserError(Exception):
    """Bad input, a missing file, a wrong flag. Entry points print it and exit with code 2."""
