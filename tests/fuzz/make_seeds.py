#!/usr/bin/env python3
"""Writes the first corpus of every fuzz target: make_seeds.py FOLDER. Fixed findings are kept in the same folders."""
import gzip
import struct
import sys
from pathlib import Path

from http2_seeds import client_connections, framing, server_connections


def two_files(first, second):
    return struct.pack("<H", len(first)) + first + second


def idx(shape, body):
    return struct.pack(f">{1 + len(shape)}I", 0x0800 + len(shape), *shape) + body


def npy(dictionary, body, version=1):
    text = dictionary.encode() + b"\n"
    return b"\x93NUMPY" + bytes([version, 0]) + struct.pack("<H" if version == 1 else "<I", len(text)) + text + body


def npy_header(kind, shape, fortran="False"):
    return f"{{'descr': '{kind}', 'fortran_order': {fortran}, 'shape': {shape}, }}"


def idx_pairs():
    images, labels = idx((2, 1, 3), b"abcdef"), idx((2,), b"\1\2")
    return {
        "rank_3": (images, labels),
        "rank_2": (idx((3, 2), bytes(range(250, 256))), idx((3,), b"\0\4\xff")),
        "rank_5": (idx((1, 1, 2, 1, 2), b"wxyz"), idx((1,), b"\7")),
        "no_rows": (idx((0, 3), b""), idx((0,), b"")),
        "no_columns": (idx((2, 0, 4), b""), labels),
        "swapped": (labels, images),
        "cut_in_header": (images[:9], labels),
        "cut_in_body": (images[:-1], labels),
        "over_long": (images + b"!", labels),
        "other_count": (images, idx((3,), b"\1\2\3")),
        "claims_all_memory": (idx((0xFFFFFFFF, 0xFFFF, 0xFFFF), b"abc"), labels),
        "empty": (b"", b""),
    }


def json_texts():
    yield "scalars", b'[null,true,false,0,-1,18446744073709551615,-9223372036854775808,1e308,5e-324,0.1,"\\u00fc\\ud83d\\ude00"]'
    yield "nested", b'{"a":[{"b":{"c":[[],{}]}},"x"],"d":{"a":1}}'
    yield "tensors", b'[{"name":"fc.weight","shape":[10,784]},{"name":"fc.bias","shape":[10]}]'
    yield "deepest", b"[" * 64 + b"]" * 64
    yield "too_deep", b"[" * 65 + b"]" * 65
    yield "never_closed", b'{"a":' * 800
    yield "name_twice", b'{"a":1,"b":{"a":2},"a":3}'
    yield "name_twice_escaped", b'{"a":1,"\\u0061":2}'
    yield "wide", b"{" + b",".join(b'"%d":0' % i for i in range(400)) + b"}"
    yield "not_a_number", b'{"loss":NaN}'
    yield "too_large", b"[1e999,123456789012345678901234567890]"
    yield "not_utf8", b'["\xff\xfe"]'
    yield "half_a_pair", b'["\\ud800"]'
    yield "two_values", b"1 2"
    yield "bom", b"\xef\xbb\xbf{}"
    yield "empty", b""


