#!/usr/bin/env bash
# Checks the Python package as users install it: check_package.sh
#   1. pip install . into a fresh environment, and the Python example of README.md there
#   2. the wheel of scripts/build_wheel.sh in another environment with no compiler on the path, and the same example
# Takes minutes where ccache is empty. Prints what it measured; exit code 1 if something fails.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
say() { printf '== %s\n' "$*"; }

# The ```pycon blocks of README.md as a doctest.
python3 - README.md > "$work/readme.txt" << 'PYTHON'
import re, sys
print("\n\n".join(re.findall(r"^```pycon\n(.*?)^```$", open(sys.argv[1], encoding="utf-8").read(), re.MULTILINE | re.DOTALL)))
PYTHON

# try VENV: the example, the program, its exit codes and where the shared libraries are found; with nothing but VENV on the path.
try() {
  local venv=$1
  (
    cd "$work"
    export PATH=$venv/bin MFL_STORE=$work/runs.db
    unset PYTHONPATH MFL_LIBRARY MFL_PROGRAM
    "$venv/bin/python3" -m doctest -o ELLIPSIS -o NORMALIZE_WHITESPACE readme.txt
    "$venv/bin/mfl" --version
    code=0
    "$venv/bin/mfl" run --nope 2> /dev/null || code=$?
    [[ $code == 2 ]] || {
      echo "check_package.sh: mfl run --nope exits with $code" >&2
      exit 1
    }
  )
}

say "pip install . into a fresh environment"
python3 -m venv "$work/source"
start=$SECONDS
"$work/source/bin/python3" -m pip install --quiet --disable-pip-version-check '.[sklearn,pandas,plot]'
say "installed in $((SECONDS - start)) s"
try "$work/source"

say "build the wheel"
start=$SECONDS
wheel=$(scripts/build_wheel.sh | tail -n 1)
say "$wheel: $(du -k "$wheel" | cut -f 1) KiB in $((SECONDS - start)) s"
python3 -m venv "$work/wheel"
PATH=$work/wheel/bin "$work/wheel/bin/python3" -m pip install --quiet --disable-pip-version-check "$wheel[sklearn,pandas,plot]"
try "$work/wheel"

say "shared libraries of the wheel"
inside=$("$work/wheel/bin/python3" -c 'import mfl, pathlib; print(pathlib.Path(mfl.__file__).parent)')
for file in "$inside/_lib/libmfl.so" "$inside/_lib/mfl"; do
  found=$(ldd "$file")
  ! grep 'not found' <<< "$found" || exit 1
  bundled=$(grep -c '/mfl\.libs/' <<< "$found" || true)
  system=$(awk '$2 == "=>" && $3 !~ /mfl\.libs/ { print $1 }' <<< "$found" | sort | tr '\n' ' ')
  echo "$(basename "$file"): $bundled from the wheel; from the system: $system"
done
say "all of it works"
