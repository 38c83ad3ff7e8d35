/* What the rungs of family roofline hold while they are measured, and the host's answers to them. */
#ifndef LADDER_ROOFLINE_H
#define LADDER_ROOFLINE_H

#include "ladder/ladder.h"

enum { LADDER_ROOFLINE_NX, LADDER_ROOFLINE_NY, LADDER_ROOFLINE_RADIUS, LADDER_ROOFLINE_PARAMETERS };

/* Random content: cur and prev by the index in the field with its ghosts, row-major; the buffer by its own index. */
enum { LADDER_ROOFLINE_CUR = 21, LADDER_ROOFLINE_PREV = 22, LADDER_ROOFLINE_BUFFER = 23 };

typedef struct ladder_roofline {
    field_shape shape; /* ghosts `radius` deep, in 1D along x only */
    stencil op;
    void *next, *cur, *prev, *buffer; /* device memory; NULL where the rung has no use for it */
    uint64_t *result;                 /* device memory: of a reduction */
    pack_piece piece[PACK_PIECES_MAX];
    int pieces;
    int64_t buffer_cells;
} ladder_roofline;

int ladder_roofline_verify_sweep(ladder_case *c, ladder_verdict *v);
int ladder_roofline_verify_max_change(ladder_case *c, ladder_verdict *v);
int ladder_roofline_verify_fingerprint(ladder_case *c, ladder_verdict *v);
int ladder_roofline_verify_pack(ladder_case *c, ladder_verdict *v);
int ladder_roofline_verify_unpack(ladder_case *c, ladder_verdict *v);
int ladder_roofline_verify_copy(ladder_case *c, ladder_verdict *v); /* of the buffer, into `next` */

#endif
