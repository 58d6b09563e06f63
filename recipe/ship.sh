#!/bin/bash
# When all stages have finished (for `interim`, the joint one): one step after another, from the repository's root, each looked at.
#   bash recipe/ship.sh patch|interim|export|others|first|second|bench|tables
HOME7=/root/mu
PY=.venv-dev/bin/python
export MUOMNI_KOKORO=$HOME7/data/kokoro OMP_NUM_THREADS=1 TORCH_CPP_LOG_LEVEL=ERROR

patch() { git apply recipe/shipping.patch; }
interim() {  # the new ears, eyes and Thinker with the voice that ships already, until its stages have finished
  R=$HOME7/runs_ship; rm -rf $R; mkdir -p $R
  for s in tokenizer thinker vision audio omni; do ln -s $HOME7/runs7/$s $R/$s; done
  $PY - $R <<'P' || exit 1
import shutil, sys
from pathlib import Path

from models.codec import MelCodec
from models.frontend import Frontend
from models.talker import Talker
from models.vocoder import Vocoder

old, runs = Path("checkpoints/omni_sft_tiny"), Path(sys.argv[1])
for part, kind in (("codec", MelCodec), ("vocoder", Vocoder), ("talker", Talker)):
    final = runs / part / "final"
    kind.from_pretrained(old, part).save_pretrained(final)
    shutil.copy(old / "training" / f"{part}.json", final / "training.json")
Frontend.from_pretrained(old, "frontend").save_pretrained(runs / "talker" / "final" / "frontend")
P
  export_ $R
}
export_() { $PY -m training.export --preset tiny --runs_dir ${1:-$HOME7/runs7} --data_dir $HOME7/data --out checkpoints; }
others() {  # what was made with the old weights
  $PY -m export.draft_table
  $PY train.py memory --preset tiny --init_from checkpoints/omni_sft_tiny --data_dir $HOME7/data --runs_dir $HOME7/runs_memory --threads 2
  echo "now copy $HOME7/runs_memory/memory/final over checkpoints/memory_tiny (docs/memory-bank.md)"
}
first() { for w in vision sounds interleaved recipe memory; do $PY evaluate.py $w; done; }  # beside `second`
second() { for w in audio joint long text speech vocoder normalisation; do $PY evaluate.py $w; done; }
bench() {
  $PY benchmark.py --tokens 128 --rounds 3 --results docs/results.json
  $PY benchmark.py share routers quantise serve realtime --results docs/results.json
}
tables() { make train-nano; $PY evaluate.py tables; $PY -m manual reference; $PY -m manual notebooks; make docs; }

[ "$1" = export ] && set -- export_
"$1"
