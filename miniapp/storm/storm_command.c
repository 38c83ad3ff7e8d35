/* The words of `weft check storm`. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cmd.h"
#include "deck/deck.h"
#include "ranks/agree.h"
#include "ranks/check.h"
#include "ranks/fault.h"
#include "storm/storm.h"

static const char *value_of(const char *word, const char *key)
{
    const size_t length = strlen(key);
    return strncmp(word, key, length) == 0 && word[length] == '=' ? word + length + 1 : NULL;
}

static bool read_whole(const char *key, const char *text, int64_t least, int64_t most, int64_t *to,
                       sentence *why)
{
    if (deck_whole(text, to) && *to >= least && *to <= most) return true;
    return sentence_refuse(why, "%s = %s; allowed: a whole number from %lld to %lld", key, text,
                           (long long)least, (long long)most);
}

static bool read_device(const char *text, config_device *to, sentence *why)
{
    static const config_device devices[] = { CONFIG_DEVICE_AUTO, CONFIG_DEVICE_HOST, CONFIG_DEVICE_CUDA };
    for (int i = 0; i < 3; i++)
        if (strcmp(text, config_device_name(devices[i])) == 0) {
            *to = devices[i];
            return true;
        }
    return sentence_refuse(why, "device = %s; allowed: auto, host, cuda", text);
}

static bool read_word(storm_request *ask, const char *word, sentence *why)
{
    const char *text;
    int64_t number = 0;
    if ((text = value_of(word, "device"))) return read_device(text, &ask->device, why);
    if ((text = value_of(word, "steps")))
        return read_whole("steps", text, 1, INT64_C(1) << 40, &ask->steps, why);
    if ((text = value_of(word, "seed"))) {
        const bool ok = read_whole("seed", text, 0, 1000000, &number, why);
        ask->seed = (unsigned)number;
        return ok;
    }
    if ((text = value_of(word, "seconds"))) {
        const bool ok = read_whole("seconds", text, 1, 100000000, &number, why);
        ask->seconds = (double)number;
        ask->steps = INT64_MAX;
        return ok;
    }
    return sentence_refuse(
        why, "check storm: '%s'; allowed: seed=N, steps=N, seconds=S, device=auto|host|cuda", word);
}

/* As the ranks of `weft bench` choose. */
static int choose_device(storm_request *ask, const topology *top, sentence *why)
{
    const char *reason = NULL;
    sentence note = { "" };
    const int visible = device_cuda_count(&reason);
    const bool all_see = agree_all(visible > 0, top->comm);
    if (ask->device == CONFIG_DEVICE_HOST) return 0;
    if (ask->device == CONFIG_DEVICE_CUDA && !all_see) {
        sentence_set(why, "device = cuda, but no GPU can be used on some rank: %s",
                     reason ? reason : "none is visible");
        return CHECK_EXIT_ENVIRONMENT;
    }
    if (all_see) ask->device = CONFIG_DEVICE_CUDA;
    else if (topology_may_use_host(top, visible, reason, "device", &note)) ask->device = CONFIG_DEVICE_HOST;
    else {
        *why = note;
        return CHECK_EXIT_ENVIRONMENT;
    }
    return 0;
}

static void print(const topology *top, const storm_request *ask, const storm_result *r)
{
    if (top->rank != 0) return;
    printf("weft check storm: %d runs, %lld steps on %d ranks, device %s, seed %u: %s\n", r->runs,
           (long long)r->steps, top->ranks, config_device_name(ask->device), ask->seed,
           r->found ? "found" : "nothing found");
    if (r->found) printf("  %s\n", r->what.text);
    if (ask->race != STORM_NO_RACE) printf("  put in on purpose: %s\n", storm_race_name[ask->race]);
}

int check_storm_command(topology *top, int argc, char **argv)
{
    sentence why = { "" };
    storm_request ask = { .steps = 2000, .seconds = INFINITY, .seed = 1 };
    storm_result result;
    const int race = fault_asked("race");
    if (race > 0 && race < STORM_RACES) ask.race = (storm_race)race;
    for (int i = 1; i < argc; i++)
        if (!read_word(&ask, argv[i], &why)) return cmd_say(CHECK_EXIT_USAGE, "%s", why.text);
    int status = choose_device(&ask, top, &why);
    if (status == 0) status = storm_run(&ask, &result, &why);
    if (status != 0) return cmd_say(status, "%s", why.text);
    print(top, &ask, &result);
    return result.found ? CHECK_EXIT_FAILED : 0;
}
