#include "check/check.h"

#include <jansson.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/cmd.h"
#include "base/machine.h"
#include "bench/bench_link.h"
#include "check/check_record.h"
#include "check/trial.h"
#include "output/record.h"
#include "ranks/check.h"
#include "ranks/fault.h"
#include "ranks/ranks.h"
#include "run/watchdog.h"

/* ---- sizes ---- */

/* Below this many seconds in a round sizes are small: a rehearsal. */
static const double rehearsal_s = 5;

enum { REHEARSAL, ON_HOST, ON_GPU };
static const check_sizes sizes[] = {
    [REHEARSAL] = { .ceiling_bytes = 1 << 20, .edge_cells = 256, .cached_edge_cells = 128,
                    .message_bytes = 64 << 10, .pattern_bytes = 4 << 20, .matrix_cells = 256,
                    .disk_bytes = 1 << 20, .runs = 3 },
    [ON_HOST] = { .ceiling_bytes = 32 << 20, .edge_cells = 2048, .cached_edge_cells = 256,
                  .message_bytes = 1 << 20, .matrix_cells = 1024, .disk_bytes = 16 << 20, .runs = 6 },
    [ON_GPU] = { .ceiling_bytes = 256 << 20, .edge_cells = 8192, .cached_edge_cells = 2048,
                 .message_bytes = 16 << 20, .matrix_cells = 4096, .disk_bytes = 64 << 20, .runs = 9 },
};

/* ---- a round ---- */

/* Files come between the patterns and the rates of memory: what frees most of a GPU's memory is followed by
 * some tenths of a second in which copies reach .86 of their rate, as if the driver cleared what was freed.
 * Parts that grow with the number of ranks come last, so that a quick check leaves these out. */
static const trials *const parts[] = { &trials_patterns, &trials_files,       &trials_at_once,
                                       &trials_pairs,    &trials_pairs_alone, &trials_host_pairs,
                                       &trials_job,      &trials_alone };
enum { PARTS = sizeof parts / sizeof *parts };

typedef struct rounds {
    check *c;
    int items[PARTS];     /* of each part, in every round */
    double part_s[PARTS]; /* of the round under way or the last one */
    /* what rank 0 leaves behind: */
    json_t *head, *machine;
    check_reference reference; /* name "": none */
    check_verdict v;           /* on all rounds so far */
} rounds;

static bool one_round(rounds *e)
{
    check *c = e->c;
    bool more = true;
    memset(e->part_s, 0, sizeof e->part_s);
    for (int i = 0; i < PARTS && more; i++) {
        const double begin_s = c->now_s;
        if (c->ask->level == CHECK_QUICK && c->round > 0 && parts[i]->once) continue;
        more = trial_part(c, parts[i], &e->items[i]);
        e->part_s[i] = c->now_s - begin_s;
    }
    return more;
}

/* ---- what is left behind ---- */

static const check_reference *reference_of(const rounds *e)
{
    return e->reference.name[0] ? &e->reference : NULL;
}

static void keep_record(const rounds *e)
{
    const check *c = e->c;
    sentence why;
    json_t *o = json_deep_copy(e->head);
    json_object_set(o, "machine", e->machine);
    json_t *record = check_record(&c->found, &e->v, c->round, check_level_words[c->ask->level]),
           *seconds = json_object();
    for (int i = 0; i < PARTS; i++) {
        const double others_s = json_number_value(json_object_get(seconds, parts[i]->key));
        json_object_set_new(seconds, parts[i]->key, record_number(others_s + e->part_s[i]));
    }
    json_object_set_new(record, "now_s", record_number(c->now_s));
    json_object_set_new(record, "part_s", seconds);
    json_object_set_new(o, "check", record);
    if (c->ask->output[0] && !record_append(c->ask->output, o, &why)) (void)cmd_say(0, "%s", why.text);
    json_decref(o);
}

static void judge(rounds *e)
{
    check_verdict_destroy(&e->v);
    check_judge(&e->c->found, reference_of(e), &e->v);
    keep_record(e);
}

/* ---- rounds ---- */

/* The time of all rounds of the level, from the budget of one; a soak has its own. */
static double all_rounds_s(const check_request *ask)
{
    static const int usual[] = { [CHECK_QUICK] = 6, [CHECK_FULL] = 9 };
    return ask->level == CHECK_SOAK ? ask->time_s : usual[ask->level] * ask->budget_s;
}

