#!/usr/bin/env bash
# Makes the virtual environment build/python with the Python packages of the tests: grpcio, grpcio-tools, numpy, onnxruntime and scikit-learn. Does
# nothing if it is complete.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

folder=build/python
packages=(grpcio grpcio-tools numpy onnxruntime scikit-learn)
if [[ -x $folder/bin/python3 ]] && "$folder/bin/python3" -c 'import grpc, grpc_tools, numpy, onnxruntime, sklearn' 2> /dev/null; then exit 0; fi
python3 -m venv --clear "$folder"
"$folder/bin/python3" -m pip install --quiet --disable-pip-version-check "${packages[@]}" || {
  echo "python_env.sh: cannot install ${packages[*]}; the tests that need them will fail" >&2
  exit 1
}
