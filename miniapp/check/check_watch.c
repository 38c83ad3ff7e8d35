#include "check/check_watch.h"

#include <signal.h>
#include <stdio.h>
#include <sys/time.h>

#include "base/signals.h"
#include "bench/bench_families.h"
#include "ranks/check.h"
#include "run/watchdog.h"

enum { WAIT_US = 800000 }; /* mpirun kills a second after its SIGTERM */

static volatile sig_atomic_t asked;

static void set_timer(long us)
{
    (void)setitimer(ITIMER_REAL, &(struct itimerval){ .it_value = { us / 1000000, us % 1000000 } }, NULL);
}

static void on_signal(int number)
{
    if (!asked && number != SIGUSR1) set_timer(WAIT_US);
    asked = 1;
}

static void on_timer(int number)
{
    bench_io_delete_files();
    check_leave(CHECK_EXIT_ENVIRONMENT);
}

void check_watch_catch_signals(void)
{
    signals_catch(SIGUSR1, on_signal);
    signals_catch(SIGTERM, on_signal);
    signals_catch(SIGINT, on_signal);
    signals_catch(SIGALRM, on_timer);
}

void check_watch_start(double limit_s)
{
    watchdog_counts_rounds();
    watchdog_start(limit_s);
}

/* Two texts in turn: the watchdog may read the one before. */
void check_watch_trial(int round, const char *what)
{
    static char text[2][96];
    static int turn;
    turn = !turn;
    snprintf(text[turn], sizeof text[turn], "%s", what);
    watchdog_step(round + 1);
    watchdog_phase(text[turn]);
}

bool check_watch_asked(void) { return asked; }

void check_watch_stop(void)
{
    set_timer(0);
    (void)signal(SIGALRM, SIG_IGN);
    watchdog_stop();
}
