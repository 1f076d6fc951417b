#!/usr/bin/env bash
# The long forms of the reliability tests, one figure a line: reliability.sh [BUILD]. BUILD is a folder that ./test.sh made,
# build/dev if not said. Takes some minutes. docs/reliability.md has the last figures.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

build=${1:-build/dev}
for program in federation_test network_test network_process_test; do
  [[ -x $build/bin/$program ]] || {
    echo "reliability.sh: no $build/bin/$program; build it with ./test.sh" >&2
    exit 2
  }
done

figures() { grep -E '^[0-9]+ (seeds|kills|of)|FAILED' || true; }

MFL_FAULT_SEEDS=${MFL_FAULT_SEEDS:-1000000} "$build/bin/federation_test" --gtest_filter='Faults.*' | figures
MFL_KILLS=${MFL_KILLS:-200} "$build/bin/network_process_test" --gtest_filter='RealFaults.AServerKilled*' | figures
"$build/bin/network_test" --gtest_filter='ServerTest.SixBadPeers*' 2> /dev/null | figures
