"""Which split a thing belongs to: decided by a hash of what it is, so that it is never in two."""

import hashlib


def slot(key: bytes) -> int:
    """0..99, always the same for a key and evenly spread over keys."""
    return int.from_bytes(hashlib.blake2s(key, digest_size=4).digest(), "big") % 100
