/* What the parts of the family `access` share: plain patterns and the table (ladder_access.cu), rows and the L2's window
 * (ladder_access_l2.cu). CUDA device only. */
#ifndef LADDER_ACCESS_H
#define LADDER_ACCESS_H

#include "ladder.h"

#ifdef __cplusplus
extern "C" {
#endif

enum {
    LADDER_ACCESS_N,
    LADDER_ACCESS_OFFSET,
    LADDER_ACCESS_STRIDE,
    LADDER_ACCESS_UNROLL,
    LADDER_ACCESS_WIDTH_BYTES,
    LADDER_ACCESS_ROW_CELLS,
    LADDER_ACCESS_WINDOW_BYTES,
    LADDER_ACCESS_HIT_PERCENT,
    LADDER_ACCESS_PARAMETERS
};

/* Rows copied cell by cell. A rung's variant: packed, or as cudaMallocPitch would lay them. work: own cells read and written */
enum { LADDER_ACCESS_PACKED, LADDER_ACCESS_PITCHED };
int ladder_access_rows_prepare(ladder_case *c);
int ladder_access_rows(ladder_case *c); /* enqueue */
int ladder_access_rows_verify(ladder_case *c, ladder_verdict *v);

/* A stream of cells, each added to a cell of a window that is read again and again. A rung's variant: whether the window is
 * declared persisting in L2. work: a cell and one of the window read, the sum written */
enum { LADDER_ACCESS_NORMAL, LADDER_ACCESS_PERSISTING };
int ladder_access_window_prepare(ladder_case *c);
int ladder_access_window(ladder_case *c); /* enqueue */
int ladder_access_window_verify(ladder_case *c, ladder_verdict *v);
void ladder_access_window_destroy(ladder_case *c);
const char *ladder_access_window_missing(device *d);

#ifdef __cplusplus
}
#endif

#endif
