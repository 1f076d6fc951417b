#!/usr/bin/env bash
# Installs what is missing, builds mfl, compares it with its peers and writes bench/RESULTS.md: bench.sh [OPTIONS]
#   --quick       two repeats and fewer steps        --repeats N   repeats of every measurement (7)
#   --only NAME   numpy, torch, sklearn, flower, softmax, sweep, roofline, federation, trainer, mpi, scaling or fleet
# The peers live in .venv/bench. BENCH_MFL=FILE measures that binary and builds nothing.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"

step="start"
trap 'printf "bench.sh: stopped: %s\n" "$step" >&2' ERR
begin() {
  step=$1
  printf '== %s\n' "$step" >&2
}

venv=.venv/bench
python=$venv/bin/python

install_peers() {
  if cmp -s bench/requirements.txt "$venv/installed.txt"; then return; fi
  begin "install the peers into $venv (several GB: PyTorch brings its CUDA libraries)"
  python3 -m venv "$venv"
  local peer complete=yes
  while read -r peer; do
    if ! "$python" -m pip install --quiet --disable-pip-version-check "$peer"; then
      printf 'bench.sh: %s cannot be installed: its comparisons are left out\n' "$peer" >&2
      complete=no
    fi
  done < <(grep -v '^#' bench/requirements.txt)
  if [[ $complete == yes ]]; then cp bench/requirements.txt "$venv/installed.txt"; fi
}

build_release() {
  begin "build the release"
  cmake --preset release > /dev/null
  cmake --build --preset release --target mfl_cli >&2
  local targets
  targets=$(cmake --build --preset release --target help)
  local program
  for program in mfl_bench mfl_transport mpi_bench; do
    if grep -q "^$program:" <<< "$targets"; then
      cmake --build --preset release --target "$program" >&2
    fi
  done
}

for option in "$@"; do
  if [[ $option == -h || $option == --help ]]; then
    sed -n '2,5s/^# \{0,1\}//p' "${BASH_SOURCE[0]}"
    exit 0
  fi
done

begin "install the packages that are missing"
scripts/install_packages.sh build bench
install_peers

mfl=${BENCH_MFL:-build/release/bin/mfl}
[[ -n ${BENCH_MFL:-} ]] || build_release

begin "get MNIST"
"$mfl" data fetch mnist >&2

begin "measure"
"$python" bench/driver.py --mfl "$mfl" --kernels build/release/bin/mfl_bench \
  --transport build/release/bin/mfl_transport "$@"
