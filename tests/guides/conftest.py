"""The nano omni-model, loaded, and its folders: the guides' rows are run on it."""

from types import SimpleNamespace

import pytest
import torch


@pytest.fixture(scope="session")
def env(nano_omni_dir, nano_text_dir):
    from inference import Omni

    omni = Omni.from_pretrained(nano_omni_dir)
    return SimpleNamespace(
        omni=omni, model=omni.model, tokenizer=omni.tokenizer, folder=nano_text_dir,
        omni_folder=nano_omni_dir, input_ids=torch.tensor([[1, 40, 50, 60]]),
    )  # fmt: skip
