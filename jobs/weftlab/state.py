"""Makes a state in one file, NEW.h5, of OLD.h5: the index of a state in parts, or a state that an older weft
or another program wrote. Its cells are read back and have the fingerprints that OLD.h5 records. Exit status:
0 done, 1 OLD.h5 is damaged, 2 it is no state, or NEW.h5 is there, 3 a package is missing, or no writing.
"""

import os
import struct

from weftlab import files, text

BLOCK_BYTES = 4 << 20
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
    names, runs, sums, first, row, fields = list(old["fields"]), [], [], [], [0, 0], b""
    with h5py.File(path, "w", libver=("v108", "v110")) as new:
        for name in names:
            first.append(len(sums))  # number of the field's first block
            field = copy(old["fields"][name], new, sums)
            runs.append((field.id.get_offset(), field.nbytes))
            row += [0, field.shape[-1], 0, (1, *field.shape)[-2], runs[-1][0]]
            fields += struct.pack("<16sqqQ", name.encode(), *row[-4::2], int(field.attrs["fingerprint"], 16))
        deck = old.attrs["deck"].replace(b"\naggregators =", b"\nwriters =")  # as keys and words were called
        deck = np.bytes_(deck.replace(b"\nverify = sample", b"\nverify = full"))
        new.attrs.update(old.attrs, schema_version=3, deck=deck)
        numbers = field.dtype.itemsize // 8, len(names), "b" in names, 1, old.attrs["step"], len(sums)
    table = struct.pack("<16s64s304x4i2q", old.attrs["kind"], old.attrs["version"], *numbers)
    table += fields.ljust(80, b"\0") + struct.pack("<14q", *(row + 5 * [0])[:12], *(first + [0])[:2])
    table += np.array(sums, "<u4").tobytes() + deck
    raw, runs = np.memmap(path, "u1", "r"), sorted(runs)
    ends = zip([0] + [at + size for at, size in runs], [at for at, _ in runs] + [raw.size])
    crcs = [crc32c(c) for c in (np.frombuffer(table, "u1"), np.concatenate([raw[a:b] for a, b in ends]))]
    with open(path, "ab") as file:
        file.write(table + TRAILER % (raw.size, *crcs))


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
            beside = os.path.dirname(os.path.realpath(asked.old))
            for part in parts:  # HDF5 reads those that are not there as NaN
                os.stat(os.path.join(beside, part.replace("%%", "%")))
            with files.replaced(asked.new, parser.prog) as name:
                write(old, name)
    except KeyError as error:
        text.fail(parser.prog, f"{asked.old} is no state of weft: {error.args[0]}")
    except (OSError, ValueError) as error:
        text.fail(parser.prog, f"{asked.old} is damaged: {error}", 1)
    return 0
