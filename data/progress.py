"""Progress bars: tqdm's, which running the model does not need."""

from models.errors import needed


def progress(*items, **settings):
    """A tqdm bar; arguments are its own.

    Raises:
        UserError: tqdm is not installed.
    """
    return needed("tqdm", "this", "-r requirements-dev.txt").tqdm(*items, **settings)
