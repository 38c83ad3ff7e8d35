/* weft check: does this machine deliver, and if not, which part of it does not? */
#include <string.h>

#include "base/cmd.h"
#include "check/check.h"
#include "check_fs/check_fs.h"
#include "ranks/check.h"
#include "ranks/timer.h"

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
    else status = check_command(&top, argc, argv, begin_s);
    topology_destroy(&top);
    return cmd_end(status);
}
