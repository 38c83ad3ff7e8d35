/* State files (docs/contract.md, "State file"): one HDF5 file, fields in global order, whole under its final name.
 *
 *   /fields/NAME  (ny, nx), or (nx) where ny is 1; attribute fingerprint (16 hex digits)
 *   /checksums/NAME  uint32, the CRC-32C of each block of /fields/NAME: block_rows rows of it (attribute), in 1D
 *                 block_cells cells, as they lie in the file; the last block may be shorter. Older files have none.
 *   /VTKHDF       an image of the same values for VTK and ParaView: virtual datasets, no data of their own
 *   root attributes schema_version, program, version, kind, step, fingerprint (of /fields/u or /fields/b), deck
 *   (resolved, as text), description_crc32c (of kind, type, shape, step, fingerprint and deck; older files have none)
 *   behind HDF5's end a checksum of all that is no field's data (checkpoint_seal.c; older files have none)
 * Written to NAME.tmp.<16 hex digits>, a name used once, flushed, fsynced, read back and compared as `verify` asks, renamed,
 * directory fsynced; an XDMF file beside it opens in ParaView and VisIt. All functions are collective over comm and return the same
 * status on every rank; on failure one sentence in why and, for writes, no NAME.tmp left behind and an older NAME untouched.
 * Data pass through host memory: `data` points at this rank's own cells, dense rows, in the field's type. */
#ifndef CHECKPOINT_H
#define CHECKPOINT_H

#include <mpi.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "box.h"
#include "checkpoint_status.h"
#include "dtype.h"

enum { CHECKPOINT_FIELDS_MAX = 2, CHECKPOINT_SCHEMA_VERSION = 1 };

typedef struct checkpoint_field {
    const char *name;     /* "u", "u_prev", "a", "b" */
    int64_t nx, ny;       /* global */
    box own;              /* global coordinates of this rank's cells */
    void *data;           /* box_cells(own) values */
    uint64_t fingerprint; /* global; write: given (what memory holds); read: found and verified */
} checkpoint_field;

typedef enum checkpoint_verify_how { /* what is read back before the rename */
    CHECKPOINT_VERIFY_FULL,   /* everything, by block checksums and fingerprints */
    CHECKPOINT_VERIFY_SAMPLE, /* a sixteenth of the blocks and the last, by checksums */
    CHECKPOINT_VERIFY_OFF,
} checkpoint_verify_how;

typedef struct checkpoint_state {
    const char *kind; /* "heat", ... */
    dtype type;
    int64_t step;
    const char *deck; /* resolved deck as text */
    int fields;
    checkpoint_field field[CHECKPOINT_FIELDS_MAX];
    const char *version; /* of the program, write only; NULL is stored as "unknown" */
    checkpoint_verify_how verify; /* write only */
    int aggregators;              /* write only: ranks that collect what others have and write it; 0: choose (writers.h) */
} checkpoint_state;

typedef struct checkpoint_info { /* what a file says about itself */
    char kind[16];
    dtype type;
    int64_t step, nx, ny;
    uint64_t fingerprint;
    char *deck; /* owned: checkpoint_info_free */
    bool sealed; /* its structure is known to be as it was written; false: no checksum to tell by */
} checkpoint_info;

/* Before MPI_Init: from here on HDF5 does nothing when the process ends, where it crashes after an H5Fclose that has failed. */
void checkpoint_before_mpi_init(void);

/* Reads only the attributes and shapes. */
checkpoint_status checkpoint_read_info(MPI_Comm comm, const char *path, checkpoint_info *info, char *why,
                                       size_t why_bytes);
void checkpoint_info_free(checkpoint_info *info);
/* Fills s->field[i].data of the named fields and s->step from the file and checks every fingerprint over all ranks. nx,
 * ny, type of the caller must match the file's (else DAMAGED with the sentence). */
checkpoint_status checkpoint_read(MPI_Comm comm, const char *path, checkpoint_state *s, char *why, size_t why_bytes);

enum { CHECKPOINT_DAMAGE_LISTED = 16, CHECKPOINT_DAMAGE_BYTES = 256 };

typedef struct checkpoint_report {
    checkpoint_info info; /* checkpoint_info_free */
    int64_t blocks;       /* with checksums, of all fields; 0: a file without */
    int64_t damaged;      /* blocks, or fields without checksums; the first few are listed below: dataset, block, rows */
    char damage[CHECKPOINT_DAMAGE_LISTED][CHECKPOINT_DAMAGE_BYTES];
} checkpoint_report;

/* Looks at every byte of the structure, and of the fields that the file's kind has. OK: whole. DAMAGED with r->damaged > 0: what is in r->damage, why
 * untouched; every other failure, with r->damaged 0 and its sentence in why: unreadable as a state file. */
checkpoint_status checkpoint_verify(MPI_Comm comm, const char *path, checkpoint_report *r, char *why, size_t why_bytes);

typedef struct checkpoint_place { /* of a largest difference */
    uint64_t size; /* cell_abs_bits of a double, NaN above all numbers; for ulps their number */
    int64_t x, y;  /* global; -1: no cell differs */
} checkpoint_place;
typedef struct checkpoint_difference { /* between two files' fields of one name */
    const char *field;
    int64_t cells;           /* whose bits differ; all NaN are one value */
    checkpoint_place abs, rel, ulp; /* |a-b|; |a-b| / max(|a|,|b|); representable numbers between them, in the field's type */
} checkpoint_difference;

/* Two state files of the same kind, type and shape, cell by cell, by every rank a part of the rows, a few megabytes at a time; and
 * each field against its own file's fingerprint. DAMAGED: one does not match (`why` names file and field). fields: how many entries
 * of diff are filled, 0 where the files hold different things. The infos are the caller's to free in any case. */
checkpoint_status checkpoint_compare(MPI_Comm comm, const char *const path[2], checkpoint_info info[2],
                                     checkpoint_difference diff[CHECKPOINT_FIELDS_MAX], int *fields, char *why, size_t why_bytes);

/* DIR/step_NNNNNNNNNN.h5 */
void checkpoint_path(char *out, size_t out_bytes, const char *dir, int64_t step);
/* Makes dir (one level and its parents) if it is missing. Collective. */
checkpoint_status checkpoint_make_dir(MPI_Comm comm, const char *dir, char *why, size_t why_bytes);
/* Step numbers of the checkpoints in dir, newest first; the array is the caller's to free. MISSING: no such dir or none. */
checkpoint_status checkpoint_list(MPI_Comm comm, const char *dir, int64_t **steps, size_t *count);

typedef struct checkpoint_foreign { /* a field in a file of any program: as it is there, and which cells of it are wanted */
    const char *path, *dataset;      /* NULL: /fields/u */
    dtype type;                      /* in memory */
    int64_t nx, ny;
    box own;
} checkpoint_foreign;

/* problem.initial = FILE.h5[:/dataset]: a dataset (ny, nx) or, in 1D, (nx) of any HDF5 number type, converted to `type`. Needs no
 * attributes: other programs write these. prev: the same from /fields/u_prev where that exists (*has_prev), or NULL. MISSING: no
 * such file or dataset, no HDF5 file, another shape or no numbers: the user's mistake, one sentence naming file, dataset, what it
 * is and what is needed. DAMAGED: its data cannot be read. */
checkpoint_status checkpoint_read_foreign(MPI_Comm comm, const checkpoint_foreign *q, void *data, void *prev, bool *has_prev,
                                          char *why, size_t why_bytes);

#endif
