/* weft check: does this machine deliver, and if not, which part of it does not? */
#include <stdlib.h>
#include <string.h>

#include "base/cmd.h"
#include "check/check.h"
#include "check_fs/check_fs.h"
#include "ranks/check.h"
#include "ranks/timer.h"
#include "topology/topology.h"

static int check_it(topology *top, int argc, char **argv, double begin_s)
{
    check_request ask;
    sentence why = { "" }, notes = { "" };
    if (!agree_or_say(check_request_make(&ask, argc, argv, &why), &why, top->comm))
        return cmd_say(CHECK_EXIT_USAGE, "%s", why.text);
    device *d = topology_device(top, ask.kind, topology_threads(top, ask.threads), &why, &notes);
    if (!d) return cmd_say(CHECK_EXIT_ENVIRONMENT, "%s", why.text);
    if (notes.text[0]) (void)cmd_say(0, "%s", notes.text);
    char *command = cmd_text(argc, argv);
    const int status = check_machine(top, d, &ask, command, begin_s);
    free(command);
    device_destroy(&d);
    return status;
}

/* The other checks are told from this one by the first word. */
static int check_any(topology *top, int argc, char **argv, double begin_s)
{
    const char *const word = argc > 1 ? argv[1] : "";
    if (WEFT_SIM) return cmd_say(CHECK_EXIT_USAGE, "a simulated machine cannot be checked");
    if (strcmp(word, "fs") == 0) return check_fs_command(top, argc - 1, argv + 1);
    return check_it(top, argc, argv, begin_s);
}

int cmd_check(int argc, char **argv)
{
    const double begin_s = timer_now_s();
    topology top;
    const char *const word = argc > 1 ? argv[1] : "";
    void (*const catch_signals)(void) =
        strcmp(word, "fs") == 0 ? check_fs_catch_signals : check_catch_signals;
    (void)cmd_begin(CMD_MPI, catch_signals, argc, argv);
    topology_create(&top);
    const int status = check_any(&top, argc, argv, begin_s);
    topology_destroy(&top);
    return cmd_end(status);
}
