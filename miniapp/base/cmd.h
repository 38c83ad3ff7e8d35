/* The commands of the program; each returns an exit status (docs/contract.md, "Exit status": 0 done, 1 failed
 * verdict or difference, 2 the user's mistake, 3 the environment's failure, 75 stopped with a checkpoint).
 * argv[0] is the command's own name. */
#pragma once

#include <stdbool.h>

/* An option of a command, beside --help and --version; it stands beside the function that reads it. A name of
 * NULL ends them. */
typedef struct cmd_option {
    const char *name, *argument, *help; /* argument: NULL for none */
} cmd_option;

int cmd_run(int argc, char **argv);
int cmd_bench(int argc, char **argv);
int cmd_check(int argc, char **argv);
int cmd_info(int argc, char **argv);
int cmd_verify(int argc, char **argv);
int cmd_diff(int argc, char **argv);
extern const cmd_option cmd_info_options[];
/* The words of `weft --version`: this build, its libraries and compiler. to: a FILE *. Returns 0. */
int cmd_version(void *to);

/* When a command needs MPI: always, or, where one process can do it alone, only if a launcher started several
 * (ranks.h). */
typedef enum cmd_ranks { CMD_MPI, CMD_ALONE } cmd_ranks;
/* cmd_begin returns this rank's number, or ends the program with 2 and one sentence where ranks were started
 * with other words or are another build: they would wait for each other; with 3 where a command that needs
 * MPI was started by another MPI's launcher (ranks_apart). catch_signals (NULL: the command has
 * no handlers) calls signals_catch, before MPI_Init and again behind it; in between USR1 and TERM are held
 * back, since MPI may have handlers of its own, and INT is not, since MPI_Init may hang. No mask of a
 * launcher stays. cmd_end finalizes what cmd_begin began and passes status on. */
int cmd_begin(cmd_ranks need, void (*catch_signals)(void), int argc, char **argv);
int cmd_end(int status);
/* From now on USR1, TERM and INT call handler, and a system call that one interrupts goes on. */
void signals_catch(void (*handler)(int));
/* "weft: ..." on stderr, on rank 0 only. Returns status. */
__attribute__((format(printf, 2, 3))) int cmd_say(int status, const char *format, ...);
bool cmd_has_option(int argc, char **argv, const char *option);
/* The command as it was typed, for records; the caller frees it. */
char *cmd_text(int argc, char **argv);
