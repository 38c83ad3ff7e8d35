/* The commands of the program; each returns an exit status (DESIGN: 0 done, 1 failed verdict or difference, 2 the user's
 * mistake, 3 the environment's failure, 75 stopped with a checkpoint). argv[0] is the command's own name. */
#ifndef CMD_H
#define CMD_H

int cmd_run(int argc, char **argv);
int cmd_bench(int argc, char **argv);
int cmd_info(int argc, char **argv);
int cmd_verify(int argc, char **argv);
int cmd_diff(int argc, char **argv);
int cmd_predict(int argc, char **argv);

/* MPI as every command needs it. cmd_begin returns this rank's number; cmd_end finalizes and passes status on. */
int cmd_begin(void);
int cmd_end(int status);
/* "weft: ..." on stderr, on rank 0 only. Returns status. */
__attribute__((format(printf, 2, 3))) int cmd_say(int status, const char *format, ...);
/* The command as it was typed, for records; the caller frees it. */
char *cmd_text(int argc, char **argv);

#endif
