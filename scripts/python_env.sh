#!/usr/bin/env bash
# Makes the virtual environments of the tests: build/python with gRPC clients and what opens exported models, build/python-package
# with what the Python package is used with. Does nothing if they are complete. PyTorch is large and never installed here: its
# tests run if it is in build/python-package.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

# make FOLDER "MODULE ..." PACKAGE...: a folder in which every module can be imported.
make() {
  local folder=$1 modules=${2// /, }
  shift 2
  if [[ -x $folder/bin/python3 ]] && "$folder/bin/python3" -c "import $modules" 2> /dev/null; then return 0; fi
  [[ -x $folder/bin/python3 ]] || python3 -m venv --clear "$folder"
  "$folder/bin/python3" -m pip install --quiet --disable-pip-version-check "$@" || {
    echo "python_env.sh: cannot install $*; the tests that need them will fail" >&2
    return 1
  }
}

failed=0
make build/python "grpc grpc_tools numpy onnxruntime sklearn" grpcio grpcio-tools numpy onnxruntime scikit-learn || failed=1
make build/python-package "numpy scipy pandas sklearn matplotlib tqdm pytest nbclient ipykernel mypy" \
  numpy scipy pandas scikit-learn matplotlib tqdm pytest nbclient ipykernel mypy || failed=1
exit "$failed"
