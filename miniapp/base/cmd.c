#include "base/cmd.h"

#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/machine.h"
#include "base/terminal.h"
#include "ranks/check.h"
#include "ranks/printable.h"
#include "ranks/ranks.h"
#include "state/state.h"

static int rank;

/* ---- begin and end ---- */

void signals_catch(void (*handler)(int))
{
    static const int numbers[] = { SIGUSR1, SIGTERM, SIGINT };
    struct sigaction action = { .sa_handler = handler, .sa_flags = SA_RESTART };
    sigemptyset(&action.sa_mask);
    for (int i = 0; i < 3; i++) sigaction(numbers[i], &action, NULL);
}

/* Holds USR1 and TERM back, or none; no other signal is held back, whatever a launcher did. */
static void signals_hold(bool hold)
{
    sigset_t held;
    sigemptyset(&held);
    if (hold) sigaddset(&held, SIGUSR1);
    if (hold) sigaddset(&held, SIGTERM);
    pthread_sigmask(SIG_SETMASK, &held, NULL);
}

/* Ranks with the same text go on; else the program ends, and the sentence has rank 0's text, that of the
 * first other rank, and its host. */
static void same_on_all_ranks(const char *what, const char *text)
{
    int bytes = (int)strlen(text) + 1; /* of rank 0's */
    sentence why;
    MPI_CHECK(ranks_bcast(&bytes, 1, MPI_INT, 0, ranks_world()));
    char *first = CHECK_ALLOC(malloc((size_t)bytes));
    if (rank == 0) memcpy(first, text, (size_t)bytes);
    MPI_CHECK(ranks_bcast(first, bytes, MPI_CHAR, 0, ranks_world()));
    sentence_set(&why, "rank %d on %s %s '%.255s', rank 0 '%.255s'; all ranks need the same", rank,
                 printable_host(), what, text, first);
    const bool same = agree_or_say(strcmp(first, text) == 0, &why, ranks_world());
    free(first);
    if (!same) exit(cmd_end(cmd_say(CHECK_EXIT_USAGE, "%s", why.text)));
}

int cmd_begin(cmd_ranks need, void (*catch_signals)(void), int argc, char **argv)
{
    if (catch_signals) catch_signals();
    signals_hold(catch_signals != NULL);
    (void)umask(umask(0) | S_IWOTH); /* no file that all users may write to */
    static char place[32];
    snprintf(place, sizeof place, "weft %s", argv[0]);
    check_guard(place);
    state_before_mpi_init();
    ranks_begin(need == CMD_MPI);
    check_guard(place);
    if (catch_signals) catch_signals();
    signals_hold(false);
    rank = ranks_mine(ranks_world());
    char version[128], *const words = cmd_text(argc, argv);
    snprintf(version, sizeof version, "%s (%s)", version_number, version_git);
    same_on_all_ranks("is weft", version);
    same_on_all_ranks("was started as", words);
    free(words);
    sentence apart;
    if (need == CMD_MPI && ranks_apart(&apart))
        exit(cmd_end(cmd_say(CHECK_EXIT_ENVIRONMENT, "%s", apart.text)));
    return rank;
}

int cmd_end(int status)
{
    fflush(NULL);
    ranks_end(); /* rank 0's sentence is out before mpirun sees any rank leave */
    check_guard(NULL);
    return status;
}

int cmd_say(int status, const char *format, ...)
{
    if (rank == 0) {
        /* one line in one write: mpirun forwards what it finds, and puts the table between the pieces of a
         * line */
        char said[4096] = "", line[4096 + 8] = "weft: ";
        const size_t start = strlen(line);
        va_list ap;
        fflush(stdout);
        va_start(ap, format);
        (void)vsnprintf(said, sizeof said, format, ap);
        va_end(ap);
        printable(line + start, sizeof said, said);
        const size_t end = strlen(line);
        line[end] = '\n';
        (void)!write(STDERR_FILENO, line, end + 1);
    }
    return status;
}

bool cmd_has_option(int argc, char **argv, const char *option)
{
    for (int i = 1; i < argc; i++)
        if (strcmp(argv[i], option) == 0) return true;
    return false;
}

char *cmd_text(int argc, char **argv)
{
    terminal_text text;
    FILE *const to = terminal_text_begin(&text);
    fputs("weft", to);
    for (int i = 0; i < argc; i++) fprintf(to, " %s", argv[i]);
    return terminal_text_take(&text);
}
