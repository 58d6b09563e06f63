"""Decoding in compiled code: one call a token instead of some hundred.

`decode.cpp` and `matrix.h` are the step, `library` compiles and finds them, `step` feeds them.
"""
