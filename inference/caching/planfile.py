"""What `auto` settings measured, kept as JSON: read, written whole, judged by age.

A file that holds something else is refused, never overwritten.
"""

import hashlib
import json
from pathlib import Path

from inference.source import check_file
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
    check_file(path, "plan")
    try:
        values = json.loads(path.read_text(encoding="utf-8"))
        plans = values["plans"]
        chosen = [p.get("cache_kind", p.get("decode_table")) for p in plans.values() if p["probed"] >= 0]
        if values["version"] == VERSION and [type(one) for one in chosen] == [str] * len(plans):
            return plans
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        pass
    raise UserError(f"{path} is no plan of this version: name another file, or delete it")


def write_plans(path: Path, plans: dict[str, dict]) -> None:
    """Replace the file."""
    text = json.dumps({"version": VERSION, "plans": plans}, indent=1)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with replacing(path) as temporary:
            temporary.write_text(text + "\n", encoding="utf-8")
    except (OSError, ValueError) as error:  # the latter of an impossible name
        reason = getattr(error, "strerror", None) or error
        raise UserError(f"cannot write the plan {path}: {reason}") from None
