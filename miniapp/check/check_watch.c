#include "check/check_watch.h"

#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/signals.h"
#include "bench/bench_families.h"
#include "check/lifeline.h"
#include "ranks/check.h"
#include "ranks/hosts.h"
#include "ranks/ranks.h"
#include "ranks/timer.h"

enum { NAMED_MOST = 8, WHAT_BYTES = 96, PAUSE_MS = 20 };
static const double patience_s = 0.5; /* mpirun kills a second after its SIGTERM */

typedef struct process { /* of a rank, as its host numbers it */
    int pid;
    unsigned long long names; /* the PID namespace in which it has that number */
    double cpu_s;             /* that it had used in the middle of a silence */
} process;

static struct {
    pthread_t thread;
    pthread_mutex_t held;
    bool runs;
    const topology *top;
    lifeline *line;
    atomic_bool stop, all_live; /* all_live: after the signal */
    char what[WHAT_BYTES];      /* under `held`, as is */
    int round;
    char first_host[64];        /* rank 0's; from here on all is rank 0's */
    double limit_s;
    int ranks;
    check_rank *rank;   /* [ranks] */
    process *process;   /* [ranks] */
    const int *host_of; /* [rank] */
    atomic_bool *heard; /* [ranks], in the trial under way */
    atomic_llong progress;
    check_watch_leave *leave;
    void *context;
} watch = { .held = PTHREAD_MUTEX_INITIALIZER };

static volatile sig_atomic_t asked, asked_at_once;

static void on_signal(int number)
{
    asked = 1;
    if (number != SIGUSR1) asked_at_once = 1;
}

void check_watch_catch_signals(void)
{
    signals_catch(SIGUSR1, on_signal);
    signals_catch(SIGTERM, on_signal);
    signals_catch(SIGINT, on_signal);
}

/* ---- what /proc tells ---- */

static unsigned long long pid_namespace(void)
{
    struct stat s;
    return stat("/proc/self/ns/pid", &s) == 0 ? (unsigned long long)s.st_ino : 0;
}

/* Its main thread's state, a letter, and the seconds of a core that this has used (another thread looks for
 * signals now and then); 'X': it is gone. '?': of another host. */
static char state_of(int rank, double *cpu_s)
{
    char path[64], line[1024] = "", state = 'X';
    const process *p = &watch.process[rank];
    unsigned long user = 0, kernel = 0;
    if (watch.host_of[rank] != watch.host_of[0] || p->names != watch.process[0].names) return '?';
    snprintf(path, sizeof path, "/proc/%d/task/%d/stat", p->pid, p->pid);
    FILE *const f = fopen(path, "r");
    if (!f) return 'X';
    const size_t bytes = fread(line, 1, sizeof line - 1, f);
    (void)fclose(f);
    const char *const name_end = bytes > 0 ? strrchr(line, ')') : NULL;
    if (name_end)
        (void)sscanf(name_end, ") %c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lu %lu", &state, &user,
                     &kernel);
    *cpu_s = (double)(user + kernel) / (double)sysconf(_SC_CLK_TCK);
    return state;
}

static void mark_cpu(void)
{
    for (int r = 0; r < watch.ranks; r++) (void)state_of(r, &watch.process[r].cpu_s);
}

/* Neither waits (who waits for a message asks for it over and over, or naps) nor works. */
static bool is_idle(int rank)
{
    double cpu_s = 0;
    const char state = state_of(rank, &cpu_s);
    return state != '?' && cpu_s - watch.process[rank].cpu_s < 1e-9;
}

/* ---- the sentence ---- */

static bool unheard(int rank) { return !atomic_load(&watch.heard[rank]); }
static bool is_dead(int rank) { return lifeline_lost(watch.line, rank); }
static bool is_silent(int rank) { return !lifeline_answered(watch.line, rank); }

/* ", rank 3 on node7": those that are so, and marks them. Returns how many. */
static int name_those(sentence *why, bool (*are)(int rank))
{
    int count = 0;
    for (int r = 0; r < watch.ranks; r++) {
        if (!are(r)) continue;
        watch.rank[r].ended = false;
        if (count < NAMED_MOST)
            sentence_add(why, "%srank %d on %s", count > 0 ? ", " : "", r, watch.rank[r].host);
        count++;
    }
    if (count > NAMED_MOST) sentence_add(why, " and %d others", count - NAMED_MOST);
    return count;
}

