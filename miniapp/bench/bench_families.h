/* All families of weft bench: those of kernels/ladder, which one rank climbs with its device, and those that
 * need MPI or files, which all ranks climb together. */
#pragma once

#include "ladder/ladder.h"

extern const ladder_family bench_halo_host, bench_halo_cuda, bench_alltoall_host, bench_alltoall_cuda,
    bench_io_host, bench_io_cuda;

/* Deletes the files of the family io that are there; a signal handler may call it. */
void bench_io_delete_files(void);
/* From here on USR1, TERM and INT do so before they end the process. */
void bench_io_catch_signals(void);

/* A family of those files on one kind of device, from their tables `parameters` and `rungs`; f32 and f64. */
#define BENCH_FAMILY(KIND, NAME, SHOWS) LADDER_FAMILY(KIND, NAME, SHOWS, "f32", "f64", refusal)

const ladder_family *const *bench_families(void); /* NULL ends them */

typedef struct bench_item {
    const ladder_family *family;
    const ladder_rung *rung;
    bool named; /* asked for by itself, not with its family */
} bench_item;
/* All rungs of this build, family by family, in the order of the tables. */
const bench_item *bench_items(int *count);
/* All ranks climb it, each with its own device; else one rank does and the others wait. */
static inline bool bench_families_together(const ladder_family *f) { return f->refusal != NULL; }
