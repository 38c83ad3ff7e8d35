#include "check/check.h"

#include <assert.h>
#include <math.h>
#include <signal.h>
#include <unistd.h>

#include "base/cmd.h"
#include "ranks/check.h"
#include "ranks/fault.h"
#include "ranks/ranks.h"
#include "run/watchdog.h"

/* ---- an end before its time ---- */

static volatile sig_atomic_t asked;

static void on_signal(int number)
{
    enum { WAIT_US = 800000 }; /* mpirun kills a second after its SIGTERM */
    if (!asked && number != SIGUSR1) (void)ualarm(WAIT_US, 0);
    asked = 1;
}

static void on_timer(int number)
{
    bench_io_delete_files();
    check_leave(CHECK_EXIT_ENVIRONMENT);
}

void check_catch_signals(void)
{
    signals_catch(on_signal);
    (void)signal(SIGALRM, on_timer);
}

/* ---- what a trial finds ---- */

/* name: lives as long as the process. */
static void begin(check *c, const char *name)
{
    c->trial = name;
    watchdog_step(c->round + 1);
    watchdog_phase(name);
}

void trial_left_out(check *c, const char *format, ...)
{
    sentence *s = &c->found.not_tried, what;
    va_list args;
    if (c->round > 0) return;
    va_start(args, format);
    sentence_set_list(&what, format, args);
    va_end(args);
    sentence_add(s, "%s%.500s", s->text[0] ? "; " : "", what.text);
}

/* A plane counts its cells. For a pair, and on a host, the fastest sample counts: where several programs
 * share a core, the median is theirs, and the fastest one fits between them. */
void trial_rate(check_figure *f, const bench_point *p, device_kind kind)
{
    const bool fastest = f->b >= 0 || kind == DEVICE_HOST;
    const int steps = check_likes[f->like].steps;
    const double time_s = fastest ? p->time_s.min : p->time_s.p50;
    f->rate = (steps ? (double)p->of.size * steps : p->of.work) / time_s;
    f->noise = (fastest ? p->time_s.p50 / time_s - 1 : p->spread) / sqrt((double)p->time_s.count);
}

/* The rung of the figure's like, verified and timed by all ranks of c->bench.world; the first rank that the
 * figure is of reports its rate, or that it was wrong. No figure: this device has no such rung, or no memory
 * for it, or it cannot run here. */
static void try_rung(check *c, check_figure f)
{
    const check_like_row *const t = &check_likes[f.like];
    trial_report *const m = &c->mine;
    bench_point p;
    bench_item item;
    sentence why;
    if (!t->rung) item = check_rung(f.like);
    else if (!bench_request_find(c->d->kind, t->rung, &item)) return;
    if (f.like == CHECK_DISK_WRITE)
        item.rung = item.rung->beside; /* the raw writes that bound a checkpoint */
    c->rungs.type = t->type;
    if (!bench_measure(&c->bench, &item, 0, &p, &why)) return;
    if (p.of.missing.text[0]) trial_left_out(c, "%s: %.400s", t->name, p.of.missing.text);
    if (p.of.missing.text[0] || m->rank != (f.a < 0 ? 0 : f.a)) return;
    if (!p.verdict.right && m->wrong.text[0]) return; /* the first that is wrong is enough to blame */
    m->wrong = p.verdict.right ? m->wrong : p.verdict.why;
    f.round = c->round;
    trial_rate(&f, &p, c->d->kind);
    assert(m->figures < TRIAL_FIGURES);
    m->figure[m->figures++] = f;
}

/* ---- each rank's own device: of GPUs all at once, but copies to and from the host in turns; of processors,
 * which slow each other by their clocks, caches and memory, in turns ---- */

enum { FEW_SAMPLES = 3 }; /* of what takes long: a filling of memory, a file and its fsync */
enum { AT_ONCE = CHECK_TO_HOST - CHECK_COPY, COPIES = CHECK_FROM_HOST + 1 - CHECK_TO_HOST };

