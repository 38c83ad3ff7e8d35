#include "progress.h"

#include <math.h>
#include <stdio.h>
#include <unistd.h>

#include "timer.h"

void progress_begin(progress *p, config_progress wanted, int rank, int64_t first, int64_t last, double cells,
                    double ceiling_cells_per_s)
{
    const bool terminal = isatty(STDERR_FILENO) == 1;
    p->on = rank == 0 && (wanted == CONFIG_PROGRESS_ON || (wanted == CONFIG_PROGRESS_AUTO && terminal));
    p->first = p->shown = first;
    p->last = last;
    p->cells = cells;
    p->ceiling_cells_per_s = ceiling_cells_per_s;
    p->begin_s = p->shown_s = timer_now_s();
}

void progress_show(progress *p, int64_t step, double change)
{
    if (!p->on) return;
    const double now_s = timer_now_s(), lap_s = now_s - p->shown_s;
    if (lap_s < 0.5 || step <= p->shown) return;
    const double cells_per_s = (double)(step - p->shown) * p->cells / lap_s;
    const double left_s = (double)(p->last - step) * (now_s - p->begin_s) / (double)(step - p->first);
    p->shown_s = now_s;
    p->shown = step;
    fprintf(stderr, "\rstep %lld of %lld  %3.0f %%  %.3g GCells/s, %.0f %% of the ceiling  ", (long long)step, (long long)p->last,
            100.0 * (double)step / (double)p->last, cells_per_s * 1e-9, 100.0 * cells_per_s / p->ceiling_cells_per_s);
    if (!isnan(change)) fprintf(stderr, "change %.3e  ", change);
    fprintf(stderr, "%02d:%02d:%02d left \033[K", (int)(left_s / 3600), (int)fmod(left_s / 60, 60), (int)fmod(left_s, 60));
    fflush(stderr);
}

void progress_end(progress *p)
{
    if (p->on) fprintf(stderr, "\r\033[K");
}