def config():
    yield "empty", b""
    yield "whole", b"""[data]
source = "mnist"
test_source = ""
train = 5000
test = "all"
take = "first"
task = "even-odd"
scale = "auto"
label = "last"
header = "auto"
positive = ""

[federation]
nodes = 4
partition = "iid"

[model]
name = "svm"
lambda = 0.3

[algorithm]
name = "mfl"
eta = 0.002
gamma = 0.5
tau = 4

[run]
name = "seed"
steps = 1000
seed = 1
precision = "f32"
engine = "serial"
threads = 0
record_every = 0
checkpoint_every = 0

[schema]
features = ["a", "b, c"]
label = "y"
task = "binary"
classes = [0, "1"]
positive = 1
"""
    yield "schema_of_many_classes", b"[model]\nname = \"softmax\"\n[schema]\ntask = \"multiclass\"\nclasses = [10, \"b\", 9.0, \"a\", \"nan\"]\n"
    yield "schema_of_numbers", b"[schema]\nfeatures = 3\nclasses = [true, [1]]\n"
    yield "sweep", b'[algorithm]\ngamma = [0.0, 0.5, 9e-1]\neta = [1e-3, 2]\n[model]\nname = ["svm", "logistic"]\n'
    yield "inline", b'data = {source = "csv:a\\u0041\\n.csv", label = 3}\nrun.name = \'\'\'\na "b" \\\'\'\'\n'
    yield "dotted", b'[run]\nname = "\xc3\xa9\xf0\x9f\x8e\x88"\nseed = 0x7fff_ffff\nsteps = 0o17\n[data]\nscale = 5e-324\n'
    yield "unknown_key", b"[algorithm]\ngama = 0.5\n"
    yield "wrong_table", b"[run]\ngamma = 0.5\n[unknown]\na = 1979-05-27T07:32:00Z\n"
    yield "wrong_type", b'[algorithm]\neta = "fast"\ntau = 1.5\n[run]\nsteps = true\n'
    yield "out_of_range", b"[algorithm]\neta = nan\ngamma = 1.0\ntau = 0\n[run]\nseed = -1\nsteps = 99999999999999999999\n"
    yield "few_samples", b"[data]\ntrain = 3\n[federation]\nnodes = 4\n"
    yield "array_of_tables", b"[[data]]\ntrain = 1\n[[data]]\ntrain = [[1], [{}]]\n"
    yield "syntax", b'[data\nsource = "\n'


def text_seeds(rows, choices):
    return ((name, choices.get(name, b"0") + text) for name, text in rows.items())


def csv():
    rows = {
        "plain": b"1,2.5,-1\n3,-4e2,1\n",
        "header": b"a,b,side\r\n1,2,3\r\n4,5,6\r\n\r\n",
        "quoted": b'"a ""x""", "b"\n"1" ,\t" 2"\n',
        "label_first": b"1,2,3\n",
        "label_named": b"a,b\n1,2\n",
        "header_kept_out": b"1,2\n3,4\n",
        "header_is_data": b"a,b\n1,2\n",
        "byte_order_mark": b"\xef\xbb\xbf1,2\n",
        "ragged": b"1,2\n3\n",
        "not_finite": b"1,nan\ninf,2\n",
        "open_quote": b'1,"2\n3',
        "after_quote": b'"1"2,3\n',
        "large_and_small": b"1e308,5e-324,-0\n1e999,1,1\n",
        "one_column": b"1\n2\n",
        "empty_field": b"1,,2\n",
        "only_header": b"a,b\n",
        "text_labels": b'a,kind\n1,"be ""n"""\n2,malignant\n3,7.0\n',
        "text_labels_without_header": b"1,benign\n2,malignant\n3,benign\n",
        "latin_1": b"\xe4,b\n1,\xfc\n2,u\n",
    }
    return text_seeds(rows, {"label_first": b"3", "label_named": b"9", "header_kept_out": b"1", "header_is_data": b"2"})


def libsvm():
    rows = {
        "plain": b"+1 1:0.5 4:-2 # tail\n-1\n0 2:3\n\n",
        "within": b"1 1:1 4:4\r\n",
        "beyond": b"1 5:1\n",
        "largest": b"1 2147483647:1\n",
        "too_large": b"1 2147483648:1\n",
        "index_0": b"1 0:1\n",
        "twice": b"1 2:1 2:1\n",
        "unsorted": b"1 3:1 2:1\n",
        "no_value": b"1 3: 4\n",
        "no_pair": b"1 three\n",
        "not_finite": b"nan 1:inf\n",
        "no_features": b"1\n2\n",
        "only_comment": b"# nothing\n",
    }
    return text_seeds(rows, {"within": b"1", "beyond": b"1"})


