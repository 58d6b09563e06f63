"""Every quality figure we claim: measured here, kept in docs/results.json, shown in tables."""
