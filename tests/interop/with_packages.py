#!/usr/bin/env python3
"""Runs a script with the Python packages of the tests: with_packages.py SCRIPT [ARGUMENT ...]."""
import os
import sys
from pathlib import Path

PYTHON = Path(__file__).resolve().parents[2] / "build" / "python" / "bin" / "python3"

if not PYTHON.exists():
    sys.exit("build/python does not exist: scripts/python_env.sh makes it, with grpcio, grpcio-tools, numpy, onnxruntime and scikit-learn")
os.execv(PYTHON, [str(PYTHON), "-B", *sys.argv[1:]])
