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
    top->device_key = "device";
    device *d = topology_device(top, ask.kind, topology_threads(top, 0), &why, &notes);
    if (!d) return cmd_say(CHECK_EXIT_ENVIRONMENT, "%s", why.text);
    if (notes.text[0]) (void)cmd_say(0, "%s", notes.text);
    sentence_set(&why, "%d ranks drive GPU %.12s: start one rank per GPU", top->ranks_on_device, d->uuid);
    if (!agree_or_say(top->ranks_on_device == 1, &why, top->comm)) {
        device_destroy(&d);
        return cmd_say(CHECK_EXIT_USAGE, "%s", why.text);
    }
    char *command = cmd_text(argc, argv);
    const int status = check_machine(top, d, &ask, command, begin_s);
    free(command);
    device_destroy(&d);
    return status;
}

int cmd_check(int argc, char **argv)
{
    const double begin_s = timer_now_s();
    const bool of_files = argc > 1 && strcmp(argv[1], "fs") == 0;
    topology top;
    int status = 0;
    (void)cmd_begin(CMD_MPI, of_files ? check_fs_catch_signals : check_catch_signals, argc, argv);
    topology_create(&top);
    if (WEFT_SIM) status = cmd_say(CHECK_EXIT_USAGE, "a simulated machine cannot be checked");
    else if (of_files) status = check_fs_command(&top, argc - 1, argv + 1);
    else status = check_it(&top, argc, argv, begin_s);
    topology_destroy(&top);
    return cmd_end(status);
}
