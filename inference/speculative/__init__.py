"""Speculative decoding: drafts that guess the next tokens, and the generator that checks them."""