def npys():
    doubles = struct.pack("<6d", 1, -2.5, 3e300, 5e-324, 0.0, -0.0)
    x = npy(npy_header("<f8", "(2, 3)"), doubles)
    y = npy(npy_header("<i8", "(2,)"), struct.pack("<2q", 1, -1))
    yield "f8", two_files(x, y)
    yield "f4", two_files(npy(npy_header("<f4", "(1, 2)"), struct.pack("<2f", 1, 2)), npy(npy_header("|b1", "(1,)"), b"\1"))
    yield "u1", two_files(npy(npy_header("|u1", "(2, 2)"), b"\0\1\2\xff"), npy(npy_header("<f4", "(2,)"), struct.pack("<2f", 0, 1)))
    for kind, code in (("|i1", "b"), ("<i2", "h"), ("<i4", "i"), ("|u1", "B"), ("<u2", "H"), ("<u4", "I"), ("<u8", "Q")):
        yield f"labels_{kind[1:]}", two_files(x, npy(npy_header(kind, "(2,)"), struct.pack(f"<2{code}", 7, 1)))
    yield "version_2", two_files(npy(npy_header("<f8", "(2, 3)"), doubles, 2), y)
    yield "reordered", two_files(npy('{"shape": (2,3), "fortran_order": False, "descr": "<f8"}', doubles), y)
    yield "fortran", two_files(npy(npy_header("<f8", "(2, 3)", "True"), doubles), y)
    yield "big_endian", two_files(npy(npy_header(">f8", "(2, 3)"), doubles), y)
    yield "claims_all_memory", two_files(npy(npy_header("<f8", "(1000000000000000, 3)"), doubles), y)
    yield "claims_more_than_exists", two_files(npy(npy_header("<f8", "(4294967296, 4294967296)"), doubles), y)
    yield "long_header", two_files(b"\x93NUMPY\2\0\xff\xff\xff\xff{", y)
    yield "no_rows", two_files(npy(npy_header("<f8", "(0, 3)"), b""), y)
    yield "three_dimensions", two_files(npy(npy_header("<f8", "(1, 2, 3)"), doubles), y)
    yield "nan", two_files(npy(npy_header("<f8", "(1, 1)"), struct.pack("<d", float("nan"))), y)
    yield "structured", two_files(npy("{'descr': [('a', '<f8')], 'fortran_order': False, 'shape': (1, 2)}", b""), y)


def safetensors():
    def file(index, numbers):
        return struct.pack("<Q", len(index)) + index + numbers

    def entry(kind, shape, first, last):
        return f'{{"dtype":"{kind}","shape":{shape},"data_offsets":[{first},{last}]}}'.encode()

    one = b'{"w/a":' + entry("F32", "[2]", 0, 8) + b'}'
    yield "one", file(one, b"12345678")
    yield "two", file(b'{"w/a":' + entry("F64", "[1,2]", 0, 16) + b',"d/a":' + entry("F64", "[]", 16, 24) + b"}  ", bytes(24))
    yield "metadata", file(b'{"__metadata__":{"mfl":"x"},"a":' + entry("BF16", "[0,3]", 0, 0) + b"}", b"")
    yield "overlap", file(b'{"a":' + entry("U8", "[2]", 0, 2) + b',"b":' + entry("U8", "[2]", 1, 3) + b"}", b"123")
    yield "claims_all_memory", file(b'{"a":' + entry("F64", "[4294967296,4294967296]", 0, 8) + b"}", bytes(8))
    yield "long_index", struct.pack("<Q", 2**63) + b"{}"
    yield "negative", file(b'{"a":' + entry("F32", "[-1]", -4, 0) + b"}", b"1234")
    yield "cut", file(one, b"1234")


def vectors(code, values):
    return struct.pack(f"<Q{len(values)}{code}", len(values), *values)


def state(bits=32, named=(("w", (1.0, -2.5)), ("d", (0.0, float("nan")))), best=(0.5, 0.25), version=1, count=None):
    code = "f" if bits == 32 else "d"
    out = b"MFLSTATE" + struct.pack("<IIQQI", version, bits, 3, 12, len(named) if count is None else count)
    for name, values in named:
        out += struct.pack("<I", len(name)) + name.encode() + vectors(code, values)
    return out + struct.pack("<Qd", 8, 0.25) + vectors(code, best)


