/* What the parts of the family `ceiling` share: memory and the table (ladder_ceiling.cu), arithmetic and shared memory
 * (ladder_ceiling_chip.cu), and the way to the neighbour (ladder_peer.cu). CUDA device only. */
#ifndef LADDER_CEILING_H
#define LADDER_CEILING_H

#include "ladder/ladder.h"

int ladder_ceiling_fma_prepare(ladder_case *c);
int ladder_ceiling_fma_enqueue(ladder_case *c);
int ladder_ceiling_fma_verify(ladder_case *c, ladder_verdict *v);

int ladder_ceiling_shared_prepare(ladder_case *c);
int ladder_ceiling_shared_enqueue(ladder_case *c);
int ladder_ceiling_shared_verify(ladder_case *c, ladder_verdict *v);

#endif
