/* The families and rungs of `weft bench`, and the request of a command line.
 *
 * Families of rungs: those of kernels/ladder, which rank 0 climbs with its device while the others wait, and
 * halo, alltoall and io, which all ranks climb together. */
#pragma once

#include <stdbool.h>

#include "base/cmd.h"
#include "ladder/ladder.h"
#include "topology/topology.h"

extern const ladder_family bench_halo_host, bench_halo_cuda, bench_alltoall_host, bench_alltoall_cuda,
    bench_io_host, bench_io_cuda;
/* Deletes the files of the family io that are there; a signal handler may call it. */
void bench_io_delete_files(void);
/* From here on USR1, TERM and INT do so before they end the process. */
void bench_io_catch_signals(void);

/* All ranks climb it, each with its own device; else rank 0 does. */
static inline bool bench_together(const ladder_family *f) { return f->refusal != NULL; }

typedef struct bench_item {
    const ladder_family *family;
    const ladder_rung *rung;
    bool named; /* asked for by itself, not with its family */
} bench_item;

typedef struct bench_setting {
    const char *key; /* of the parameter's table */
    int64_t value;
} bench_setting;

enum { BENCH_SAMPLES_NONE = -1 };

typedef struct bench_request {
    topology_choice device; /* as typed */
    device_kind kind;
    device *d; /* of this rank, owned; NULL for a list */
    bool list; /* nothing is run, and no GPU is needed */
    dtype type;
    int samples;        /* 0: as many as fit into a fraction of a second; or BENCH_SAMPLES_NONE */
    int threads;        /* host device; 0: topology_threads chooses */
    const char *dir;    /* where family io writes its files */
    const char *output; /* file of records; "" none. Points into argv or a constant */
    bench_item *item;   /* in the order of the tables; owned */
    int items;
    bench_setting *setting; /* owned */
    int settings;
    sentence notes; /* on the device and the ranks' places, or "" */
} bench_request;

extern const cmd_option bench_request_options[];
void bench_request_print_keys(void *file); /* those that belong to no family, with their help; a FILE * */

/* Without names all rungs but, on one rank, those that ranks climb together. 0, or an exit status with one
 * sentence in why, which may differ between ranks. Collective, unless it is a list. */
int bench_request_make(bench_request *q, topology *top, int argc, char **argv, sentence *why);
void bench_request_free(bench_request *q);

/* The rung "family/rung"; false where that kind of device has none. */
bool bench_request_find(device_kind kind, const char *name, bench_item *item);
/* How many points the rung has: its scan, or one where the scanned parameter was set; and the value of a
 * parameter at one of them. */
int bench_request_points(const bench_request *q, const bench_item *item);
int64_t bench_request_value(const bench_request *q, const bench_item *item, int point, int parameter);
