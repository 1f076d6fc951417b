#!/usr/bin/env bash
# Compares two builds of mfl, interleaved: ab.sh OLD NEW [--pairs N] [--only NAME,...] [--within PERCENT] [--json FILE], or ab.sh --list.
# OLD and NEW are mfl binaries. Needs Python and GNU time, and no network; images are those of MNIST if `mfl data fetch mnist` has been run.
set -euo pipefail
exec python3 "$(dirname "${BASH_SOURCE[0]}")/ab.py" "$@"
