#include "check/check.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/cmd.h"
#include "base/machine.h"
#include "bench/bench_link.h"
#include "check/trial.h"
#include "output/record.h"
#include "ranks/check.h"
#include "ranks/fault.h"
#include "ranks/ranks.h"
#include "run/watchdog.h"

/* ---- sizes ---- */

static const double rehearsal_s = 5; /* below this many seconds in a round sizes are small */

enum { REHEARSAL, ON_HOST, ON_GPU };
static const check_sizes sizes[] = {
    /* bytes: copied, of a message, of patterns, on disk; cells: edges of a plane and of a matrix */
    [REHEARSAL] = { 1 << 20, 64 << 10, 4 << 20, 1 << 20, 256, 256, .known_run = 0 },
    [ON_HOST] = { 32 << 20, 1 << 20, 0, 16 << 20, 2048, 1024, .known_run = 1 },
    [ON_GPU] = { 256 << 20, 16 << 20, 0, 64 << 20, 8192, 4096, .known_run = 2 },
};

/* ---- rounds ---- */

/* A rank's own trials come first: a host or a file system that is slow must not leave them no time. Filling
 * memory comes late: what frees most of a GPU's memory is followed by some tenths of a second in which copies
 * reach .86 of their rate, as the driver clears what was freed. */
static const trials *const parts[] = { &trials_own,      &trials_pairs, &trials_host_pairs,
                                       &trials_patterns, &trials_files, &trials_job };
enum { PARTS = sizeof parts / sizeof *parts };

/* A line on stderr says which part begins, of a soak once a round. False: an end was asked for. */
static bool one_round(check *c)
{
    static int items[PARTS]; /* of each part, in every round */
    const bool quick = c->ask->level == CHECK_QUICK;
    bool more = true;
    c->repeats_s = 0;
    for (int i = 0; i < PARTS && more; i++) {
        const double begin_s = c->now_s;
        if (quick && c->round > 0 && parts[i]->once) continue;
        if (c->round == 0) items[i] = parts[i]->count ? parts[i]->count(c) : 1;
        if (items[i] > 0 && (c->ask->level != CHECK_SOAK || c->round == 0 || i == 0))
            (void)cmd_say(0, "round %d, %.1f s: %s", c->round + 1, c->now_s, parts[i]->items);
        more = trial_part(c, parts[i], &items[i]);
        if (!quick || !parts[i]->once) c->repeats_s += c->now_s - begin_s;
    }
    return more;
}

/* Verdict and record of all rounds so far. */
static void judge(check *c, const json_t *head, const check_reference *r, check_verdict *v)
{
    sentence why;
    check_judge(&c->found, r, v);
    json_t *o = json_deep_copy(head);
    json_object_set_new(o, "check", check_record(c, v));
    if (c->ask->output[0] && !record_append(c->ask->output, o, &why)) (void)cmd_say(0, "%s", why.text);
    json_decref(o);
}

/* Rank 0: is there another round? Three tell the noise of rounds; on a host, whose cores others use too, the
 * order within seven tells who is slow. A quick check has no more of them, and a later one than the second
 * ends within two thirds of the limit. */
static bool goes_on(const check *c)
{
    const bool quick = c->ask->level == CHECK_QUICK;
    const int done = c->found.rounds, enough = c->d->kind == DEVICE_CUDA ? 3 : 7;
    const double end_s = c->now_s + c->repeats_s;
    if (c->ask->level == CHECK_SOAK) return end_s < c->ask->time_s;
    if (quick && (c->found.wrong > 0 || done == enough)) return false;
    if (isfinite(c->limit_s)) return end_s <= (done == 1 ? c->limit_s : c->limit_s * 2 / 3);
    return done < (quick ? 2 : enough) || end_s < (quick ? 6 : 9) * c->ask->budget_s;
}

/* All rounds, and on rank 0 their records, verdict and page. Returns the exit status. */
static int run_rounds(check *c, const json_t *head, const check_reference *r)
{
    check_verdict v;
    bool whole, more;
    if (c->top->rank == 0) check_part_begin(c, head);
    do {
        whole = one_round(c);
        c->found.rounds += whole;
        if (whole && c->top->rank == 0) {
            judge(c, head, r, &v);
            check_part_begin(c, head);
        }
        more = trial_tell(c, whole && goes_on(c)) > 0;
        c->round += more;
    } while (more);
    trial_unwatch();
    if (c->top->rank == 0) {
        if (!whole && (c->ask->level != CHECK_SOAK || c->found.rounds == 0)) {
            sentence_set(&c->found.why, "stopped by a signal in round %d", c->round + 1);
            judge(c, head, r, &v); /* the round under way has no record yet */
        }
        check_page_print(stdout, &c->found, &v, r);
        check_part_end(c);
    }
    return (int)trial_tell(c, c->top->rank == 0 ? check_exit_status[v.word] : 0);
}

/* ---- beginning and end ---- */