static bool any(bool (*are)(int rank))
{
    for (int r = 0; r < watch.ranks; r++)
        if (are(r)) return true;
    return false;
}

/* The main thread has gone on meanwhile, and may have made files. */
static void leave_process(int status)
{
    bench_io_delete_files();
    check_leave(status);
}

static void leave(const char *how, bool (*who)(int rank), const char *did)
{
    sentence why = { "" };
    pthread_mutex_lock(&watch.held); /* for good */
    if (atomic_load(&watch.stop)) { /* the page is printed */
        pthread_mutex_unlock(&watch.held);
        return;
    }
    for (int r = 0; r < watch.ranks; r++) watch.rank[r].ended = true;
    if (who && name_those(&why, who) > 0) sentence_add(&why, " %s ", did);
    sentence_add(&why, "%sin round %d, trial '%s'", how, watch.round + 1, watch.what);
    const int status = watch.leave(watch.context, why.text, !who && asked_at_once);
    fflush(NULL);
    lifeline_farewell(watch.line, status);
    leave_process(status);
}

static void leave_for_silence(void)
{
    char how[64];
    snprintf(how, sizeof how, "no progress for %g s ", watch.limit_s);
    const bool some_reported = !unheard(0);
    bool (*const who)(int) = some_reported ? unheard : any(is_idle) ? is_idle : NULL;
    leave(how, who, "did not answer:");
}

/* A launcher that lost a rank sends it, and so do users: the ranks' answers tell which. */
static void look_after_signal(double *asked_s)
{
    if (*asked_s < 0) {
        *asked_s = timer_now_s();
        lifeline_ask(watch.line);
    }
    const bool all_live = !any(is_silent);
    atomic_store(&watch.all_live, all_live);
    if (timer_now_s() - *asked_s < patience_s) return;
    if (all_live) leave("stopped by a signal ", NULL, "");
    else leave("stopped by a signal ", is_silent, "did not answer:");
}

static void *look(void *unused)
{
    long long seen = atomic_load(&watch.progress);
    double quiet_s = 0, asked_s = -1;
    bool marked = false;
    while (!atomic_load(&watch.stop)) {
        (void)lifeline_look(watch.line, PAUSE_MS);
        if (any(is_dead)) leave("", is_dead, "died");
        if (lifeline_stop(watch.line, false)) asked = 1;
        if (lifeline_stop(watch.line, true)) asked_at_once = 1;
        if (asked_at_once) look_after_signal(&asked_s);
        const long long now = atomic_load(&watch.progress);
        if (now != seen) marked = false;
        /* counted: a job that was suspended is not silent */
        quiet_s = now == seen ? quiet_s + 1e-3 * PAUSE_MS : 0;
        seen = now;
        if (watch.limit_s <= 0) continue;
        if (quiet_s > watch.limit_s / 2 && !marked) {
            mark_cpu();
            marked = true;
        }
        if (quiet_s > watch.limit_s) leave_for_silence();
    }
    return NULL;
}

/* ---- where rank 0 dies ---- */

static void leave_without_rank_0(void)
{
    static const struct timespec until_others_asked = { 0, 500000000 };
    if (!lifeline_lower_lives(watch.line)) {
        pthread_mutex_lock(&watch.held); /* for good */
        fprintf(stderr,
                "weft: rank %d on %s: rank 0 on %s died in round %d, trial '%s'; what is known is in the "
                "records of the rounds before\n",
                watch.top->rank, watch.top->host, watch.first_host, watch.round + 1, watch.what);
        (void)nanosleep(&until_others_asked, NULL);
    }
    leave_process(CHECK_EXIT_ENVIRONMENT);
}

