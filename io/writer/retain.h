/* Which checkpoints of a directory stay: the newest `keep`, every k-th, and the last that is known to be
 * whole. */
#pragma once

#include <mpi.h>
#include <stdint.h>

typedef struct retain_rule {
    int keep;                /* how many of the newest; 0: all */
    int64_t milestone_steps; /* checkpoints of multiples of it stay besides; 0: none do */
} retain_rule;

enum { RETAIN_NONE_VERIFIED = -1 };

/* Of the checkpoints up to step `last`, the one just written, deletes those that the rule does not keep, with
 * their XDMF files, but never that of step `verified`, the last one known to be whole (or
 * RETAIN_NONE_VERIFIED). Those of later steps are another run's: they neither count nor go. A file that
 * cannot be deleted stays. By one rank, in any thread. */
void retain_apply(const char *dir, retain_rule rule, int64_t last, int64_t verified);

/* Collective. Deletes what runs that died left half written, the temporary files (replace.h) of
 * step_NNNNNNNNNN.h5, of its .xmf and of series.xmf, and says how many files that were, on every rank. Rank 0
 * lists the directory: other hosts may have cached it. The caller holds the directory's lock: a live run's
 * files look the same. */
int retain_clean(MPI_Comm comm, const char *dir);
