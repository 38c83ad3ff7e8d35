#include "check/check_patterns.h"
#include "check/trials.h"

#include <math.h>

#include "ranks/check.h"

/* All of a GPU but a margin, for what the driver and MPI still take; a part of a host, where others compute
 * too. */
static int64_t free_share_bytes(const check *c)
{
    const int64_t host_most = (int64_t)(c->ask->level == CHECK_QUICK ? 64 : 1024) << 20;
    device *d = c->d;
    host_limit by;
    const int64_t bytes = (int64_t)topology_free_bytes(c->top, d, &by);
    if (d->kind == DEVICE_CUDA) return bytes - bytes / 16;
    return bytes / 4 < host_most ? bytes / 4 : host_most;
}

bool trials_memory(check *c)
{
    check_patterns p;
    check_trial_begin(c, "patterns over free memory");
    const int64_t bytes = c->sizes.pattern_bytes > 0 ? c->sizes.pattern_bytes : free_share_bytes(c);
    MPI_CHECK(MPI_Barrier(c->top->comm)); /* nobody takes memory that another still counts as free */
    check_patterns_try(c->d, c->bench.stream, bytes, c->top->rank, c->round, &p);
    if (p.wrong.text[0]) check_trial_fault(c, CHECK_PATTERNS, c->top->rank, -1, p.wrong.text);
    else if (p.bytes > 0)
        check_trial_figure(c, (check_figure){ CHECK_PATTERNS, c->top->rank, -1, c->top->local_ranks == 1, 0,
                                              p.rate, check_trial_noise(&p.time_s) });
    return check_trial_end(c);
}