/* A signal that this rank got is passed on to rank 0, which ends the check. */
static void *look_at_rank_0(void *unused)
{
    bool told = false, told_at_once = false;
    while (lifeline_look(watch.line, PAUSE_MS)) {
        const bool at_once = asked_at_once && !told_at_once;
        if (!at_once && (!asked || told)) continue;
        lifeline_ask_to_stop(watch.line, at_once);
        told = true;
        told_at_once = at_once;
    }
    const int said = lifeline_said(watch.line);
    if (said == LIFELINE_LOST) leave_without_rank_0();
    if (said != LIFELINE_END) leave_process(said);
    return NULL;
}

/* The line of an environment's failure on rank 0 comes after the page. */
static void put_last_words(char *out, size_t bytes)
{
    if (!watch.runs || atomic_load(&watch.stop) || pthread_equal(pthread_self(), watch.thread)) return;
    pthread_mutex_trylock(&watch.held);
    char why[WHAT_BYTES + 64];
    snprintf(why, sizeof why, "rank 0 failed in round %d, trial '%s'", watch.round + 1, watch.what);
    (void)watch.leave(watch.context, why, false);
    lifeline_farewell(watch.line, LIFELINE_END);
    bench_io_delete_files();
    snprintf(out, bytes, "; what was known is printed above");
}

/* ---- from the main thread ---- */

static void start_rank_0(check_rank *rank, double limit_s, check_watch_leave *leave_by, void *context)
{
    watch.heard = CHECK_ALLOC(calloc((size_t)watch.ranks, sizeof *watch.heard));
    watch.rank = rank;
    watch.host_of = watch.top->where->of;
    watch.limit_s = limit_s;
    watch.leave = leave_by;
    watch.context = context;
}

void check_watch_start(const topology *top, check_rank *rank, double limit_s, check_watch_leave *leave_by,
                       void *context)
{
    process mine = { .pid = (int)getpid(), .names = pid_namespace() };
    watch.top = top;
    watch.ranks = top->ranks;
    watch.process = CHECK_ALLOC(calloc((size_t)top->ranks, sizeof *watch.process));
    MPI_CHECK(MPI_Gather(&mine, sizeof mine, MPI_BYTE, watch.process, sizeof mine, MPI_BYTE, 0, top->comm));
    snprintf(watch.first_host, sizeof watch.first_host, "%s", top->host);
    MPI_CHECK(MPI_Bcast(watch.first_host, sizeof watch.first_host, MPI_CHAR, 0, top->comm));
    watch.line = lifeline_create(top->comm);
    if (top->rank == 0) start_rank_0(rank, limit_s, leave_by, context);
    const int code = pthread_create(&watch.thread, NULL, top->rank == 0 ? look : look_at_rank_0, NULL);
    if (code) check_fail(__FILE__, __LINE__, "pthread_create", strerror(code));
    watch.runs = true;
    if (top->rank == 0) check_add(put_last_words);
}

void check_watch_hold(void) { pthread_mutex_lock(&watch.held); }
void check_watch_release(void) { pthread_mutex_unlock(&watch.held); }

void check_watch_over(void)
{
    atomic_store(&watch.stop, true);
    check_watch_release();
}

bool check_watch_asked(void)
{
    /* or the thread leaves */
    while (watch.top->rank == 0 && asked_at_once && !atomic_load(&watch.all_live)) ranks_nap();
    return asked;
}

void check_watch_trial(int round, const char *what)
{
    check_watch_hold();
    watch.round = round;
    snprintf(watch.what, sizeof watch.what, "%s", what);
    for (int r = 0; watch.heard && r < watch.ranks; r++) atomic_store(&watch.heard[r], false);
    atomic_fetch_add(&watch.progress, 1);
    check_watch_release();
}

void check_watch_heard(int rank)
{
    atomic_store(&watch.heard[rank], true);
    atomic_fetch_add(&watch.progress, 1);
}

void check_watch_stop(void)
{
    (void)pthread_join(watch.thread, NULL);
    if (watch.top->rank == 0) lifeline_farewell(watch.line, LIFELINE_END);
    watch.runs = false;
    lifeline_destroy(&watch.line);
    free(watch.heard);
    free(watch.process);
    watch.heard = NULL;
    watch.process = NULL;
}
