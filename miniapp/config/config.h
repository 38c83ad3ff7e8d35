/* Everything a deck can say, checked. One table (config_table.c), a row per key with its type, unit, default,
 * range and help, fills this struct, prints --help's list of keys and the resolved deck, and compares two
 * decks: config_table.c reads a value by itself, config.c holds the values against each other, config_text.c
 * writes them. Const after validation. */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cmd_key.h"
#include "core/boundary.h"
#include "core/dtype.h"
#include "core/kind.h"
#include "core/stencil.h"
#include "deck/deck.h"
#include "state/state_write.h"
#include "topology/topology.h"
#include "transports/transport.h"

typedef enum config_initial {
    CONFIG_INITIAL_MODE,
    CONFIG_INITIAL_RANDOM,
    CONFIG_INITIAL_GAUSSIAN,
    CONFIG_INITIAL_ZERO,
    CONFIG_INITIAL_FILE
} config_initial;
typedef enum config_memory { CONFIG_MEMORY_AUTO, CONFIG_MEMORY_DEVICE, CONFIG_MEMORY_HOST } config_memory;
typedef enum config_feed {
    CONFIG_FEED_AUTO,
    CONFIG_FEED_OPENMP,
    CONFIG_FEED_SERIAL,
    CONFIG_FEED_GRAPH
} config_feed;
typedef enum config_progress {
    CONFIG_PROGRESS_AUTO,
    CONFIG_PROGRESS_ON,
    CONFIG_PROGRESS_OFF
} config_progress;
typedef enum config_on_error { CONFIG_ON_ERROR_STOP, CONFIG_ON_ERROR_CONTINUE } config_on_error;

typedef struct config {
    struct {
        kind_id kind;
        dtype type;
        int order;                            /* 2 4 .. 16 */
        double alpha;
        int radius;                           /* order / 2; laplace 1; custom: from weights;
                                               * transpose 0 */
        double weights[STENCIL_WEIGHTS_MAX];  /* custom: as written, row-major, dy ascending; 1D: one row */
        int weights_count;                    /* 2r+1 or (2r+1)^2 */
        config_initial initial;
        char file[4096], dataset[256];        /* CONFIG_INITIAL_FILE; dataset "/fields/u" unless named */
        char beside[4096];                    /* file from the deck's folder, where it is there alone; else
                                               * "" */
        int64_t mode_x, mode_y;
        int64_t seed;
    } problem;
    struct {
        int64_t nx, ny;
        boundary sides;                       /* NONE never occurs here */
    } grid;
    struct {
        int64_t steps;
        double tolerance;
        int64_t norm_every;                   /* resolved: 1 with a tolerance unless given */
    } time;
    struct {
        topology_choice device;
        config_memory memory;
        int64_t device_memory_bytes;          /* per rank; 0: what is free */
        transport_kind transport;
        config_feed feed;
        int streams, fuse, threads, ranks_x, ranks_y; /* 0 = choose */
        int tune; /* as a bool */
        double wall_limit_s;                       /* 0: SLURM_JOB_END_TIME, where it is set */
        double stall_limit_s;                      /* 0: nothing watches */
    } run;
    struct {
        char dir[4096];
        int64_t every;
        int keep, keep_every, writers; /* writers 0: choose */
        int async; /* as a bool */
        config_on_error on_error;
        state_verify_how verify;
    } checkpoint;
    struct {
        char record[4096], final[4096], picture[4096], trace[4096], series[4096]; /* "" = none */
        int64_t every;                        /* steps; 0: no series, and a picture that does not move */
        double picture_low, picture_high;     /* the same: from the cells */
        config_progress progress;
    } output;
} config;

static inline bool config_two_d(const config *c) { return c->grid.ny > 1; }
static inline const kind_row *config_kind_of(const config *c) { return kind_of(c->problem.kind); }
/* Is what comes every so many steps due at this level? every: norm_every, checkpoint.every, output.every. */
static inline bool config_due(int64_t every, int64_t level) { return every > 0 && level % every == 0; }

/* An axis of n cells has n modes: from 0 on, with a dirichlet side from 1 on. */
static inline int64_t config_first_mode(boundary_kind low, boundary_kind high)
{
    return low == BOUNDARY_DIRICHLET || high == BOUNDARY_DIRICHLET ? 1 : 0;
}

/* Defaults, then the deck, then what follows from them (radius, stability limits, modes in range, sides in
 * pairs). False with one sentence in why: key, value, what is allowed. Does not look at files, devices or
 * rank counts. */
bool config_from_deck(config *c, const deck *d, sentence *why);

/* "problem.order, problem.seed": the keys of [problem], [grid] and [time] that the deck gives another value
 * than the default and that this kind, grid or initial value does not use; "" if there is none. */
void config_ignored_keys(const config *c, const deck *d, sentence *keys);

/* The resolved deck as text: every key with its value, sections in order; config_from_deck of it gives the
 * same config. The caller frees. */
char *config_to_text(const config *c);
/* Adds the resolved values of the keys with this prefix ("run.") to o, named without their section; returns
 * o. */
json_t *config_add_json(json_t *o, const config *c, const char *prefix);
/* The size of the fields in a state file. */
double config_state_bytes(const config *c);
/* The first key of [problem] or [grid] in which two configs differ, or NULL: a restart must agree there. */
const char *config_first_difference(const config *a, const config *b);

extern const char *const config_sides[]; /* from BOUNDARY_PERIODIC on; NULL ends them */
const char *config_feed_name(config_feed f);
const char *config_initial_name(config_initial i);
/* The file of problem.initial, seen from here or beside the deck. */
static inline const char *config_initial_path(const config *c)
{
    return c->problem.beside[0] ? c->problem.beside : c->problem.file;
}

/* ---- the table ---- */

/* Kinds of key that config_table.c reads itself. */
enum {
    CONFIG_PATH = CMD_KEY_OWN, /* char[4096]; "none" is the empty string where optional */
    CONFIG_SIDE,               /* a boundary_side */
    CONFIG_INITIAL,            /* problem.initial with problem.file and problem.dataset */
    CONFIG_SIDES,              /* grid.boundary: all four sides at once; from here on in no record */
    CONFIG_WEIGHTS             /* problem.weights; the count is checked in config.c */
};

/* cmd_key.use: what a key needs to mean something. */
enum {
    CONFIG_USE_DIFFERENCES = 1, /* a kind with an order and an alpha */
    CONFIG_USE_WEIGHTS = 2,
    CONFIG_USE_MODE = 4, /* initial = mode of a kind that has modes */
    CONFIG_USE_RANDOM = 8,
    CONFIG_USE_STENCIL = 16, /* any kind but transpose */
    CONFIG_USE_2D = 32
};

extern const cmd_key config_table[];
extern const size_t config_table_count;

const cmd_key *config_table_find(const char *key);
bool config_uses(const config *c, int use); /* config.c */
/* Reads one value into the config. False: not allowed (why empty: say what is; else a reason of its own). */
bool config_table_read(config *c, const cmd_key *row, const char *text, sentence *why);
/* Prints them for --help. */
void config_print_keys(void *file);
