/* weft check: rounds of trials, judged after each; at the end a page, and a record of each round. */
#pragma once

#include <stdbool.h>

#include "core/sentence.h"
#include "topology/topology.h"

typedef enum check_level { CHECK_QUICK, CHECK_FULL, CHECK_SOAK } check_level;
extern const char *const check_level_words[]; /* NULL ends them */

/* The request of the command line, checked. */
typedef struct check_request {
    check_level level;
    topology_choice kind;
    double time_s;        /* of all rounds of a soak; else they end with budget_s */
    double budget_s;      /* of a round */
    double stall_limit_s; /* 0: nothing watches */
    /* These point into argv or are constants. */
    const char *dir;                /* where files are written and deleted */
    const char *output, *reference; /* "" none */
} check_request;

/* False with one sentence in why, which is the user's mistake. */
bool check_request_make(check_request *q, int argc, char **argv, sentence *why);
/* All keys with their help. */
void check_request_print_keys(void *file); /* a FILE * */

/* Signals are caught from here on: USR1, TERM and INT ask for an end. With TERM and INT the process ends with
 * status 3 and leaves no file where the trial under way lasts longer than a launcher waits. */
void check_catch_signals(void);
/* On the device that was chosen. command: as it was typed; begin_s: when the program started. Returns the
 * exit status, the same on all ranks. Collective. */
int check_machine(topology *top, device *d, const check_request *ask, const char *command, double begin_s);
