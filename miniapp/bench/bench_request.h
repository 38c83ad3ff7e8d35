/* The request of a command line of `weft bench`, checked. */
#pragma once

#include <stdbool.h>

#include "base/cmd.h"
#include "bench/bench_families.h"
#include "topology/topology.h"

extern const cmd_option bench_request_options[CMD_OPTIONS_MAX];

typedef struct bench_setting {
    const char *key; /* of the parameter's table */
    int64_t value;
} bench_setting;

enum { BENCH_SAMPLES_NONE = -1 };

typedef struct bench_request {
    topology_choice device; /* as typed */
    device_kind kind;
    sentence note; /* why it is the host, where the user might think otherwise; else "" */
    bool list;     /* nothing is run, and no GPU is needed */
    bool any_kind; /* of a list: the rungs of all devices of this build */
    bool csv;      /* rows as CSV instead of tables */
    dtype type;
    int samples;        /* 0: as many as fit into a fraction of a second; BENCH_SAMPLES_NONE: nothing is
                         * timed */
    int threads;        /* host device; 0: OpenMP's own number */
    const char *dir;    /* where family io writes its files */
    const char *output; /* file of records; "" none. Points into argv or a constant */
    bench_item *item;   /* in the order of the tables; owned */
    int items;
    bench_setting *setting; /* owned */
    int settings;
} bench_request;

/* With several ranks the families that they climb together belong to "all". 0, or an exit status with one
 * sentence in why, which may differ between ranks. Collective, unless it is a list. */
int bench_request_make(bench_request *q, const topology *top, int argc, char **argv, sentence *why);
void bench_request_free(bench_request *q);

/* The rung "family/rung", or the first one of "family"; false where that kind of device has none. */
bool bench_request_find(device_kind kind, const char *name, bench_item *item);
/* The value of a family's parameter: what was set, else its usual one. was_set may be NULL. */
int64_t bench_request_asked(const bench_request *q, const ladder_parameter *p, bool *was_set);
/* How many points the rung has: its scan, or one where the scanned parameter was set; and the value of a
 * parameter at one of them. */
int bench_request_points(const bench_request *q, const bench_item *item);
int64_t bench_request_value(const bench_request *q, const bench_item *item, int point, int parameter);
/* "device", "dtype" ...: the keys that belong to no family, with their help, to stdout. */
void bench_request_print_keys(void *file); /* a FILE * */
