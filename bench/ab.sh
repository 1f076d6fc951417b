#!/usr/bin/env bash
# Compares two builds of mfl, interleaved: ab.sh OLD NEW [--rounds N] [--repeats N]. OLD and NEW are mfl binaries. Needs MNIST.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"
exec python3 ab.py "$@"
