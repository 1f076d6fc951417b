"""The parts of bench/driver.py; standard library only."""
