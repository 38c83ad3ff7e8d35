#include "run/loop.h"

#include <math.h>
#include <stdio.h>
#include <unistd.h>

#include "ranks/timer.h"

static const double shortest_s = 0.5, log_s = 60, log_part = 0.1;

void progress_begin(progress *p, const config *c, int rank, int64_t first, double copy_cells_per_s)
{
    const config_progress wanted = c->output.progress;
    p->on = rank == 0 && wanted != CONFIG_PROGRESS_OFF;
    p->redrawn = isatty(STDERR_FILENO) == 1;
    const bool for_a_log = wanted == CONFIG_PROGRESS_AUTO && !p->redrawn;
    p->first = p->shown = first;
    p->last = c->time.steps;
    p->every_s = for_a_log ? log_s : shortest_s;
    p->every_steps =
        for_a_log && c->time.tolerance == 0 ? (int64_t)ceil(log_part * (double)(p->last - first)) : 1;
    p->cells = (double)c->grid.nx * (double)c->grid.ny;
    p->copy_cells_per_s = copy_cells_per_s;
    p->begin_s = p->shown_s = timer_now_s();
}

bool progress_due(const progress *p, int64_t step, double now_s)
{
    return p->on && step > p->shown && step - p->shown >= p->every_steps && now_s - p->shown_s >= p->every_s;
}

void progress_show(progress *p, int64_t step, double change)
{
    const double now_s = timer_now_s();
    FILE *const to = p->redrawn ? stderr : stdout;
    if (!progress_due(p, step, now_s)) return;
    const double cells_per_s = (double)(step - p->shown) * p->cells / (now_s - p->shown_s);
    const double left_s = (double)(p->last - step) * (now_s - p->begin_s) / (double)(step - p->first);
    p->shown_s = now_s;
    p->shown = step;
    fprintf(to, "%sstep %lld of %lld  %3.0f %%  %.3g GCells/s, %.3g x a copy  ", p->redrawn ? "\r" : "",
            (long long)step, (long long)p->last, 100.0 * (double)step / (double)p->last, cells_per_s * 1e-9,
            cells_per_s / p->copy_cells_per_s);
    if (!isnan(change)) fprintf(to, "change %.3e  ", change);
    fprintf(to, "%02d:%02d:%02d left%s", (int)(left_s / 3600), (int)fmod(left_s / 60, 60),
            (int)fmod(left_s, 60), p->redrawn ? " \033[K" : "\n");
    fflush(to);
}

void progress_end(progress *p)
{
    if (p->on && p->redrawn) fprintf(stderr, "\r\033[K");
}