static int count_own(const check *c)
{
    return c->d->kind == DEVICE_CUDA ? AT_ONCE + COPIES * c->most_here : AT_ONCE * c->most_here;
}

static void try_own(check *c, int item)
{
    enum { LONGER = 50 }; /* a GPU's clock takes half a second to come down */
    const bool gpus = c->d->kind == DEVICE_CUDA;
    const int at_once = gpus ? AT_ONCE : 0, turn = item - at_once;
    const check_like l = CHECK_COPY + (turn < 0 ? item : at_once + turn / c->most_here);
    begin(c, check_likes[l].name);
    if (turn >= 0 && c->number != turn % c->most_here) return;
    if (turn < 0) c->bench.meet = c->top->comm;
    if (gpus && (l == CHECK_FMA_F32 || l == CHECK_FMA_F64)) c->rungs.samples *= LONGER;
    c->bench.trusted = c->ask->level == CHECK_QUICK && c->round > 0; /* all was right in the first round */
    try_rung(c, (check_figure){ .like = l, .a = c->top->rank, .b = -1, .alone = turn >= 0 });
}

/* All of a GPU but a margin, for what the driver and MPI still take; a part of a host, where others compute
 * too. */
static int64_t free_share_bytes(const check *c)
{
    const int64_t host_most = (int64_t)(c->ask->level == CHECK_QUICK ? 32 : 1024) << 20;
    host_limit by;
    const int64_t bytes = (int64_t)topology_free_bytes(c->top, c->d, &by);
    if (c->d->kind == DEVICE_CUDA) return bytes - bytes / 16;
    return bytes / 4 < host_most ? bytes / 4 : host_most;
}

static void try_patterns(check *c, int item)
{
    begin(c, check_likes[CHECK_PATTERNS].name);
    c->setting[CHECK_BYTES].value = c->size == CHECK_SMALL ? 4 << 20 : free_share_bytes(c);
    c->rungs.samples = FEW_SAMPLES;
    c->bench.meet = c->top->comm;
    MPI_CHECK(MPI_Barrier(c->top->comm)); /* no rank takes memory that another still counts as free */
    try_rung(c, (check_figure){ .like = CHECK_PATTERNS, .a = c->top->rank, .b = -1 });
}

/* ---- pairs of ranks of a host, and of hosts by all their ranks at once, in rounds as of a tournament (the
 * circle method, a 1-factorisation of the complete graph): in each of n - 1 rounds, n where n is odd, each
 * has another partner, so that all pairs meet in that many rounds. A pair has a communicator of its own: no
 * rate waits for another pair ---- */

static int rounds_of(int n) { return n < 2 ? 0 : n - 1 + n % 2; }

int trial_partner(int n, int round, int one)
{
    const int last = rounds_of(n); /* its seat stays, and is empty where n is odd; the others go round a
                                    * circle of as many */
    if (round >= last) return -1;
    const int other = one == last    ? round
                      : one == round ? last
                                     : (2 * round - one + 2 * last) % last;
    return other < n ? other : -1;
}

/* The rank of that host with that number there; -1: none. */
static int rank_there(const hosts *h, int host, int number)
{
    if (host < 0 || number < 0 || number >= h->begin[host + 1] - h->begin[host]) return -1;
    return h->rank[h->begin[host] + number];
}

/* Two ranks of a host meet, whose lower one sends to the other one, then the other one, then both; or all
 * ranks of two hosts that have a partner there. The figure is of these ranks, or of the hosts' first ones. */
