#!/usr/bin/env bash
# Fuzzes with libFuzzer under sanitizers: fuzz.sh TARGET|all [RUNS]   (RUNS: 1000000)
# Targets are the folders of tests/fuzz/corpus. New inputs go to build/fuzz/corpus, findings to build/fuzz/findings.
# FUZZ_SEED=N draws other inputs. Exit code 1 if there is a finding.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

usage() {
  sed -n '2,4s/^# \{0,1\}//p' "${BASH_SOURCE[0]}"
}

[[ $# -ge 1 && $# -le 2 ]] || {
  usage >&2
  exit 2
}
if [[ $1 == -h || $1 == --help ]]; then
  usage
  exit 0
fi
runs=${2:-1000000}
seed=${FUZZ_SEED:-1}
if [[ $1 == all ]]; then
  targets=()
  for folder in tests/fuzz/corpus/*/; do targets+=("$(basename "$folder")"); done
elif [[ -d tests/fuzz/corpus/$1 ]]; then
  targets=("$1")
else
  echo "fuzz.sh: unknown target '$1'; the targets are: $(cd tests/fuzz/corpus && echo *)" >&2
  exit 2
fi

scripts/install_packages.sh build fuzz
cmake --preset fuzz > /dev/null
programs=()
for target in "${targets[@]}"; do programs+=("fuzz_$target"); done
cmake --build build/fuzz --target "${programs[@]}" >&2

mkdir -p build/fuzz/findings build/fuzz/logs
failed=0
printf '%-10s %10s %10s %8s %8s  %s\n' target runs runs/s edges inputs finding
for target in "${targets[@]}"; do
  mkdir -p "build/fuzz/corpus/$target"
  log=build/fuzz/logs/$target.txt
  dictionary=()
  [[ ! -f tests/fuzz/$target.dict ]] || dictionary=(-dict="tests/fuzz/$target.dict")
  finding=none
  # A single allocation above 64 MB is a finding: no input is larger than 4 KB.
  "build/fuzz/bin/fuzz_$target" -runs="$runs" -seed="$seed" -max_len=4096 -timeout=10 -rss_limit_mb=1024 \
    -malloc_limit_mb=64 -print_final_stats=1 ${dictionary[@]+"${dictionary[@]}"} \
    -artifact_prefix="build/fuzz/findings/$target-" \
    "build/fuzz/corpus/$target" "tests/fuzz/corpus/$target" > "$log" 2>&1 || {
    finding="see $log"
    failed=1
  }
  done_runs=$(sed -n 's/^stat::number_of_executed_units: *//p' "$log")
  rate=$(sed -n 's/^stat::average_exec_per_sec: *//p' "$log")
  edges=$(grep -o ' cov: [0-9]*' "$log" | tail -n 1 | tr -dc 0-9)
  inputs=$(grep -o ' corp: [0-9]*' "$log" | tail -n 1 | tr -dc 0-9)
  printf '%-10s %10s %10s %8s %8s  %s\n' "$target" "${done_runs:-?}" "${rate:-?}" "${edges:-?}" "${inputs:-?}" "$finding"
done
exit "$failed"
