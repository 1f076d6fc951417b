"""`python -m mfl` is the program `mfl`."""
from ._program import main

main()
