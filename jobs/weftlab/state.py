"""Makes a state in one file, NEW.h5, of OLD.h5: the index of a state in parts, whose folder lies beside
it, a state of an older weft, or one that another program changed or repacked.

The cells of NEW.h5 are read back and have the fingerprints that OLD.h5 records. Exit status: 0 done,
1 OLD.h5 is damaged, 2 it is no state, or NEW.h5 is there, 3 h5py or numpy is missing, or NEW.h5 cannot
be written.
"""

import os
import sys

from weftlab import files, packages, text

try:
    import h5py
    import numpy as np
except ImportError:
    h5py = np = None  # main says so

BLOCK_BYTES, ONES, DAMAGED = 4 << 20, 0xFFFFFFFF, 1
TEXTS = ("program", "version", "kind", "fingerprint", "deck")
TRAILER = b"weft state trailer 2 folder=00000000 cells=%016x+%016x,%016x+%016x crc32c="


def image(columns, values):
    """Of values under a linear map of 32 bits, which its columns give."""
    bits, halves = (np.arange(256)[:, None] >> np.arange(8) & 1).astype("u4"), values.copy().view("<u2")
    t = [np.bitwise_xor.reduce(bits * columns[i : i + 8], axis=1) for i in (0, 8, 16, 24)]  # of a byte
    low, high = (t[1][:, None] ^ t[0]).ravel(), (t[3][:, None] ^ t[2]).ravel()  # of two
    return low[halves[::2]] ^ high[halves[1::2]]


def crc32c(data, crc=0):
    """Of what crc stands for and the bytes behind it: of words, which are joined by twos."""
    columns = np.r_[0x82F63B78, 1 << np.arange(31)].astype("u4")  # a register after a bit of zeros
    for _ in range(3):
        columns = image(columns, columns)
    padded = np.zeros(1 << max(1, (data.size - 1).bit_length()), "u1")  # zeros in front change nothing
    padded[padded.size - data.size :] = data
    words = image(image(columns, columns), np.arange(1 << 16, dtype="u4"))[padded.view("<u2")]
    start, left = np.array([crc ^ ONES], "u4"), data.size
    while left or words.size > 1:
        start = image(columns, start) if left & 1 else start
        columns, left = image(columns, columns), left >> 1
        words = image(columns, words[::2]) ^ words[1::2] if words.size > 1 else words
    return int(start[0] ^ words[0]) ^ ONES


def fingerprint(cells, first):
    """What cells add that stand in a row from number `first` on (docs/numerics.md)."""
    k = np.where(np.isnan(cells), 0x7FF8 << 48, cells.view("<u%d" % cells.itemsize)).astype("u8")
    k += np.arange(first + 1, first + 1 + cells.size, dtype="u8") * np.uint64(0x9E3779B97F4A7C15)
    for factor in (0xFF51AFD7ED558CCD, 0xC4CEB9FE1A85EC53):
        k = (k ^ k >> np.uint64(33)) * np.uint64(factor)
    return int((k ^ k >> np.uint64(33)).sum(dtype="u8"))


def copy(old, new):
    """A field: where its cells begin in the file, their bytes, and the CRC-32C of each block."""
    made, each = new.create_dataset(old.name, old.shape, old.dtype), BLOCK_BYTES // old.dtype.itemsize
    rows = max(1, each * old.shape[0] // old.size)
    for row in range(0, old.shape[0], rows):
        try:
            cells = old[row : row + rows]
        except OSError as error:
            raise ValueError(f"{old.name} cannot be read: {error}") from error
        made[row : row + rows] = cells
    new.flush()
    at, cells = made.id.get_offset(), np.memmap(new.filename, old.dtype, "r", made.id.get_offset(), old.size)
    blocks = [(cells[begin : begin + each], begin) for begin in range(0, old.size, each)]
    found = b"%016x" % (sum(fingerprint(*block) for block in blocks) % 2**64)
    if found != old.attrs["fingerprint"]:
        raise ValueError(f"{old.name} has another fingerprint than is recorded, {found.decode()}")
    made.attrs["fingerprint"] = np.bytes_(found)
    return at, cells.nbytes, [crc32c(block.view("u1")) for block, _ in blocks]


def write(old, path):
    names, row, runs, blocks = [n for n in ("u", "u_prev", "a", "b") if n in old["fields"]], [0, 0], [], []
    with h5py.File(path, "w", libver=("v108", "v110")) as new:
        for field in (old["fields"][name] for name in names):
            at, size, sums = copy(field, new)
            row += [0, field.shape[-1], 0, (1, *field.shape)[-2], at]
            runs, blocks = runs + [(at, size)], blocks + sums
        new.create_dataset("parts", data=[row]).attrs["fields"] = np.bytes_(" ".join(names))
        new.create_dataset("blocks", data=np.array(blocks, "<u4")).attrs["block_bytes"] = BLOCK_BYTES
        new.attrs.update(schema_version=2, step=old.attrs["step"], folder=np.array(b"", "S1"))
        new.attrs.update({name: old.attrs[name] for name in TEXTS})
    line, raw, crc, end = TRAILER % sum((runs + [(0, 0)])[:2], ()), np.memmap(path, "u1", "r"), 0, 0
    for at, size in sorted(runs) + [(raw.size, 0)]:
        crc, end = crc32c(raw[end:at], crc), at + size
    with open(path, "ab") as file:
        file.write(b"%s%08x\n" % (line, crc32c(np.frombuffer(line, "u1"), crc)))
        file.flush()
        os.fsync(file.fileno())


def main():
    parser = text.parser("state", __doc__)
    parser.add_argument("old", metavar="OLD.h5")
    parser.add_argument("new", metavar="NEW.h5")
    asked = parser.parse_args()
    packages.need(parser.prog, "h5py", "numpy")
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
        text.fail(parser.prog, f"{asked.old} is damaged: {error}", DAMAGED)
    return 0


if __name__ == "__main__":
    sys.exit(main())
