#!/usr/bin/env bash
# Compares two builds of mfl, interleaved: ab.sh OLD NEW [--rounds N] [--repeats N] [--only simulation|federation]. OLD and NEW are mfl
# binaries. Needs MNIST.
set -euo pipefail
if [[ $# -ge 2 && -e $1 && -e $2 ]]; then set -- "$(realpath -- "$1")" "$(realpath -- "$2")" "${@:3}"; fi
cd "$(dirname "${BASH_SOURCE[0]}")"
exec python3 ab.py "$@"
