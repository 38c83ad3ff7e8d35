/* What the rungs of family roofline hold while they are measured, and the host's answers to them. */
#ifndef LADDER_ROOFLINE_H
#define LADDER_ROOFLINE_H

#include "ladder_compute/ladder_field.h"

enum { LADDER_ROOFLINE_NX, LADDER_ROOFLINE_NY, LADDER_ROOFLINE_RADIUS, LADDER_ROOFLINE_PARAMETERS };

/* c->in and c->out: what a rung reads and writes, fields, messages, or the result of a reduction. */
typedef struct ladder_roofline {
    ladder_field field; /* ghosts `radius` deep, in 1D along x only */
    void *prev;         /* the second field that is read; NULL where there is none */
    pack_piece piece[PACK_PIECES_MAX];
    int pieces;
    int64_t buffer_cells;
} ladder_roofline;

int ladder_roofline_verify_max_change(ladder_case *c, ladder_verdict *v);
int ladder_roofline_verify_fingerprint(ladder_case *c, ladder_verdict *v);
int ladder_roofline_verify_pack(ladder_case *c, ladder_verdict *v);
int ladder_roofline_verify_unpack(ladder_case *c, ladder_verdict *v);

#endif
