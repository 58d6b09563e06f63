"""Making the manual in docs/: running its code, its figures, reference, notebooks and site."""
