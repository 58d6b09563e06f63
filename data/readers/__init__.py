"""Readers for what a user brings: recorded speech, photographs; `emoji` fetches drawings."""

import sys
from pathlib import Path


def there(places: dict[str, Path]) -> list[str]:
    """The sets whose file or folder exists; a notice names each that does not."""
    for path in places.values():
        if not path.exists():
            print(f"notice: {path} is missing and left out", file=sys.stderr)
    return [name for name, path in places.items() if path.exists()]
