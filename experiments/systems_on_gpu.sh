#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Measures on a GPU what docs/systems.md says is not measured yet, in parts of a few minutes each:
#   experiments/systems_on_gpu.sh OUT vanilla path gru keras seeds lstm-small lstm-large gru-small gru-large products
# The seconds are estimates for one H200. Runs, tables and benchmarks go to OUT; RNNLAB is the program, PYTHON has NumPy
# and PyTorch for `products`.
set -euo pipefail
[[ $# -ge 2 ]] || { echo "usage: experiments/systems_on_gpu.sh OUT PART..." >&2; exit 2; }
out="$(realpath -m "$1")"
shift
[[ -z "${RNNLAB:-}" ]] || RNNLAB="$(realpath "$RNNLAB")"
cd "$(dirname "${BASH_SOURCE[0]}")/.."
rnnlab="${RNNLAB:-build/release/rnnlab}"
python="${PYTHON:-python3}"
seeds='[1, 2, 3, 4, 5, 6, 7, 8, 9, 10]'

# The four accuracies and the whole fit of MNIST rows as they were, vanilla by graphs. 130 s.
vanilla() {
  "$rnnlab" train experiments/mnist_rows_as_was.yaml device=cuda training.cuda_graph=true --out "$out/vanilla" --quiet
  "$rnnlab" train experiments/mnist_rows_as_was.yaml device=cuda model.activation=tanh layer=fused --out "$out/vanilla" --quiet
  "$rnnlab" compare --force "$out"/vanilla/mnist_rows_as_was > "$out/vanilla.txt"
}

# Whether cuDNN learns more smoothly, at the source's size. 300 s.
path() {
  local file
  for file in gru_speed gru_speed_fair; do
    "$rnnlab" train "experiments/$file.yaml" device=cuda "sweep={seed: $seeds, layer: [naive, fused]}" --out "$out/path/$file" --quiet
    "$rnnlab" train "experiments/$file.yaml" name="${file}_before" device=cuda model.reset_gate=before layer=naive "sweep={seed: $seeds}" \
      --out "$out/path/$file" --quiet
    "$python" experiments/learning_path.py "$out/path/$file" > "$out/path-$file.md"
  done
}

# The two matrices of the GRU speed test. 30 s.
gru() {
  "$rnnlab" train experiments/gru_speed_fair.yaml device=cuda "sweep={layer: [naive, fused]}" --out "$out/gru" --quiet
  "$rnnlab" compare --matrices "$out/gru/gru_speed_fair" > "$out/gru.txt"
}

# All rows of the Keras table whole, with losses and accuracies: naive by graphs, and in 8 minutes without. 90 s.
keras() {
  "$python" experiments/keras_lstm_table.py --rows cuda:naive cuda:fused cuda:cudnn --passes 3 --program "$rnnlab" --out "$out/keras" \
    training.cuda_graph=true > "$out/keras.md"
}

# The two convolutions as they were, five seeds. 160 s.
seeds() {
  "$rnnlab" train experiments/cnn_mnist.yaml device=cuda "sweep={seed: [1, 2, 3, 4, 5]}" --out "$out/seeds" --quiet
  "$rnnlab" compare "$out/seeds/cnn_mnist" > "$out/seeds.txt"
}

# sweep NAME CELL LAYERS HIDDEN: the paper's sweep with naive in it, and the same for GRUs. 150 to 300 s each.
sweep() {
  "$rnnlab" bench experiments/bench_sweep.yaml device=cuda mode=graph precision=tf32 cudnn_algorithm=standard cell="$2" layer="$3" hidden_size="$4" \
    --csv "$out/$1.csv" > "$out/$1.txt"
}

# Products alone, by NumPy on the CPU and by LibTorch on both. 60 s.
products() { "$python" experiments/products.py > "$out/products.md"; }

mkdir -p "$out"
for part in "$@"; do
  SECONDS=0
  case "$part" in
    vanilla | path | gru | keras | seeds | products) "$part" ;;
    lstm-small) sweep "$part" lstm naive,grouped,hoisted,diagonal,cudnn 256,512 ;;
    lstm-large) sweep "$part" lstm naive,grouped,hoisted,diagonal,cudnn 1024,2048 ;;
    gru-small) sweep "$part" gru naive,hoisted,fused,cudnn 256,512 ;;
    gru-large) sweep "$part" gru naive,hoisted,fused,cudnn 1024,2048 ;;
    *) echo "error: no part '$part'; see the first lines of $0" >&2 && exit 2 ;;
  esac
  echo "$part: $SECONDS s"
done
