#!/usr/bin/env bash
# Installs what is missing, builds mfl, compares it with its peers and writes results/bench/RESULTS.md: bench.sh [OPTIONS]
#   --record      write bench/RESULTS.md and bench/plots instead; for a complete run only, without the options below
#   --quick       two repeats and fewer steps        --repeats N   repeats of every measurement (5; --record takes 5 or more)
#   --only NAME   numpy, torch, sklearn, flower, softmax, sweep, roofline, federation, trainer, mpi, scaling or fleet
#   --plan        print the parts and how long they should take, and stop
#   --reasons     copy the reasons of bench/missed.toml for the recorded run into bench/RESULTS.md, and stop
# A complete run takes about 45 minutes on two quiet cores, building included, installing PyTorch and Flower (several GB) not.
# The peers live in .venv/bench. BENCH_MFL=FILE measures that binary and builds nothing.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"
read -r load _ < /proc/loadavg # before the build adds to it

step="start"
trap 'printf "bench.sh: stopped: %s\n" "$step" >&2' ERR
begin() {
  step=$1
  printf '== %s (%d min %02d s since the start)\n' "$step" $((SECONDS / 60)) $((SECONDS % 60)) >&2
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
  case $option in
    -h | --help)
      sed -n '2,9s/^# \{0,1\}//p' "${BASH_SOURCE[0]}"
      exit 0
      ;;
    --plan | --reasons) exec python3 bench/driver.py "$@" ;;
  esac
done

begin "install the packages that are missing"
scripts/install_packages.sh build bench
begin "check the options and print the plan"
python3 bench/driver.py --plan "$@" # before anything takes long: refuses options that do not go together
install_peers

mfl=${BENCH_MFL:-build/release/bin/mfl}
[[ -n ${BENCH_MFL:-} ]] || build_release

begin "get MNIST"
"$mfl" data fetch mnist >&2

begin "measure"
"$python" bench/driver.py --mfl "$mfl" --load "$load" "$@"
begin "done"
