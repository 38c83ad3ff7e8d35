/* A second GPU of the same process: where the peer rungs of `memory` and their ceiling keep their far buffer.
 * CUDA device only. */
#pragma once

#include "ladder/ladder.h"

/* Memory of the next GPU that this one may read and write; freed by ladder_close. */
int ladder_peer_alloc(ladder_case *c, size_t bytes, void **out);
const char *ladder_peer_missing(device *d); /* a rung's missing */
