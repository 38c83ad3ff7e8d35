#include "base/cmd_option.h"

#include <string.h>

#include "deck/deck.h"

const cmd_option cmd_option_none[CMD_OPTIONS_MAX] = { { NULL, NULL, NULL } };

int cmd_option_count(const cmd_option *option)
{
    int count = 0;
    while (count < CMD_OPTIONS_MAX && option[count].name) count++;
    return count;
}

void cmd_option_unknown_word(const char *what, const char *typed, const char *const *name,
                             const char *const *argument, int count, sentence *why)
{
    const char *near = deck_near(typed, name, (size_t)count);
    sentence_set(why, "unknown %s '%.200s'%s%s; allowed: ", what, typed, near ? ", did you mean " : "",
                 near ? near : "");
    for (int i = 0; i < count; i++)
        sentence_add(why, "%s%s%s%s", i ? ", " : "", name[i], argument[i] ? " " : "",
                     argument[i] ? argument[i] : "");
}

void cmd_option_unknown(const cmd_option *option, const char *typed, sentence *why)
{
    const char *name[CMD_OPTIONS_MAX + 2], *argument[CMD_OPTIONS_MAX + 2] = { NULL };
    int count = 0;
    for (; count < cmd_option_count(option); count++) {
        name[count] = option[count].name;
        argument[count] = option[count].argument;
    }
    name[count++] = "--help";
    name[count++] = "--version";
    cmd_option_unknown_word("option", typed, name, argument, count, why);
}

bool cmd_option_all_known(const cmd_option *option, int argc, char **argv, sentence *why)
{
    for (int i = 1; i < argc; i++) {
        bool known = argv[i][0] != '-';
        for (int k = 0; k < cmd_option_count(option) && !known; k++)
            known = strcmp(argv[i], option[k].name) == 0;
        if (known) continue;
        cmd_option_unknown(option, argv[i], why);
        return false;
    }
    return true;
}
