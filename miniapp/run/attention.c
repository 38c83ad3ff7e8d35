#include "run/loop.h"

#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/cmd.h"
#include "ranks/check.h"
#include "ranks/ranks.h"
#include "ranks/timer.h"

static const double look_every_s = 0.1;
static const double margin_s = 2;                  /* steps that are enqueued, the fingerprint, the record,
                                                    * MPI's end */
static const double slow_disk_bytes_per_s = 100e6; /* written and read back */

static volatile sig_atomic_t stop_asked;

static void on_signal(int number)
{
    if (number == SIGINT && stop_asked) check_leave(128 + SIGINT);
    stop_asked = 1;
}

void attention_catch_signals(void)
{
    signals_catch(SIGUSR1, on_signal);
    signals_catch(SIGTERM, on_signal);
    signals_catch(SIGINT, on_signal);
    /* a limit on the size of files is an error of the write that meets it */
    signals_catch(SIGXFSZ, SIG_IGN);
}

/* Only rank 0's host is asked for the time of day: another clock may be hours off, and would end the
 * run at its start. */
static double left_s(const saver *checkpoints, double start_s, int rank)
{
    const config *c = checkpoints->sim->cfg;
    const char *slurm = getenv("SLURM_JOB_END_TIME");
    char *end = NULL;
    if (c->run.wall_limit_s > 0) return start_s + c->run.wall_limit_s - timer_now_s();
    if (!slurm || rank != 0 || checkpoints->no_folder) return INFINITY;
    const double at = strtod(slurm, &end);
    return end != slurm && *end == '\0' && at > 0 ? at - (double)time(NULL) : INFINITY;
}

attention attention_begin(sim *s, const saver *checkpoints, double start_s)
{
    const double mine_s = left_s(checkpoints, start_s, s->top.rank);
    double all_s;
    MPI_CHECK(MPI_Allreduce(&mine_s, &all_s, 1, MPI_DOUBLE, MPI_MIN, s->top.comm));
    return (attention){ .sim = s,
                        .checkpoints = checkpoints,
                        .deadline_s = timer_now_s() + all_s,
                        .next_step = s->level + 1,
                        .last_step = s->level,
                        .last_s = timer_now_s() };
}

int64_t attention_steps_to_go(const attention *a)
{
    const int64_t block = a->sim->plan.block_steps;
    return (a->next_step - a->sim->level + block - 1) / block * block;
}

/* Is there time for `checkpoints` checkpoints after the one that may be under way? A write is taken to last
 * half as long again as this run's writes on average, before the first one as long as a slow disk needs. */
static bool have_time(const attention *a, int checkpoints)
{
    const config *c = a->sim->cfg;
    const saver *v = a->checkpoints;
    const int block = a->sim->plan.block_steps;
    if (isinf(a->deadline_s)) return true;
    const state_stats stats = v->writer ? state_writer_stats(v->writer) : (state_stats){ 0 };
    const double pass_s = block > 1 ? a->per_step_s * block : 0; /* nothing ends it before its time */
    double write_s = 1 + config_state_bytes(c) / slow_disk_bytes_per_s;
    if (stats.count > 0)
        write_s = 1.5 * (stats.snapshot_s + stats.write_s + (isnan(stats.verify_s) ? 0 : stats.verify_s)) /
                  (double)stats.count;
    if (v->writer && state_writer_busy(v->writer)) checkpoints++;
    if (c->output.final[0]) checkpoints++; /* the same bytes once more, when the loop has ended */
    return timer_now_s() + write_s * checkpoints + margin_s <= a->deadline_s - pass_s;
}

static loop_end reason_to_leave(const attention *a, bool due)
{
    if (a->checkpoints->stop) return LOOP_FAILED;
    if (stop_asked) return LOOP_STOPPED;
    return have_time(a, due ? 2 : 1) ? LOOP_DONE : LOOP_OUT_OF_TIME;
}

loop_end attention_look(attention *a, bool due)
{
    const topology *top = &a->sim->top;
    const int64_t level = a->sim->level, taken = level - a->last_step;
    if (level == a->sim->cfg->time.steps || isinf(a->deadline_s)) due = false;
    if (level < a->next_step && !due) return LOOP_DONE;
    const double now_s = timer_now_s(), passed_s = now_s - a->last_s;
    a->per_step_s = passed_s / (double)(taken > 0 ? taken : 1);
    const double steps = fmin(look_every_s / fmax(a->per_step_s, 1e-9), 2.0 * (double)taken + 1);
    int64_t mine[2] = { reason_to_leave(a, due), top->rank == 0 ? (steps < 1 ? 1 : (int64_t)steps) : 0 },
            all[2];
    MPI_CHECK(MPI_Allreduce(mine, all, 2, MPI_INT64_T, MPI_MAX, top->comm));
    a->last_s = now_s;
    a->last_step = level;
    a->next_step = level + all[1];
    return (loop_end)all[0];
}
