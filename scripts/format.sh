#!/usr/bin/env bash
# Formats every C++ file with clang-format; with --check it changes nothing and fails if a file is not formatted.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

case ${1-} in
  '') options=(-i) ;;
  --check) options=(--dry-run --Werror) ;;
  *)
    echo "usage: scripts/format.sh [--check]" >&2
    exit 2
    ;;
esac

folders=()
for folder in mfl tests examples benchmarks; do
  [[ ! -d $folder ]] || folders+=("$folder")
done
find "${folders[@]}" -type f \( -name '*.h' -o -name '*.cc' \) -print0 | xargs -0 clang-format "${options[@]}"
