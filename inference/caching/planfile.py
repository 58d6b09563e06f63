"""What `auto` settings measured, kept as JSON: read, written whole, judged by age.

A file that holds something else is refused, never overwritten.
"""

import hashlib
import json
from pathlib import Path

from models.errors import UserError
from models.files import replacing

VERSION = 1
NEAR = 0.03  # measured times closer than this share are noise


def plan_key(**about) -> str:
    """A name for everything that a plan depends on."""
    text = json.dumps(about, sort_keys=True, default=str)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def read_plans(path: Path) -> dict[str, dict]:
    """All plans of a file; none where there is no file."""
    if not path.exists():
        return {}
    try:
        values = json.loads(path.read_text(encoding="utf-8"))
        if values["version"] == VERSION and all("probed" in p for p in values["plans"].values()):
            return values["plans"]
    except OSError as error:
        raise UserError(f"cannot read the plan {path}: {error.strerror}") from None
    except (ValueError, KeyError, TypeError, AttributeError):
        pass
    raise UserError(f"{path} is no plan of this version: name another file, or delete it")


def write_plans(path: Path, plans: dict[str, dict]) -> None:
    """Replace the file."""
    text = json.dumps({"version": VERSION, "plans": plans}, indent=1)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with replacing(path) as temporary:
            temporary.write_text(text + "\n", encoding="utf-8")
    except OSError as error:
        raise UserError(f"cannot write the plan {path}: {error.strerror}") from None
