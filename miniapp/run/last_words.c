#include "run/last_words.h"

#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>

#include "ranks/check.h"
#include "run/watchdog.h"

static _Atomic(const char *) restart_from; /* set after its step, read before it */
static atomic_llong restart_step;

static void put(char *out, size_t bytes)
{
    char where[160];
    const char *const from = atomic_load(&restart_from);
    watchdog_where(where, sizeof where);
    if (from) snprintf(out, bytes, "; %s; continue with --restart %.200s (step %lld or later)", where, from,
                       (long long)atomic_load(&restart_step));
    else snprintf(out, bytes, "; %s; there is no checkpoint yet", where);
}

void last_words_begin(void) { check_add(put); }

void last_words_checkpoint(const char *from, int64_t step)
{
    atomic_store(&restart_step, step);
    atomic_store(&restart_from, from);
}
