#include "check/check.h"

#include <math.h>
#include <string.h>

#include "base/cmd_key.h"

const char *const check_level_words[] = { "quick", "full", "soak", NULL };
/* in the order of topology_choice */
static const char *const device_words[] = { "auto", "host", "cuda", NULL };

#define MONTH_S (30 * 24 * 3600.0)
#define KEY(NAME, KIND, MEMBER, HELP) \
    .key = NAME, .kind = KIND, .at = offsetof(check_request, MEMBER), .help = HELP
static const cmd_key keys[] = {
    { KEY("level", CMD_KEY_WORD, level,
          "quick (30 s) | full (3 minutes) | soak: rounds of full until time is over, or a signal (quick)"),
      .word = check_level_words },
    { KEY("time", CMD_KEY_SECONDS, time_s, "of a soak: 8h, 30m or 90s (8h)"), .least = 1, .most = MONTH_S },
    { KEY("device", CMD_KEY_WORD, kind,
          "auto | host | cuda; auto: GPUs, else the host, but exit 3 where there are GPUs that cannot be "
          "used"),
      .word = device_words },
    { KEY("dir", CMD_KEY_FOLDER, dir,
          "folder in which the file system is tried; nothing is left there (.)") },
    { KEY("output", CMD_KEY_OUTPUT, output,
          "file to which a record is appended for each round, or none (check.jsonl)") },
    { KEY("reference", CMD_KEY_OUTPUT, reference,
          "rates to compare with: a file of jobs/check_reference, as in inputs/reference, or none (none)") },
    { KEY("budget", CMD_KEY_SECONDS, budget_s,
          "seconds of a round (5 in quick, else 20); below 5 all sizes are small, and rates mean little"),
      .least = 0.01, .most = MONTH_S },
    { KEY("stall_limit", CMD_KEY_SECONDS, stall_limit_s,
          "without progress for this time each rank says in which trial it is, and the check ends; 0: never "
          "(5m)"),
      .most = MONTH_S },
};
enum { KEYS = sizeof keys / sizeof keys[0] };

void check_request_print_keys(void *file) { cmd_key_print(file, keys, KEYS, 11); }

bool check_request_make(check_request *q, int argc, char **argv, sentence *why)
{
    *q = (check_request){ .time_s = 8 * 3600,
                          .budget_s = NAN,
                          .stall_limit_s = 300,
                          .dir = ".",
                          .output = "check.jsonl",
                          .reference = "" };
    for (int i = 1; i < argc; i++) {
        if (!strchr(argv[i], '='))
            return sentence_refuse(why,
                                   "unknown word '%.200s'; allowed: fs, or key=value with one of the keys of "
                                   "`weft check --help`",
                                   argv[i]);
        if (!cmd_key_set(keys, KEYS, q, argv[i], why)) return false;
    }
    if (isnan(q->budget_s)) q->budget_s = q->level == CHECK_QUICK ? 5 : 20;
    return true;
}
