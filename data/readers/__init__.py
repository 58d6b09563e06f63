"""Readers for recorded speech that a user brings; nothing is downloaded."""