def states():
    yield "f32", state()
    yield "f64", state(64)
    yield "no_best", state(best=())
    yield "empty_vector", state(named=(("w", ()),))
    yield "no_vectors", state(named=())
    yield "claims_many_vectors", state(count=0xFFFFFFFF)
    yield "claims_all_memory", state().replace(struct.pack("<Q", 2), struct.pack("<Q", 1 << 62), 1)
    yield "later_version", state(version=2)
    yield "version_0", state(version=0)
    yield "other_precision", state(bits=16)
    yield "bytes_after", state() + b"!"
    yield "cut", state()[:-3]
    yield "magic", b"MFLSTATE"
    yield "empty", b""


def rounds():
    for name, body in states():
        yield name, b"MFLROUND" + struct.pack("<QQ", 6272, 3136) + body
    yield "cut_in_header", b"MFLROUND\0\0\0"
    for name, moves in (("history", (1.5, 2.5)), ("history_of_none", ())):
        header = struct.pack("<QQdQ", 6272, 3136, 0.5, len(moves)) + struct.pack(f"<{len(moves)}d", *moves)
        yield name, b"MFLROUN2" + header + state()
    yield "history_claims_all_memory", b"MFLROUN2" + struct.pack("<QQdQ", 0, 0, 0.5, 1 << 61) + state()


def varint(number):
    out = b""
    while number > 127:
        out += bytes([number & 127 | 128])
        number >>= 7
    return out + bytes([number])


def field(number, value):
    """One field of a protobuf message: whole numbers, doubles, and anything with a length."""
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    if isinstance(value, float):
        return varint(number << 3 | 1) + struct.pack("<d", value)
    return varint(number << 3 | 2) + varint(len(value)) + value


def message(*values):
    return b"".join(field(number, value) for number, value in values)


def stream(*messages):
    return b"".join(struct.pack("<H", len(one)) + one for one in messages)


