#include "base/signals.h"

#include <pthread.h>
#include <signal.h>
#include <string.h>

void signals_catch(int number, void (*handler)(int))
{
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_handler = handler;
    action.sa_flags = SA_RESTART;
    sigemptyset(&action.sa_mask);
    sigaction(number, &action, NULL);
}

void signals_hold(bool hold)
{
    sigset_t held;
    sigemptyset(&held);
    if (hold) sigaddset(&held, SIGUSR1);
    if (hold) sigaddset(&held, SIGTERM);
    pthread_sigmask(SIG_SETMASK, &held, NULL);
}
