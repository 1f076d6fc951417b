"""symbols_test.py LIBRARY HEADER: the library exports the functions of the header and nothing else, and needs no MPI."""
import re
import subprocess
import sys


def lines(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()


library, header = sys.argv[1:]
exported = {line.split()[-1].split("@")[0] for line in lines("nm", "-D", "--defined-only", library)} - {"MFL_1"}
with open(header, encoding="utf-8") as file:
    declared = set(re.findall(r"^MFL_API .*?(mfl_\w+)\(", file.read(), re.MULTILINE))
assert declared, "the header declares nothing"
assert exported == declared, f"exported and not declared: {exported - declared}; declared and not exported: {declared - exported}"
needed = [line for line in lines("readelf", "-d", library) if "NEEDED" in line]
assert not [line for line in needed if "mpi" in line], needed
