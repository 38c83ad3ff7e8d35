/* weft: MPI multi-GPU stencil and transpose mini-app. */
#include <stdio.h>
#include <string.h>

#include "check.h"
#include "checkpoint_probe.h"
#include "cmd.h"
#include "cmd_manual.h"
#include "cmd_table.h"
#include "topology.h"
#include "version.h"

static int print_version(void)
{
    printf("weft %s (%s)\n", version_number, version_git);
    return 0;
}

/* Nothing to run, or nothing that is known. */
static int refuse(const char *typed)
{
    char why[512] = "no command; `weft --help` lists them";
    if (typed) cmd_table_unknown(typed, why, sizeof why);
    (void)cmd_begin();
    return cmd_end(cmd_say(CHECK_EXIT_USAGE, "%s", why));
}

int main(int argc, char **argv)
{
    const char *const command = argc >= 2 ? argv[1] : "";
    const size_t probe = strlen(CHECKPOINT_PROBE_ARGUMENT);
    if (strcmp(command, TOPOLOGY_PROBE_ARGUMENT) == 0) return topology_probe_child();
    if (strncmp(command, CHECKPOINT_PROBE_ARGUMENT, probe) == 0) return checkpoint_probe_child(command + probe);
    if (strcmp(command, "--version") == 0) return print_version();
    if (strcmp(command, "--help") == 0 || strcmp(command, "-h") == 0) {
        cmd_table_print_all(stdout);
        return 0;
    }
    if (strcmp(command, CMD_MANUAL_PAGE) == 0) {
        cmd_manual_page(stdout);
        return 0;
    }
    if (strcmp(command, CMD_MANUAL_COMPLETION) == 0) {
        cmd_manual_completion(stdout);
        return 0;
    }
    const cmd_row *const c = cmd_table_find(command);
    if (!c) return refuse(argc >= 2 ? command : NULL);
    for (int i = 2; i < argc; i++) {
        if (strcmp(argv[i], "--help") != 0 && strcmp(argv[i], "-h") != 0) continue;
        cmd_table_print(stdout, command);
        return 0;
    }
    return argc >= 3 && strcmp(argv[2], "--version") == 0 ? print_version() : c->run(argc - 1, argv + 1);
}