static void meet(check *c, int round, bool of_hosts)
{
    const topology *const all = c->top;
    const hosts *const h = all->where;
    const int host = h->of[all->rank], here = h->begin[host + 1] - h->begin[host],
              there = of_hosts ? trial_partner(h->count, round, host) : host,
              partner = of_hosts ? c->number : trial_partner(here, round, c->number),
              other = rank_there(h, there, partner), from = of_hosts ? rank_there(h, host, 0) : all->rank,
              to = of_hosts ? rank_there(h, there, 0) : other, a = from < to ? from : to, b = from + to - a;
    topology top = *all; /* `rank` stays that of all */
    begin(c, of_hosts ? "pairs of hosts" : "pairs of ranks");
    MPI_CHECK(
        MPI_Comm_split(all->comm, other < 0 ? MPI_UNDEFINED : a, 2 * c->number + (host > there), &top.comm));
    if (other < 0) return;
    top.ranks = ranks_count(top.comm);
    bench_world world = bench_world_create(&top, c->world.dir);
    world.link = b == a + 1 ? a : -1;
    c->bench.world = &world;
    for (; world.sender < 2 && !of_hosts; world.sender++)
        try_rung(c, (check_figure){
                        .like = CHECK_PAIR_ONEWAY, .a = world.sender ? b : a, .b = world.sender ? a : b });
    try_rung(c, (check_figure){ .like = of_hosts ? CHECK_HOST_PAIR : CHECK_PAIR_BOTH, .a = a, .b = b });
    c->bench.world = &c->world;
    bench_world_destroy(&world);
    MPI_CHECK(MPI_Comm_free(&top.comm));
}

static int count_pairs(const check *c) { return rounds_of(c->most_here); }
static void try_pairs(check *c, int round) { meet(c, round, false); }
static int count_hosts(const check *c) { return rounds_of(c->top->hosts); }
static void try_hosts(check *c, int round) { meet(c, round, true); }

/* ---- all ranks together: files; a ring and an all-to-all by each transport; runs of the program ---- */

static void try_files(check *c, int item)
{
    static const int64_t disk_bytes[] = { 1 << 20, 16 << 20, 64 << 20 }; /* by size, of all ranks */
    begin(c, check_likes[CHECK_CHECKPOINT].name);
    c->setting[CHECK_BYTES].value = disk_bytes[c->size] / c->top->ranks;
    c->rungs.samples = FEW_SAMPLES;
    try_rung(c, (check_figure){ .like = CHECK_CHECKPOINT, .a = -1, .b = -1 });
    try_rung(c, (check_figure){ .like = CHECK_DISK_WRITE, .a = -1, .b = -1 });
}

static int transports_of(const check *c)
{
    return c->top->ranks == 1 ? 0 : c->d->kind == DEVICE_CUDA ? 2 * TRANSPORT_KINDS : 2; /* staged alone */
}

static int count_job(const check *c) { return transports_of(c) + CHECK_RUNS; }

static void try_job(check *c, int item)
{
    const int run = item - transports_of(c), by = item / 2;
    const int like = run >= 0 ? CHECK_HEAT_ALL + run : (item % 2 ? CHECK_ALLTOALL : CHECK_RING) + by;
    begin(c, check_likes[like].name);
    c->setting[CHECK_RUN].value = CHECK_RUNS * (int)c->size + run;
    try_rung(c, (check_figure){ .like = (check_like)like, .a = -1, .b = -1 });
}

/* ---- reports ---- */

/* In whatever order they come. Rank 0 may still be measured, and whoever waits for it must not take its
 * cores. */
static void report(check *c)
{
    MPI_Request request;
    if (c->top->rank > 0) {
        MPI_CHECK(MPI_Isend(&c->mine, sizeof c->mine, MPI_BYTE, 0, 0, c->reports, &request));
        ranks_wait_asleep(&request);
        return;
    }
    for (int heard = 0; heard < c->top->ranks; heard++) {
        trial_report t = c->mine;
        if (heard > 0) {
            MPI_CHECK(MPI_Irecv(&t, sizeof t, MPI_BYTE, MPI_ANY_SOURCE, 0, c->reports, &request));
            ranks_wait_asleep(&request);
        }
        for (int i = 0; i < t.figures; i++) check_findings_add(&c->found, t.figure[i], t.wrong.text);
        check_part_add(c, &t);
        c->mine.asked = c->mine.asked || t.asked;
    }
}

