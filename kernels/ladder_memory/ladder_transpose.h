/* The transpose's problem, the same on every device: A is (ny,nx), row-major and dense, random; B is (nx,ny)
 * and must become A^T, bit by bit (the copies, which bound it, must make B = A). */
#pragma once

#include "ladder/ladder.h"

LINKAGE_C_BEGIN

enum { LADDER_TRANSPOSE_NX, LADDER_TRANSPOSE_NY, LADDER_TRANSPOSE_PARAMETERS };

int ladder_transpose_prepare(ladder_case *c); /* A is c->in, B is c->out; work: A read once, B written once */
int ladder_transpose_verify(ladder_case *c, ladder_verdict *v);
int ladder_transpose_production(ladder_case *c); /* enqueue: the device's own transpose */

LINKAGE_C_END
