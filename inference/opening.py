"""Which model the command line opens: a checkpoint with its adapters, or exported chunks."""

import argparse

from models.errors import UserError


def check_chunks(args: argparse.Namespace) -> None:
    """Refuse flags of chunks without any, and what chunks cannot do."""
    flags = "chunked num_chunks embeddings lm_head cache_compiled analyze_compute_plan".split()
    given = [flag for flag in flags if (value := getattr(args, flag)) is not None and value is not False]
    if args.model_dir is None:
        if given:
            raise UserError(f"--{given[0]} needs --model_dir, the folder of exported chunks")
        return
    if args.ckpt_dir is not None:
        raise UserError("--model_dir and --ckpt_dir name two models: give one")
    fixed = {"device": "cpu", "dtype": "fp32", "cache_kind": None, "trace": None, "decode_plan": "none"}
    fixed |= dict.fromkeys(("cache_budget_mb", "adapter_dir", "memory_dir", "routing_strategy"))
    for flag, value in fixed.items():
        if getattr(args, flag) != value:
            raise UserError(f"--{flag} does not go with --model_dir: the export fixed how chunks compute")


def open_model(args: argparse.Namespace):
    """The checkpoint with its adapters, or the exported chunks."""
    from inference.omni import Omni  # torch is loaded only for a request that can be served

    if args.model_dir is None:
        omni = Omni.from_pretrained(args.ckpt_dir, args.device, args.dtype, args.model_name)
        if args.adapter_dir:
            from inference.merge import attach_adapter

            attach_adapter(omni, args.adapter_dir)
        if args.memory_dir:
            from inference.memory import attach_memory

            attach_memory(omni, args.memory_dir, args.routing_strategy)
        return omni
    from inference.chunked.model import load_chunks

    names = ("model_dir", "chunked", "num_chunks", "embeddings", "lm_head", "cache_compiled", "model_name")
    return load_chunks(**{name: getattr(args, name) for name in names})
