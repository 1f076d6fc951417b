"""Small data in the formats that mfl reads, written with the standard library alone."""

import struct

ROWS = 150


def write_data(folder, nodes):
    """A file or folder for every data source that takes one, and the rows of each node in a file."""
    columns = range(6)
    rows = [[(row * (column + 3) * 7 + column * row * row) % 23 for column in columns] for row in range(ROWS)]
    labels = [(sum(values[:3]) + values[4] * 2) % 5 > 1 for values in rows]
    with open(folder / "csv", "w", encoding="utf-8") as file:
        file.write("a,b,c,d,e,f,site,label\n")
        for row, (values, label) in enumerate(zip(rows, labels, strict=True)):
            file.write(f"{','.join(map(str, values))},site {row % nodes},{int(label)}\n")
    with open(folder / "libsvm", "w", encoding="utf-8") as file:
        for values, label in zip(rows, labels, strict=True):
            numbers = " ".join(f"{i + 1}:{value / 4}" for i, value in enumerate(values) if value % 3)
            file.write(f"{1 if label else -1} {numbers}\n")
    write_npy(folder / "npy", rows, labels)
    write_idx(folder / "idx", rows)
    held = "".join(" ".join(map(str, range(node, ROWS, nodes))) + "\n" for node in range(nodes))
    (folder / "nodes.txt").write_text(held, encoding="utf-8")


def write_npy(folder, rows, labels):
    def write(path, kind, shape, numbers):
        header = f"{{'descr': '{kind}', 'fortran_order': False, 'shape': {shape}, }}"
        header += " " * (-(len(header) + 11) % 64) + "\n"
        path.write_bytes(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode() + numbers)

    folder.mkdir()
    flat = [value / 8 for values in rows for value in values]
    write(folder / "x.npy", "<f4", (len(rows), len(rows[0])), struct.pack(f"<{len(flat)}f", *flat))
    signs = [1.0 if label else -1.0 for label in labels]
    write(folder / "y.npy", "<f4", (len(rows),), struct.pack(f"<{len(rows)}f", *signs))


def write_idx(folder, rows):
    folder.mkdir()
    for part, of in (("train", rows), ("t10k", rows[: ROWS // 3])):
        pixels = bytes(value * 11 for values in of for value in values)
        digits = bytes(sum(values) % 10 for values in of)
        (folder / f"{part}-images-idx3-ubyte").write_bytes(struct.pack(">IIII", 2051, len(of), 2, 3) + pixels)
        (folder / f"{part}-labels-idx1-ubyte").write_bytes(struct.pack(">II", 2049, len(of)) + digits)