static double limit_of(const check_request *ask)
{
    static const double usual_s = 30;
    if (fault_asked("slow_trials") >= 0) return usual_s;
    return ask->level == CHECK_QUICK && ask->budget_s >= rehearsal_s ? all_rounds_s(ask) : INFINITY;
}

/* Is there another round of a quick check? Three tell the noise of rounds. On a host, whose cores others use
 * too, the order within seven tells who is slow. */
static bool quick_goes_on(const rounds *e)
{
    const check *c = e->c;
    const int done = c->found.rounds;
    double round_s = fault_asked("slow_trials") > 0 ? 0 : -c->own_verifying_s; /* of the next round */
    for (int i = 0; i < PARTS; i++) round_s += parts[i]->once ? 0 : e->part_s[i];
    if (done >= (c->d->kind == DEVICE_CUDA ? 3 : 7)) return false;
    if (isfinite(c->limit_s)) return trial_round_fits(done, c->now_s, round_s, c->limit_s);
    return done < 2 || c->now_s + round_s < all_rounds_s(c->ask);
}

/* Rank 0: samples of the next round, so that it lasts as long as it may; 0: there is none. */
static int next_samples(const rounds *e, double round_s)
{
    enum { LEAST = 3, MOST = 40 };
    const check *c = e->c;
    const int samples = c->rungs.samples, full_enough = c->d->kind == DEVICE_CUDA ? 2 : 7,
              enough = c->ask->level == CHECK_SOAK ? 1 : full_enough;
    const double left_s = all_rounds_s(c->ask) - c->now_s,
                 fits = fmin(samples * c->ask->budget_s / round_s, fmin(2 * samples, MOST));
    if (c->ask->level == CHECK_QUICK) return quick_goes_on(e) ? samples : 0;
    if (c->found.rounds >= enough && left_s < round_s / 2) return 0;
    return (int)fmax(fits, LEAST);
}

/* False: an end was asked for before there was a verdict. */
static bool run_rounds(rounds *e)
{
    check *c = e->c;
    for (; c->rungs.samples > 0; c->round++) {
        const double begin_s = c->now_s;
        c->own_verifying_s = 0;
        if (!one_round(e)) return c->ask->level == CHECK_SOAK && trial_tell(c, c->found.rounds) > 0;
        c->found.rounds++;
        if (c->top->rank == 0) {
            judge(e);
            check_part_empty();
        }
        c->rungs.samples = trial_tell(c, next_samples(e, c->now_s - begin_s));
    }
    return true;
}

/* ---- beginning and end ---- */

static void gather_ranks(check *c)
{
    const hosts *h = c->top->where;
    check_rank mine = { .first_of_host = h->rank[h->begin[h->of[c->top->rank]]],
                        .first_of_gpu = c->top->rank,
                        .clock_mhz = NAN,
                        .power_w = NAN,
                        .temperature_c = NAN };
    const bool gpu = c->d->kind == DEVICE_CUDA;
    snprintf(mine.host, sizeof mine.host, "%s", c->top->host);
    snprintf(mine.gpu, sizeof mine.gpu, "%.63s", gpu ? c->d->name : "");
    snprintf(mine.uuid, sizeof mine.uuid, "%s", c->d->uuid);
    snprintf(mine.pci, sizeof mine.pci, "%s", c->top->pci);
    MPI_CHECK(
        MPI_Gather(&mine, sizeof mine, MPI_BYTE, c->found.rank, sizeof mine, MPI_BYTE, 0, c->top->comm));
    for (int r = 0; c->top->rank == 0 && r < c->top->ranks; r++)
        for (int other = r - 1; other >= 0 && c->found.rank[r].uuid[0]; other--)
            if (strcmp(c->found.rank[other].uuid, c->found.rank[r].uuid) == 0)
                c->found.rank[r].first_of_gpu = other;
    c->found.hosts = c->top->hosts;
    snprintf(c->found.device_name, sizeof c->found.device_name, "%s", c->d->name);
}