static void gather_ranks(check *c)
{
    const topology *top = c->top;
    const hosts *h = top->where;
    const int begin = h->begin[h->of[top->rank]];
    check_rank mine = { .first_of_host = h->rank[begin] };
    snprintf(mine.host, sizeof mine.host, "%s", top->host);
    snprintf(mine.gpu, sizeof mine.gpu, "%.63s", c->d->kind == DEVICE_CUDA ? c->d->name : "");
    snprintf(mine.uuid, sizeof mine.uuid, "%s", c->d->uuid);
    snprintf(mine.pci, sizeof mine.pci, "%s", top->pci);
    MPI_CHECK(ranks_gather(&mine, sizeof mine, c->found.rank, top->comm));
    while (h->rank[begin + c->number] != top->rank) c->number++;
    c->here = h->begin[h->of[top->rank] + 1] - begin;
    MPI_CHECK(MPI_Allreduce(&c->here, &c->most_here, 1, MPI_INT, MPI_MAX, top->comm));
    c->found.hosts = top->hosts;
    snprintf(c->found.device_name, sizeof c->found.device_name, "%s", c->d->name);
}

static void check_open(check *c, topology *top, device *d, const check_request *ask, double begin_s)
{
    enum { SAMPLES = 5, SAMPLES_OF_FULL = 20 };
    const bool quick = ask->level == CHECK_QUICK, rehearsal = ask->budget_s < rehearsal_s,
               limited = quick && (!rehearsal || fault_asked("slow_trials") >= 0);
    const check_sizes *const of = &sizes[rehearsal ? REHEARSAL : d->kind == DEVICE_HOST ? ON_HOST : ON_GPU];
    *c = (check){ .ask = ask,
                  .top = top,
                  .d = d,
                  .sizes = *of,
                  .world = bench_world_create(top, ask->dir),
                  .rungs = { .kind = d->kind,
                             .samples = quick || rehearsal ? SAMPLES : SAMPLES_OF_FULL,
                             .dir = ask->dir,
                             .output = "",
                             .setting = c->setting,
                             .settings = CHECK_SETTINGS },
                  .setting = { [CHECK_BYTES] = { "bytes", of->message_bytes },
                               { "ceiling_bytes", of->ceiling_bytes },
                               { "nx", of->edge_cells },
                               { "ny", of->edge_cells },
                               { "radius", 1 },
                               { "steps", CHECK_BLOCK_STEPS },
                               { "n", of->matrix_cells } },
                  .begin_s = begin_s,
                  .limit_s = limited ? 6 * fmax(ask->budget_s, rehearsal_s) : INFINITY };
    snprintf(c->part, sizeof c->part, "%s.part", ask->output);
    MPI_CHECK(ranks_dup(top->comm, &c->reports));
    bench_create(&c->bench, &c->rungs, d, &c->world);
    if (d->kind == DEVICE_CUDA) (void)bench_link_unaware(&c->world, d); /* by all, before pairs ask */
    check_findings_create(&c->found, d->kind, top->ranks);
    gather_ranks(c);
    if (top->ranks == 1) trial_left_out(c, "pairs of ranks: there is one rank");
    if (d->kind == DEVICE_HOST) trial_left_out(c, "GPUs: this is a check of the host");
}

static void check_close(check *c)
{
    check_findings_destroy(&c->found);
    bench_destroy(&c->bench);
    bench_world_destroy(&c->world);
    MPI_CHECK(ranks_free(&c->reports));
}

/* 0, or the exit status with a sentence in why. A reference of another GPU is not used. */
static int may_begin(const check *c, check_reference *r, sentence *why)
{
    const check_request *ask = c->ask;
    const int status = ask->output[0] ? record_may_write("output", ask->output, why) : 0;
    if (status != 0 || !ask->reference[0]) return status;
    if (!check_reference_read(ask->reference, r, why)) return CHECK_EXIT_ENVIRONMENT;
    if (strcmp(r->gpu, c->d->name) == 0) return 0;
    (void)cmd_say(0, "reference = %s is of %s and is not used: this is %s", r->name, r->gpu, c->d->name);
    r->name[0] = '\0';
    return 0;
}

int check_machine(topology *top, device *d, const check_request *ask, const char *command, double begin_s)
{
    check c;
    check_reference r = { .name = "" };
    sentence why = { "" };
    json_t *started = record_now(), *head = machine_record(command, started), *machine;
    check_open(&c, top, d, ask, begin_s);
    machine = machine_json(top, d);
    if (machine) json_object_set_new(head, "machine", machine);
    int status = agree_worst(top->rank == 0 ? may_begin(&c, &r, &why) : 0, &why, top->comm);
    if (status == 0) {
        watchdog_counts_rounds();
        watchdog_start(ask->stall_limit_s);
        status = run_rounds(&c, head, &r);
    } else (void)cmd_say(status, "%s", why.text);
    check_close(&c);
    json_decref(head);
    json_decref(started);
    return status;
}