def wire():
    """See wire.proto for the fields."""
    ticket = b"\x09" + struct.pack("<Q", 0x1122334455667788) + message((2, 3), (3, 7))
    task = message((1, message((1, b"0badcafe"), (2, ticket), (3, 4), (4, b"5ca1e"), (5, 8))))
    header = message((1, b"0badcafe"), (2, ticket), (3, 1250), (4, 0.25), (5, 8))
    schema = message((1, 2), (2, b"age"), (2, b"b\xc3\xaf"), (4, b"side"), (5, b"binary"), (6, b"-1"), (6, b"1"), (7, b"1"))
    yield "hello", b"\0" + message((1, 2), (2, b"d1"))
    yield "plan", b"\1" + message((1, 2), (2, b"0badcafe"), (3, b"d1"), (4, b"svm"), (5, 0.3), (7, b"mfl"),
                                  (8, 0.002), (9, 0.5), (10, 4), (11, 1000), (12, 32), (13, schema))
    yield "plan_of_version_1", b"\1" + message((1, 1))
    yield "plan_of_unknown_task", b"\1" + message((1, 2), (13, message((5, b"ternary"))))
    yield "joining", b"\2" + message((1, 2), (2, b"d1"), (3, 1250), (4, 2), (5, 32), (6, schema))
    yield "joining_without_schema", b"\2" + message((1, 2), (2, b"d1"), (3, 1250), (4, 2), (5, 32))
    yield "joining_not_utf8", b"\2" + message((1, 2), (6, message((1, 1), (2, b"\xff"), (5, b"binary"))))
    many = message((1, 2), (5, b"multiclass"), (6, b"9"), (6, b"10"), (6, b"a"))
    yield "joining_multiclass", b"\2" + message((1, 2), (2, b"d1"), (3, 7), (4, 2), (5, 32), (6, many))
    yield "joining_multiclass_unordered", b"\2" + message((1, 2), (6, message((5, b"multiclass"), (6, b"10"), (6, b"9"))))
    yield "joining_of_three_classes", b"\2" + message((1, 2), (6, message((5, b"binary"), (6, b"a"), (6, b"b"), (6, b"c"))))
    yield "verdict", b"\3" + message((1, 7), (2, b"round 1 is over"))
    yield "verdict_unknown", b"\3" + message((1, 99))
    yield "verdict_not_utf8", b"\3" + message((2, b"\xff"))
    yield "status", b"\4" + message((1, b"0badcafe"), (2, b"training"), (3, 2), (12, 0.5), (13, bytes(range(16))))
    node = message((1, b"d1"), (2, 1), (3, 250), (4, 1250), (5, 3), (6, 0.5), (7, 0.25), (8, 1 << 31), (9, 2), (10, 60000))
    yield "status_of_nodes", b"\4" + message((2, b"training"), (16, 3), (32, 0.5), (33, 0.75), (34, node), (34, b""), (35, b"1.0"),
                                             (36, 1 << 31), (37, b"d1 is set aside"), (37, b"\xff"), (39, 1))
    yield "joining_of_instance", b"\2" + message((1, 2), (3, 1250)) + b"\x39" + struct.pack("<Q", 0x1122334455667788)
    yield "verdict_on_loss", b"\3" + message((1, 15), (2, b"loss 1e9"))
    yield "order_joined", b"\5" + stream(b"")
    yield "order_task", b"\5" + stream(b"", task, message((2, b"1234")), message((2, b"5678")))
    yield "order_twice", b"\5" + stream(task, task)
    yield "order_too_much", b"\5" + stream(task, message((2, b"123456789")))
    yield "order_claims_all_memory", b"\5" + stream(message((1, message((5, 1 << 62)))))
    yield "order_done", b"\5" + stream(message((3, message((1, b"done"), (2, b"f00d")))))
    yield "update", b"\6" + stream(message((1, header), (2, b"1234")), message((2, b"5678")))
    timed = header + message((6, 1.5), (7, 0.25), (8, float("nan")))
    yield "update_with_times", b"\6" + stream(message((1, timed), (2, b"12345678")))
    yield "update_cut", b"\6" + stream(message((1, header), (2, b"1234")))
    yield "update_headless", b"\6" + stream(message((2, b"5678")))
    yield "update_claims_all_memory", b"\6" + stream(message((1, message((5, 1 << 62))), (2, b"1234")))
    yield "update_of_no_steps", b"\6" + stream(message((1, message((3, 1), (4, float("inf"))))))


def corpora():
    pairs = idx_pairs()
    yield "config", config()
    yield "json", json_texts()
    yield "csv", csv()
    yield "libsvm", libsvm()
    yield "npy", npys()
    yield "safetensors", safetensors()
    yield "state", states()
    yield "round", rounds()
    yield "wire", wire()
    yield "framing", framing()
    yield "http2", [*server_connections(), *client_connections()]
    yield "connection", server_connections()
    yield "idx", ((name, two_files(*pair)) for name, pair in pairs.items())
    packed = {name: (b"0" + two_files(*pair)) for name, pair in pairs.items()}
    images, labels = (gzip.compress(part, mtime=0) for part in pairs["rank_3"])
    packed |= {
        "as_they_are": b"3" + two_files(images, labels),
        "two_members": b"3" + two_files(gzip.compress(b"\0\0\10", mtime=0) + gzip.compress(b"\3", mtime=0), labels),
        "cut_stream": b"3" + two_files(images[:-5], labels),
        "corrupt_stream": b"3" + two_files(images[:12] + b"\xff\xff" + images[14:], labels),
        "garbage_after": b"3" + two_files(images + b"garbage", labels),
        "labels_plain": b"2" + two_files(pairs["rank_3"][0], pairs["rank_3"][1]),
        "packs_well": b"3" + two_files(gzip.compress(idx((1, 100000), bytes(100000)), mtime=0),
                                      gzip.compress(idx((1,), b"\1"), mtime=0)),
    }
    yield "idx_gz", packed.items()


def main():
    for target, seeds in corpora():
        folder = Path(sys.argv[1]) / target
        folder.mkdir(parents=True, exist_ok=True)
        for name, content in seeds:
            (folder / name).write_bytes(content)


if __name__ == "__main__":
    main()
