/* States: the fields of a run at one step, on disk. No byte of any file is written by two ranks. NAME.h5 is
 * the index: description, parts, checksums. NAME.6f2c9a01/3.h5 is part 3: the rectangle of one writer. A
 * state of one part is one file: the index holds the cells itself. io/README.md has the format.
 *
 * weft reads parts by pread where the index says, never through HDF5 and never through the virtual dataset,
 * which turns a part that cannot be opened into fill values. Each block of STATE_BLOCK_BYTES is compared with
 * its CRC-32C as it is read. Every box is in global cells; every buffer is the caller's, dense rows of the
 * state's type. */
#pragma once

#include <mpi.h>
#include <stdbool.h>
#include <stdint.h>

#include "core/box.h"
#include "core/dtype.h"
#include "core/sentence.h"

/* ---- how a call ended: between two collective calls every rank's status goes through state_agree, and after
 * a failure only calls that all ranks make follow ---- */

typedef enum state_status {
    STATE_OK,
    STATE_MISSING, /* no such file or folder, or nothing in it: the user's mistake */
    STATE_BUSY,    /* another run writes there: the user's mistake too */
    STATE_DAMAGED, /* not a state, a part missing, a checksum or fingerprint that does not match */
    STATE_IO,      /* the file system's failure: full, unwritable, not to be read */
} state_status;

/* The worst status of all ranks; why becomes the sentence of the lowest rank that has it. Collective. */
state_status state_agree(MPI_Comm comm, state_status mine, sentence *why);
/* 0; the user's mistake: CHECK_EXIT_USAGE; else CHECK_EXIT_ENVIRONMENT. */
int state_exit(state_status status);
/* "cannot WHAT PATH: text of the errno code"; STATE_IO. */
state_status state_file_failed(const char *what, const char *path, int code, sentence *why);
/* Opens a regular file for reading. MISSING: there is none; DAMAGED: a pipe or a device; IO. */
state_status state_file_open(const char *path, int *fd, sentence *why);

/* ---- a state ---- */

enum { STATE_FIELDS_MAX = 2, STATE_SCHEMA_VERSION = 3, STATE_PATH_BYTES = 4400, STATE_NAME_BYTES = 304 };
enum { STATE_BLOCK_BYTES = 4 << 20 };

/* The table of an index has field, part and info as they are in memory; docs/contract.md names their columns.
 */
typedef struct state_field {
    char name[16];        /* "u", "u_prev", "a", "b" */
    int64_t nx, ny;       /* ny is 1 in 1D */
    uint64_t fingerprint; /* over the whole field */
} state_field;

typedef struct state_part {
    int64_t bytes;         /* of its file; unused in a state of one file, as is the next */
    int64_t structure_crc; /* of the file's bytes that are no cells */
    struct {
        box cells;        /* empty: it has none of that field */
        int64_t at_bytes; /* where they begin in its file */
    } of[STATE_FIELDS_MAX];
    int64_t block[STATE_FIELDS_MAX]; /* number of the first block of these cells in the state */
} state_part;

/* An index's contents. Owned by the caller: state_close. The same on every rank. */
typedef struct state_info {
    char kind[16], version[64];
    char folder[STATE_NAME_BYTES]; /* of the parts, a name beside the index; "": one file */
    dtype type;
    int fields, main_field; /* main_field's fingerprint stands for the whole state */
    int parts;
    int64_t step, blocks;
    state_field field[STATE_FIELDS_MAX];
    char path[STATE_PATH_BYTES]; /* of the index; the members before it are the table's head */
    state_part *part;            /* owned; behind them, in the same memory, the rest of the table */
    uint32_t *crc;               /* [blocks]: CRC-32C of each, part by part, in a part field by field */
    char *deck;                  /* resolved, as text */
    int64_t rest_bytes;          /* of parts, checksums and deck */
} state_info;

/* DIR/step_NNNNNNNNNN.h5 */
void state_path(char *out, size_t out_bytes, const char *dir, int64_t step);
/* The step of "DIR/step_NNNNNNNNNN.h5", -1 for any other name. */
int64_t state_step_of(const char *path);

/* Reads an index, by its table alone. MISSING: no such file; DAMAGED: not a
 * whole state, or one of another step than its name says; IO. s is to be closed in any case. Collective. */
state_status state_open(MPI_Comm comm, const char *path, state_info *s, sentence *why);
void state_close(state_info *s);

/* The one way to cells: the cells of field i in `cells` go to data. By one rank alone. DAMAGED names part,
 * block and rows: a part that is missing, short, long, foreign or exchanged, a block that differs. */
state_status state_read(const state_info *s, int i, box cells, void *data, sentence *why);

typedef struct state_report {
    int64_t damaged; /* blocks, parts and fields */
    sentence first;  /* of them: part, block, rows, dataset */
} state_report;
/* Reads every byte of every part once. OK, or DAMAGED with what is in r, or IO with why. Collective. */
state_status state_verify(MPI_Comm comm, const state_info *s, state_report *r, sentence *why);

typedef struct state_place { /* of a largest difference */
    uint64_t size;           /* cell_abs_bits of a double, NaN above all numbers */
    int64_t x, y;            /* global; -1: no cell differs */
} state_place;
typedef struct state_difference { /* between two states' fields of one name */
    int64_t cells;                /* whose bits differ; all NaN are one value */
    state_place abs, rel;         /* |a-b|; |a-b| / max(|a|,|b|) */
} state_difference;
/* Are kind, type, fields and grid the same? */
bool state_is_alike(const state_info *a, const state_info *b);
/* Two alike states cell by cell, a few megabytes at a time, however each is cut; diff[i] of field i.
 * Collective. */
state_status state_diff(MPI_Comm comm, const state_info *a, const state_info *b,
                        state_difference diff[STATE_FIELDS_MAX], sentence *why);

/* ---- a rank's level: what a run writes and reads ---- */

typedef struct state_cells {
    const char *name;
    int64_t nx, ny;       /* global */
    box own;              /* this rank's cells */
    int columns;          /* of the process grid, by which own is this rank's */
    void *data;           /* own's dense rows */
    uint64_t fingerprint; /* write: this rank's share */
} state_cells;

typedef struct state_level {
    const char *kind, *deck, *version; /* version: of the program; unused where it is read */
    dtype type;
    int64_t step;
    int fields, main_field;
    state_cells field[STATE_FIELDS_MAX];
} state_level;

/* Fills l->field[].data of all ranks and l->step, and compares the fingerprints. DAMAGED where kind, type,
 * fields or grid of the two differ. Collective. */
state_status state_load(MPI_Comm comm, const state_info *s, state_level *l, sentence *why);

/* ---- problem.initial = FILE.h5[:/dataset] ---- */

typedef struct state_foreign {
    const char *path, *dataset;
    dtype type; /* in memory */
    int64_t nx, ny;
    box own;
} state_foreign;
/* A dataset (ny, nx), or (nx), of any HDF5 number type, of any program: of a state of weft's by state_read,
 * else by H5Dread of this rank's rectangle. prev: the same from /fields/u_prev where that exists (*has_prev),
 * or NULL. MISSING: no such file or dataset, another shape, no numbers, values in files that are not there:
 * the user's mistake. DAMAGED: its data cannot be read. Collective. */
state_status state_read_foreign(MPI_Comm comm, const state_foreign *q, void *data, void *prev, bool *has_prev,
                                sentence *why);

/* Before MPI_Init: from here on HDF5 prints nothing, and does nothing when the process ends. */
void state_before_mpi_init(void);
