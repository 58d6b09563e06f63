#!/bin/bash
# A fresh machine for the rest of the recipe: packages, drawings, voices, data, finished stages (20 minutes);
# then the stages named, one after another, each from its kept state. Run from the repository's root.
#   bash recipe/machine.sh setup; bash recipe/machine.sh train omni codec vocoder talker
#   bash recipe/machine.sh keep     what the joint stage trains -> recipe/omni_state.safetensors (bf16)
#   bash recipe/machine.sh go_on    the same back, into a state of the joint stage that has begun and stopped
# To stop: TERM this script, then the workers of train.py (not torchrun): the exact step is saved.
HOME7=/root/mu
MAIN=$(pwd)
export MUOMNI_KOKORO=$HOME7/data/kokoro OMP_NUM_THREADS=1 TORCH_CPP_LOG_LEVEL=ERROR

setup() {
  echo 0 > /proc/sys/kernel/sched_autogroup_enabled
  mkdir -p $HOME7/{runs7,data,sprites,log,wt} build
  ln -sfn $HOME7/sprites build/sprites
  apt-get update -q && DEBIAN_FRONTEND=noninteractive apt-get install -y -q fonts-noto-color-emoji fonts-dejavu \
    fonts-liberation flite libflite1 espeak-ng festival festvox-us-slt-hts festvox-kdlpc16k festvox-kallpc16k \
    asterisk-core-sounds-en asterisk-core-sounds-en-wav festvox-hi-nsk festvox-czech-ph festvox-czech-dita \
    festvox-czech-krb festvox-czech-machac festvox-suopuhe-mv festvox-suopuhe-lj festvox-italp16k \
    festvox-itapc16k fontconfig > $HOME7/log/apt.log 2>&1 || exit 1
  make .venv-dev/ready > $HOME7/log/venv.log 2>&1 || exit 1
  .venv-dev/bin/pip install -q hibari-tts onnx -r requirements-judges.txt > $HOME7/log/judges.log 2>&1 || exit 1
  .venv-dev/bin/python -m data.readers.emoji && .venv-dev/bin/python -m data.speech.tts.kokoro || exit 1
  git worktree prune
  [ -d $HOME7/wt/recipe ] || git worktree add -q --detach $HOME7/wt/recipe HEAD
  ln -sfn $MAIN/.venv-dev $HOME7/wt/recipe/.venv-dev
  for s in recipe/*/; do
    s=$(basename $s)
    [ -d $HOME7/runs7/$s ] || { mkdir $HOME7/runs7/$s; cp -r recipe/$s $HOME7/runs7/$s/final; }
  done
  chmod -R u+rw $HOME7/runs7
}

earlier_data() {  # what the joint stage reads of the stages before it; a finished stage makes none
  .venv-dev/bin/python - <<'P' || exit 1
from pathlib import Path
from training.config import load_preset
from training.objective import Paths
from training.objectives import audio, thinker, vision

paths = Paths.of("tiny", Path("/root/mu/data"), Path("/root/mu/runs7"), Path("../shared/data").resolve())
sections, extra = load_preset("tiny"), {"seed": 0, "preset": "tiny", "workers": 2}
audio.build_ngrams, audio.lines = lambda *a: None, lambda *a: []  # counted already
sections["audio"]["data"]["clips"] = {"engines": 24000}
for module, name in ((audio, "audio"), (vision, "vision"), (thinker, "thinker")):
    module.prepare(sections[name] | extra, paths)
P
}

keep() { small keep; }
go_on() { small go_on; }  # the optimisers begin anew: Muon's memory is twenty steps
small() {
  .venv-dev/bin/python - $1 <<'P' || exit 1
import json, os, sys
import torch
from safetensors import safe_open
from safetensors.torch import save_file

whole, kept = "/root/mu/runs7/omni/state.safetensors", "recipe/omni_state.safetensors"
with safe_open(whole, "pt") as file:
    tensors = {key: file.get_tensor(key) for key in file.keys()}
    note = file.metadata()["note"]
trained = {"model." + key.removeprefix("optimizer.").split("|")[0] for key in tensors if key.startswith("optimizer.")}
if sys.argv[1] == "keep":
    save_file({key: tensors[key].bfloat16() for key in trained}, kept, metadata={"note": note})
else:
    with safe_open(kept, "pt") as file:
        assert trained == set(file.keys())
        tensors |= {key: file.get_tensor(key).to(tensors[key].dtype) for key in trained}
        note = file.metadata()["note"]
    tensors |= {key: torch.zeros_like(t) for key, t in tensors.items() if key.startswith("optimizer.")}
    save_file(tensors, whole + ".new", metadata={"note": note})
    os.replace(whole + ".new", whole)
print(sys.argv[1], "step", json.loads(note)["step"], len(trained), "tensors", os.path.getsize(kept), "bytes")
P
}

train() {
  REAL=$(cd ../shared/data && pwd)
  for stage in "$@"; do
    [ $stage = omni ] && { earlier_data; slices="--set omni.train.accumulate=4"; } || slices=""
    cd $HOME7/wt/recipe && git checkout -q --detach main || exit 1
    mkdir -p build; ln -sfn $HOME7/sprites build/sprites
    echo "$(date) $stage"
    $MAIN/.venv-dev/bin/torchrun --standalone --nproc_per_node 2 train.py $stage --preset tiny \
      --data_dir $HOME7/data --runs_dir $HOME7/runs7 --real_dir $REAL --threads 1 $slices \
      >> $HOME7/runs7/$stage.out 2>&1 || { echo "$(date) $stage failed"; exit 1; }
    cd $MAIN
  done
  echo "$(date) done"
}

"$@"
