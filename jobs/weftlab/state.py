"""Makes a state in one file, NEW.h5, of OLD.h5: the index of a state in parts, or a state that an older weft
or another program wrote. Its cells are read back and have the fingerprints that OLD.h5 records. Exit status:
0 done, 1 OLD.h5 is damaged, 2 it is no state, or NEW.h5 is there, 3 a package is missing, or no writing.
"""

import os
import sys

from weftlab import files, text

BLOCK_BYTES = 4 << 20
COPIED = ("step", "program", "version", "kind", "fingerprint", "deck")
FIELD = [("name", "S16"), ("nx", "<i8"), ("ny", "<i8"), ("fingerprint", "<u8")]
HEAD = [  # of the table (docs/contract.md, State file)
    *(("kind", "S16"), ("version", "S64"), ("folder", "S304"), ("f64", "<i4"), ("fields", "<i4")),
    *(("main_field", "<i4"), ("parts", "<i4"), ("step", "<i8"), ("blocks", "<i8"), ("field", FIELD, 2)),
]
TRAILER = b"weft state trailer 3 table=%016x crc32c=%08x structure=%08x\n"


def image(columns, values):
    """Of values under a linear map of 32 bits, which its columns give."""
    bits, halves = (np.arange(256)[:, None] >> np.arange(8) & 1).astype("u4"), values.copy().view("<u2")
    t = [np.bitwise_xor.reduce(bits * columns[i : i + 8], axis=1) for i in (0, 8, 16, 24)]  # of a byte
    low, high = (t[1][:, None] ^ t[0]).ravel(), (t[3][:, None] ^ t[2]).ravel()  # of two
    return low[halves[::2]] ^ high[halves[1::2]]


def crc32c(data):
    """Of four bytes or more, as words, which are joined by twos: the register is linear in the data."""
    columns = np.r_[0x82F63B78, 1 << np.arange(31)].astype("u4")  # a register after a bit of zeros
    for _ in range(5):
        columns = image(columns, columns)
    padded = np.zeros(1 << max(2, (data.size - 1).bit_length()), "u1")  # zeros in front change nothing
    padded[-data.size :] = data
    padded[-data.size :][:4] ^= 0xFF
    words = image(columns, padded.view("<u4"))
    while words.size > 1:
        columns, words = image(columns, columns), image(columns, words[::2]) ^ words[1::2]
    return int(words[0]) ^ 0xFFFFFFFF


def fingerprint(cells, first):
    """What cells add that stand in a row from number `first` on (docs/numerics.md)."""
    k = np.where(np.isnan(cells), 0x7FF8 << 48, cells.view("<u%d" % cells.itemsize)).astype("u8")
    k += np.arange(first + 1, first + 1 + cells.size, dtype="u8") * np.uint64(0x9E3779B97F4A7C15)
    for factor in (0xFF51AFD7ED558CCD, 0xC4CEB9FE1A85EC53):
        k = (k ^ k >> np.uint64(33)) * np.uint64(factor)
    return int((k ^ k >> np.uint64(33)).sum(dtype="u8"))


def copy(old, new, sums):
    """A field, as it is read back; adds the CRC-32C of each of its blocks."""
    made, found = new.create_dataset(old.name, old.shape, old.dtype), 0
    each, width = BLOCK_BYTES // old.dtype.itemsize, old.size // old.shape[0]
    rows = max(1, each // width)  # of a block; of a longer row, pieces
    for row in range(0, old.shape[0], rows):
        try:
            made[row : row + rows] = old[row : row + rows]
        except OSError as error:
            raise ValueError(f"{old.name} cannot be copied: {error}") from error
        cells = made[row : row + rows].ravel()
        for at in range(0, cells.size, each):
            found += fingerprint(cells[at : at + each], row * width + at)
            sums.append(crc32c(cells[at : at + each].view("u1")))
    found = b"%016x" % (found % 2**64)
    if found != old.attrs["fingerprint"]:
        raise ValueError(f"{old.name} has another fingerprint than is recorded, {found.decode()}")
    made.attrs["fingerprint"] = np.bytes_(found)
    return made


def write(old, path):
    names, runs, sums = [n for n in ("u", "u_prev", "a", "b") if n in old["fields"]], [], []
    head, part = np.zeros(1, HEAD), np.zeros(14, "<i8")
    with h5py.File(path, "w", libver=("v108", "v110")) as new:
        for i, name in enumerate(names):
            field = copy(old["fields"][name], new, sums)
            runs.append((field.id.get_offset(), field.nbytes))
            ny, nx = (1, *field.shape)[-2:]
            part[2 + 5 * i : 7 + 5 * i] = 0, nx, 0, ny, runs[i][0]
            part[13] = part[13] or len(sums)  # where the second field's blocks begin
            head["field"][0, i] = name, nx, ny, int(field.attrs["fingerprint"], 16)
        new.attrs.update({name: old.attrs[name] for name in COPIED}, schema_version=3)
        for name in ("kind", "version", "step"):
            head[name] = old.attrs[name]
        main = [field["fingerprint"] for field in head["field"][0]].index(int(old.attrs["fingerprint"], 16))
        head["f64"], head["fields"], head["main_field"] = field.dtype.itemsize == 8, len(names), main
        head["parts"], head["blocks"], deck = 1, len(sums), old.attrs["deck"]
    table = b"".join([head.tobytes(), part.tobytes(), np.array(sums, "<u4").tobytes(), deck])
    raw, runs = np.memmap(path, "u1", "r"), sorted(runs)
    ends = zip([0] + [at + size for at, size in runs], [at for at, _ in runs] + [raw.size])
    structure = crc32c(np.concatenate([raw[begin:end] for begin, end in ends]))
    with open(path, "ab") as file:
        file.write(table + TRAILER % (raw.size, crc32c(np.frombuffer(table, "u1")), structure))


def main():
    global h5py, np
    parser = text.parser("state", __doc__)
    parser.add_argument("old", metavar="OLD.h5")
    parser.add_argument("new", metavar="NEW.h5")
    asked = parser.parse_args()
    text.need(parser.prog, "h5py", "numpy")
    import h5py
    import numpy as np
    if os.path.lexists(asked.new):
        text.fail(parser.prog, f"{asked.new} is there, and is not replaced")
    if not h5py.is_hdf5(asked.old):
        text.fail(parser.prog, f"{asked.old} is not there, or no HDF5 file")
    try:
        with h5py.File(asked.old, "r") as old:
            parts = [s.file_name for f in old["fields"].values() if f.is_virtual for s in f.virtual_sources()]
            for part in parts:  # HDF5 reads those that are not there as NaN
                os.stat(os.path.join(os.path.dirname(asked.old), part.replace("%%", "%")))
            with files.replaced(asked.new, parser.prog) as name:
                write(old, name)
    except KeyError as error:
        text.fail(parser.prog, f"{asked.old} is no state of weft: {error.args[0]}")
    except (OSError, ValueError) as error:
        text.fail(parser.prog, f"{asked.old} is damaged: {error}", 1)
    return 0


if __name__ == "__main__":
    sys.exit(main())