double trial_tell(check *c, double number)
{
    MPI_Request request;
    MPI_CHECK(MPI_Ibcast(&number, 1, MPI_DOUBLE, 0, c->reports, &request));
    ranks_wait_asleep(&request);
    return number;
}

/* ---- rounds ---- */

/* A rank's own trials come first: a host or a file system that is slow must not leave them no time. Filling
 * memory comes late: what frees most of a GPU's memory is followed by some tenths of a second in which copies
 * reach .86 of their rate, as the driver clears what was freed. */
static const struct part {
    const char *items;
    double until; /* the fraction of the limit from which on no item begins; the first round begins nothing in
                   * the second half, so that a second one has time */
    bool once;    /* a quick check has it in the first round alone: figures of one component, which rounds
                   * compare with nothing */
    int (*count)(const check *c); /* its items, where time suffices; NULL: one */
    void (*try)(check *c, int item);
} parts[] = {
    { "trials of ranks by themselves", 0.30, false, count_own, try_own },
    { "rounds of pairs", 0.34, false, count_pairs, try_pairs },
    { "rounds of pairs of hosts", 0.36, false, count_hosts, try_hosts },
    { "fillings of memory", 0.50, true, NULL, try_patterns },
    { "trials of files", 0.50, true, NULL, try_files },
    { "trials of all ranks together", 0.50, true, count_job, try_job },
};
enum { PARTS = sizeof parts / sizeof *parts };
static const double later_until = 0.9; /* trials of later rounds end by then; the page takes time, too */

/* WEFT_FAULT=slow_trials:SECONDS: by this clock each trial takes that long, in later rounds longer by
 * WEFT_FAULT_PERCENT, and nothing else any time. */
static double seconds_so_far(const check *c)
{
    static double trials_s;
    const int trial_s = fault_asked("slow_trials");
    if (trial_s <= 0) return timer_now_s() - c->begin_s;
    trials_s += trial_s * (1 + (c->round > 0 ? fault_percent(0) : 0) / 100);
    return trials_s;
}

static bool try_item(check *c, const struct part *t, int item)
{
    const bench_setting message = c->setting[CHECK_BYTES];
    const bench_request usual = c->rungs;
    c->mine = (trial_report){ .rank = c->top->rank };
    c->item = item;
    t->try(c, item);
    c->setting[CHECK_BYTES] = message;
    c->rungs = usual;
    c->bench.meet = MPI_COMM_NULL;
    c->bench.trusted = false;
    c->mine.asked = asked;
    report(c);
    const double now_s = trial_tell(c, c->mine.asked ? -1 : seconds_so_far(c));
    if (now_s < 0) return false;
    c->longest_s = fmax(c->longest_s, now_s - c->now_s);
    c->now_s = now_s;
    return true;
}

bool trial_round(check *c)
{
    static int items[PARTS]; /* of each part, in every round */
    const bool quick = c->ask->level == CHECK_QUICK;
    bool more = true;
    c->repeats_s = 0;
    c->setting[CHECK_ROUND].value = c->round;
    for (int k = 0; k < PARTS && more; k++) {
        const struct part *t = &parts[k];
        const double begin_s = c->now_s;
        if (quick && c->round > 0 && t->once) continue;
        if (c->round == 0) items[k] = t->count ? t->count(c) : 1;
        if (items[k] > 0 && (c->ask->level != CHECK_SOAK || c->round == 0 || k == 0))
            (void)cmd_say(0, "round %d, %.1f s: %s", c->round + 1, c->now_s, t->items);
        for (int i = 0; i < items[k] && more; i++) {
            if (c->round > 0 && c->now_s + c->longest_s > later_until * c->limit_s) more = false;
            else if (c->round > 0 || c->now_s < t->until * c->limit_s) more = try_item(c, t, i);
            else {
                trial_left_out(c, "no time for %d of %d %s", items[k] - i, items[k], t->items);
                items[k] = i;
            }
        }
        if (!quick || !t->once) c->repeats_s += c->now_s - begin_s;
    }
    return more;
}
