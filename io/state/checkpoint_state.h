/* State files (docs/contract.md, "State file"): one HDF5 file, fields in global order, whole under its final
 * name.
 *
 *   /fields/NAME  (ny, nx), or (nx) where ny is 1; attribute fingerprint (16 hex digits)
 *   /checksums/NAME  uint32, the CRC-32C of each block of /fields/NAME: block_rows rows of it (attribute), in
 *                    1D
 *                 block_cells cells, as they lie in the file; the last block may be shorter. Older files have
 *                 none.
 *   /VTKHDF       an image of the same values for VTK and ParaView: virtual datasets, no data of their own
 *   root attributes schema_version, program, version, kind, step, fingerprint (of /fields/u or /fields/b),
 *   deck (resolved, as text), description_crc32c (of kind, type, shape, step, fingerprint and deck; older
 *   files have none) behind HDF5's end a checksum of all that is no field's data (checkpoint_image.c; older
 *   files have none)
 * An XDMF file beside it opens in ParaView and VisIt. Data pass through host memory: `data` points at this
 * rank's own cells, dense rows, in the field's type. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "core/box.h"
#include "core/dtype.h"

enum { CHECKPOINT_FIELDS_MAX = 2, CHECKPOINT_SCHEMA_VERSION = 1 };

typedef struct checkpoint_field {
    const char *name;     /* "u", "u_prev", "a", "b" */
    int64_t nx, ny;       /* global */
    box own;              /* global coordinates of this rank's cells */
    void *data;           /* box_cells(own) values */
    uint64_t fingerprint; /* global; write: given (what memory holds); read: found and verified */
    int columns;          /* write only: of the process grid, by which own is this rank's (decomp_box) */
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
    int aggregators;              /* write only: ranks that collect what others have and write it; 0:
                                   * choose (writers.h) */
} checkpoint_state;

typedef struct checkpoint_info { /* what a file says about itself */
    char kind[16];
    dtype type;
    int64_t step, nx, ny;
    uint64_t fingerprint;
    char *deck; /* owned: checkpoint_info_free */
    bool sealed; /* its structure is known to be as it was written; false: no checksum to tell by */
} checkpoint_info;
void checkpoint_info_free(checkpoint_info *info);

/* Before MPI_Init: from here on HDF5 does nothing when the process ends, where it crashes after an H5Fclose
 * that has failed. */
void checkpoint_before_mpi_init(void);
