/* Reading state files (checkpoint_state.h) and fields of other programs' files. All functions are collective
 * over comm and return the same status on every rank, on failure with one sentence in why. */
#pragma once

#include <mpi.h>
#include <stdbool.h>
#include <stdint.h>

#include "core/box.h"
#include "core/dtype.h"
#include "state/checkpoint_state.h"
#include "state/checkpoint_status.h"

/* Reads only the attributes and shapes. */
checkpoint_status checkpoint_read_info(MPI_Comm comm, const char *path, checkpoint_info *info, sentence *why);
/* Fills s->field[i].data of the named fields and s->step from the file and checks every fingerprint over all
 * ranks. nx, ny, type of the caller must match the file's (else DAMAGED with the sentence). */
checkpoint_status checkpoint_read(MPI_Comm comm, const char *path, checkpoint_state *s, sentence *why);

enum { CHECKPOINT_DAMAGE_LISTED = 16 };

typedef struct checkpoint_report {
    checkpoint_info info; /* checkpoint_info_free */
    int64_t blocks;       /* with checksums, of all fields; 0: a file without */
    int64_t damaged;      /* blocks, or fields without checksums; the first few are listed below: dataset,
                           * block, rows */
    sentence damage[CHECKPOINT_DAMAGE_LISTED];
} checkpoint_report;

/* Looks at every byte of the structure, and of the fields that the file's kind has. OK: whole. DAMAGED with
 * r->damaged > 0: what is in r->damage, why untouched; every other failure, with r->damaged 0 and its
 * sentence in why: unreadable as a state file. */
checkpoint_status checkpoint_verify(MPI_Comm comm, const char *path, checkpoint_report *r, sentence *why);

typedef struct checkpoint_place { /* of a largest difference */
    uint64_t size; /* cell_abs_bits of a double, NaN above all numbers; for ulps their number */
    int64_t x, y;  /* global; -1: no cell differs */
} checkpoint_place;
typedef struct checkpoint_difference { /* between two files' fields of one name */
    const char *field;
    int64_t cells;           /* whose bits differ; all NaN are one value */
    checkpoint_place abs, rel, ulp; /* |a-b|; |a-b| / max(|a|,|b|); representable numbers between them, in
                                     * the field's type */
} checkpoint_difference;

/* Two state files of the same kind, type and shape, cell by cell, by every rank a part of the rows, a few
 * megabytes at a time; and each field against its own file's fingerprint. DAMAGED: one does not match (`why`
 * names file and field). fields: how many entries of diff are filled, 0 where the files hold different
 * things. The infos are the caller's to free in any case. */
checkpoint_status checkpoint_compare(MPI_Comm comm, const char *const path[2], checkpoint_info info[2],
                                     checkpoint_difference diff[CHECKPOINT_FIELDS_MAX], int *fields,
                                     sentence *why);

/* a field in a file of any program: as it is there, and which cells of it are wanted */
typedef struct checkpoint_foreign {
    const char *path, *dataset;      /* NULL: /fields/u */
    dtype type;                      /* in memory */
    int64_t nx, ny;
    box own;
} checkpoint_foreign;

/* problem.initial = FILE.h5[:/dataset]: a dataset (ny, nx) or, in 1D, (nx) of any HDF5 number type, converted
 * to `type`. Needs no attributes: other programs write these. prev: the same from /fields/u_prev where that
 * exists (*has_prev), or NULL. MISSING: no such file or dataset, no HDF5 file, another shape or no numbers:
 * the user's mistake, one sentence naming file, dataset, what it is and what is needed. DAMAGED: its data
 * cannot be read. */
checkpoint_status checkpoint_read_foreign(MPI_Comm comm, const checkpoint_foreign *q, void *data, void *prev,
                                          bool *has_prev, sentence *why);
