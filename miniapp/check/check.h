/* weft check: rounds of trials, judged after each; at the end a page, and a record of each round.
 *
 * A round consists of parts in a fixed order, a part of items: turns of ranks, rounds of pairs, likes. An
 * item is a trial: all ranks, or some while the others sleep, measure rungs of bench, which are verified
 * first; then each reports to rank 0, which writes what it hears to the part of the record at once, so that a
 * death loses nothing.
 *
 * A quick check ends within its limit, start-up included, whatever the number of ranks and the load. In the
 * first round an item begins only while its part has time. One that does not begin is not tried in later
 * rounds either, so that all rounds have the same figures. A later round ends where the longest trial so far
 * would end too late, and counts only if bits were wrong. All ranks decide alike, by rank 0's clock at the
 * end of the last trial.
 *
 * A signal to any rank ends a check between two trials. A rank that stands still is told by the run's
 * watchdog: each rank says in which trial it is. A rank that dies is the launcher's to end the others for. */
#pragma once

#include "bench/bench_measure.h"
#include "check/verdict.h"

/* All keys with their help. */
void check_print_keys(void *file); /* a FILE * */
/* Signals are caught from here on: USR1, TERM and INT ask for an end. With TERM and INT the process ends with
 * status 3 and leaves no file where the trial under way lasts longer than a launcher waits. */
void check_catch_signals(void);
/* argv[0] is "check"; begin_s: when the program started. Returns the exit status, the same on all ranks.
 * Collective. */
int check_command(topology *top, int argc, char **argv, double begin_s);

/* ---- between the files of this folder ---- */

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
    char part[4200];                /* OUTPUT.part */
} check_request;

/* How much of each trial: the same in all rounds, since rates of one like are compared. */
typedef enum check_size { CHECK_SMALL, CHECK_ON_HOST, CHECK_ON_GPU } check_size;
/* The places in check.setting that trials set. Bytes: of a message, or of what a rank fills or writes. */
enum { CHECK_BYTES, CHECK_RUN, CHECK_ROUND, CHECK_SETTINGS = 10 };

enum { TRIAL_FIGURES = 2 };
typedef struct trial_report { /* of a rank */
    int rank, figures;
    bool asked; /* a signal asked that rank for an end */
    check_figure figure[TRIAL_FIGURES];
    sentence wrong; /* of the one that has no rate, if there is one */
} trial_report;

typedef struct check {
    const check_request *ask;
    const topology *top; /* not owned, as is */
    device *d;
    int number;       /* of this rank on its host */
    int most_here;    /* ranks of the host that has the most */
    MPI_Comm reports; /* of all ranks; owned */
    check_size size;
    bench_world world;
    bench_request rungs; /* what bench is told, */
    bench_setting setting[CHECK_SETTINGS];
    bench bench;
    check_findings found; /* on rank 0 all; on the others without figures */
    int round;            /* from 0 */
    const char *trial;    /* under way, for people: "memory copy"; */
    int item;             /* and its number in its part */
    trial_report mine;    /* of the trial under way */
    double begin_s;       /* when the program started */
    double limit_s;       /* of a quick check; INFINITY: all items of all rounds begin */
    double now_s;         /* since the start, the same on all ranks, as is the next */
    double longest_s;     /* of all trials */
    double repeats_s;     /* of this round, without what the next one leaves out */
} check;

/* All parts of a round; a line on stderr says which one begins, of a soak once a round. False on all ranks:
 * an end was asked for, or time is over. Collective, as is the next. */
bool trial_round(check *c);
/* Rank 0's number for all, who sleep until it comes. */
double trial_tell(check *c, double number);
/* In the first round: what is not tried, and why; rank 0's is told. */
__attribute__((format(printf, 2, 3))) void trial_left_out(check *c, const char *format, ...);
/* Sets rate and noise of a point that was measured on that device. */
void trial_rate(check_figure *f, const bench_point *p, device_kind kind);
/* The partner of `one` of n in that round of pairs; -1: none, as one of an odd n has in each round. */
int trial_partner(int n, int round, int one);

/* The rung of a like that no family of bench has: patterns, which take `bytes`, or less where not all can be
 * had at once, `rank` and `round`; or a run of the program, by `run`, its number: of each size two. */
enum { CHECK_RUNS = 2 };
bench_item check_rung(check_like like);

/* The object "check" of a round's record line (docs/contract.md has its keys): verdict, rows and suspect of
 * all rounds so far, figures and faults of this one. A new reference. */
json_t *check_record(const check *c, const check_verdict *v);

/* The part of the record that a round under way has so far: OUTPUT.part, which a check that ends well
 * deletes. Its first line is the record's head with ranks and level; each next one is what a rank reported of
 * a trial. It is begun anew when the round's record is written. jobs/judge reads it beside OUTPUT. By rank 0;
 * these do nothing where there is no output, and exit where the file cannot be written. head: not taken. */
void check_part_begin(const check *c, const json_t *head);
void check_part_add(const check *c, const trial_report *t); /* whose figures are the last ones of c->found */
void check_part_end(const check *c);
