#!/usr/bin/env bash
# Runs the long reliability tests and prints one figure per line: reliability.sh [BUILD]. BUILD is a build folder of ./test.sh,
# build/dev by default. Takes about half an hour, and an hour and a half more for the attacks, each of which lasts MFL_ATTACK_SECONDS (30)
# after as much undisturbed time; memory must be given back within MFL_ATTACK_SETTLE (60).
# docs/reliability.md has the last figures. Exit code 1 if a test fails.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

build=${1:-build/dev}
for program in federation_test network_test network_process_test state_folder_test; do
  [[ -x $build/bin/$program ]] || {
    echo "reliability.sh: no $build/bin/$program; build it with ./test.sh" >&2
    exit 2
  }
done
ulimit -n "$(ulimit -Hn)" # a thousand nodes in one process

failed=0
# run PROGRAM FILTER: lines that start with a number are the figures.
run() {
  local out
  out=$("$build/bin/$1" --gtest_filter="$2" 2> /dev/null) || {
    failed=1
    printf '%s\n' "$out" >&2
  }
  grep -E '^[0-9]' <<< "$out" || true
}

export MFL_FAULT_SEEDS=${MFL_FAULT_SEEDS:-1000000} MFL_KILLS=${MFL_KILLS:-200}
export MFL_KILLED_ROUNDS=${MFL_KILLED_ROUNDS:-100} MFL_PROXY_STEPS=${MFL_PROXY_STEPS:-1000}
export MFL_DOUBLE_STARTS=${MFL_DOUBLE_STARTS:-200} MFL_BIT_FLIPS=${MFL_BIT_FLIPS:-200}
export MFL_BAD_MB=${MFL_BAD_MB:-512} MFL_LOAD_NODES=${MFL_LOAD_NODES:-1000} MFL_LOAD_ROUNDS=${MFL_LOAD_ROUNDS:-10000}
run federation_test 'Faults.*'
run state_folder_test 'StateFolder.RandomBitFlips*'
run network_process_test 'RealFaults.*:Limits.*:Load.*:StateOwner.TwoServers*'
run network_test 'ServerTest.SixBadPeers*:ServerTest.SocketsThatSayNothing*'

# figures COMMAND...: a program that prints its figures itself, and what is wrong on stderr.
problems=$(mktemp)
trap 'rm -f "$problems"' EXIT
figures() {
  "$@" 2> "$problems" || {
    failed=1
    cat "$problems" >&2
  }
}

scripts/python_env.sh
figures build/python/bin/python3 -B tests/attack/hostile_nodes_test.py "$build/bin/mfl"
figures python3 -B tests/attack/admission_test.py "$build/bin/mfl" --figures
python3 -B tests/attack/run.py --mfl "$build/bin/mfl" --figures --seconds "${MFL_ATTACK_SECONDS:-30}" \
  --settle "${MFL_ATTACK_SETTLE:-60}" || failed=1
exit "$failed"
