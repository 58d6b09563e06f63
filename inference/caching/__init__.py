"""KV-cache kinds chosen automatically, decode plans, and the files that keep what was measured."""