/* Ranks that take turns on a GPU are no components beside each other. */
static void find_crowds(check *c)
{
    const topology *t = c->top;
    const hosts *h = t->where;
    const int host = h->of[t->rank];
    while (h->rank[h->begin[host] + c->number] != t->rank) c->number++;
    c->ranks_here = h->begin[host + 1] - h->begin[host];
    int most[] = { t->ranks_on_device, c->ranks_here > sysconf(_SC_NPROCESSORS_ONLN), c->ranks_here };
    MPI_CHECK(MPI_Allreduce(MPI_IN_PLACE, most, 3, MPI_INT, MPI_MAX, t->comm));
    c->sharing = c->d->kind == DEVICE_CUDA && most[0] > 1;
    c->crowded = most[1];
    c->most_here = most[2];
}

static void not_tried(check *c)
{
    if (c->top->ranks == 1) trial_left_out(c, "pairs of ranks: there is one rank");
    if (c->sharing) trial_left_out(c, "GPUs beside each other: ranks take turns on one");
    if (c->d->kind == DEVICE_HOST) trial_left_out(c, "GPUs: this is a check of the host");
}

static void check_open(check *c, topology *top, device *d, const check_request *ask, double begin_s)
{
    enum { SAMPLES = 5 };
    const char *why;
    *c = (check){ .ask = ask,
                  .top = top,
                  .d = d,
                  .sizes = sizes[ask->budget_s < rehearsal_s ? REHEARSAL
                                 : d->kind == DEVICE_HOST    ? ON_HOST
                                                             : ON_GPU],
                  .begin_s = begin_s,
                  .limit_s = limit_of(ask) };
    c->world = bench_world_create(top, ask->dir);
    c->rungs = (bench_request){
        .kind = d->kind, .samples = SAMPLES, .threads = ask->threads, .dir = ask->dir, .output = ""
    };
    MPI_CHECK(ranks_dup(top->comm, &c->reports));
    bench_create(&c->bench, &c->rungs, d, &c->world);
    if (d->kind == DEVICE_CUDA) (void)bench_link_aware(&c->world, d, &why); /* by all, before pairs ask */
    check_findings_create(&c->found, d->kind, top->ranks);
    gather_ranks(c);
    find_crowds(c);
    not_tried(c);
}

static void check_close(check *c)
{
    check_findings_destroy(&c->found);
    bench_destroy(&c->bench);
    bench_world_destroy(&c->world);
    MPI_CHECK(ranks_free(&c->reports));
}

/* On rank 0. False with a sentence in why. */
static bool may_begin(rounds *e, const check_request *ask, sentence *why)
{
    sentence note;
    const bool comparable = !e->c->sharing && (ask->reference || ask->budget_s >= rehearsal_s);
    if (e->c->top->rank != 0) return true;
    if (ask->output[0] && !record_may_write("output", ask->output, why)) return false;
    if (!check_reference_find(&e->c->found, comparable ? ask->reference : "none", &e->reference, &note)) {
        *why = note;
        return false;
    }
    if (note.text[0]) (void)cmd_say(0, "%s", note.text);
    return true;
}

int check_machine(topology *top, device *d, const check_request *ask, const char *command, double begin_s)
{
    check c;
    rounds e = { .c = &c };
    sentence why = { "" };
    int status = CHECK_EXIT_ENVIRONMENT;
    json_t *started = record_now();
    check_open(&c, top, d, ask, begin_s);
    e.head = machine_record(command, started);
    e.machine = machine_json(top, d);
    if (!agree_or_say(may_begin(&e, ask, &why), &why, top->comm)) (void)cmd_say(0, "%s", why.text);
    else {
        watchdog_counts_rounds();
        watchdog_start(ask->stall_limit_s);
        if (top->rank == 0) check_part_begin(ask->output, e.head, &c.found, check_level_words[ask->level]);
        const bool whole = run_rounds(&e);
        trial_unwatch();
        if (!whole) sentence_set(&c.found.why, "stopped by a signal in round %d", c.round + 1);
        if (top->rank == 0) {
            if (!whole) judge(&e); /* the round under way has no record yet */
            check_page_print(stdout, &c.found, &e.v, reference_of(&e));
            status = check_exit_status(e.v.word);
        }
        check_verdict_destroy(&e.v);
        check_part_end();
        status = trial_tell(&c, status);
    }
    check_close(&c);
    json_decref(e.head);
    json_decref(e.machine);
    json_decref(started);
    return status;
}
