"""Decoding in compiled code: one call a token instead of some hundred.

`decode.cpp` and its headers are the step, `library` compiles and finds them, `step` feeds them.
"""
