#include "check/reference.h"

#include <dirent.h>
#include <errno.h>
#include <jansson.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "check/findings.h"
#include "topology/topology.h"

/* ---- from JSON ---- */

static const char *base_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

/* {"low": rate, "high": rate, "machines": count}, or one machine's rate. */
static bool read_rate(json_t *o, check_like like, check_reference *out)
{
    double one = json_number_value(o), low = one, high = one;
    int machines = 1;
    if (json_is_object(o) &&
        json_unpack(o, "{s:F, s:F, s:i}", "low", &low, "high", &high, "machines", &machines) != 0)
        return false;
    out->low[like] = low;
    out->high[like] = high;
    out->machines[like] = machines;
    return low > 0 && high >= low && isfinite(high) && machines > 0;
}

static bool read_rates(json_t *rates, const char *path, check_reference *out, sentence *why)
{
    const char *key;
    json_t *rate;
    if (!json_is_object(rates) || json_object_size(rates) == 0)
        return sentence_refuse(why, "reference=%s: \"rates\" has no rates", path);
    json_object_foreach(rates, key, rate) {
        const check_like like = check_like_of(key);
        if (like == CHECK_LIKES)
            return sentence_refuse(
                why, "reference=%s: rates.%.40s is nothing that weft check measures, such as rates.copy",
                path, key);
        if (!read_rate(rate, like, out))
            return sentence_refuse(why,
                                   "reference=%s: rates.%s must be {\"low\": above 0, \"high\": no less, "
                                   "\"machines\": 1 or more}, in %s",
                                   path, key, check_like_unit(like));
    }
    return true;
}

bool check_reference_repeats(const check_reference *r, check_like l)
{
    return r->machines[l] > 1 && r->high[l] <= r->low[l] * (1 + CHECK_LEAST_DIFFERENCE);
}

static bool read_count(const json_t *o, const char *key, const char *path, int *out, sentence *why)
{
    const json_t *number = json_object_get(o, key);
    const json_int_t count = json_integer_value(number);
    *out = (int)count;
    if (!number || (json_is_integer(number) && count >= 0 && count <= INT_MAX)) return true;
    return sentence_refuse(why, "reference=%s: \"%s\" must be a whole number from 0 on", path, key);
}

static bool read_reference(const json_t *o, const char *path, check_reference *out, sentence *why)
{
    const char *gpu = json_string_value(json_object_get(o, "gpu"));
    *out = (check_reference){ .ranks = 0 };
    for (int l = 0; l < CHECK_LIKES; l++) out->low[l] = out->high[l] = NAN;
    if (!gpu || !gpu[0] || strlen(gpu) >= sizeof out->gpu)
        return sentence_refuse(
            why, "reference=%s: \"gpu\" must be a name as the driver gives it, such as \"NVIDIA H200\"",
            path);
    snprintf(out->gpu, sizeof out->gpu, "%s", gpu);
    snprintf(out->name, sizeof out->name, "%s", base_of(path));
    return read_count(o, "ranks", path, &out->ranks, why) && read_count(o, "hosts", path, &out->hosts, why) &&
           read_rates(json_object_get(o, "rates"), path, out, why);
}

static bool load(const char *path, check_reference *out, sentence *why)
{
    json_error_t error;
    json_t *o = json_load_file(path, JSON_REJECT_DUPLICATES, &error);
    if (!o && error.line < 0) return sentence_refuse(why, "reference=%s: %s", path, strerror(errno));
    if (!o)
        return sentence_refuse(why, "reference=%s: no reference that jobs/check_reference wrote: line %d: %s",
                               path, error.line, error.text);
    const bool read = read_reference(o, path, out, why);
    json_decref(o);
    return read;
}

/* ---- which ---- */

/* The first in the folder that is of that GPU; others, and what cannot be read, are passed over. */
static bool load_from(const char *folder, const char *gpu, check_reference *out)
{
    DIR *all = opendir(folder);
    const struct dirent *entry;
    bool found = false;
    while (all && !found && (entry = readdir(all))) {
        char path[2 * PATH_MAX];
        const char *dot = strrchr(entry->d_name, '.');
        sentence why;
        if (!dot || strcmp(dot, ".json") != 0) continue;
        snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
        found = load(path, out, &why) && strcmp(out->gpu, gpu) == 0;
    }
    if (all) closedir(all);
    return found;
}

/* Beside the program or above it: build/weft of a tree, build/debug/weft, PREFIX/bin/weft. */
static bool find_built_in(const char *gpu, check_reference *out)
{
    enum { LEVELS = 4 };
    char at[PATH_MAX], folder[PATH_MAX + 64];
    const ssize_t length = readlink(TOPOLOGY_SELF_EXE, at, sizeof at - 1);
    if (length <= 0) return false;
    at[length] = '\0';
    for (int level = 0; level <= LEVELS; level++) {
        char *slash = strrchr(at, '/');
        if (!slash) return false;
        *slash = '\0';
        snprintf(folder, sizeof folder, "%s/inputs/reference", at);
        if (load_from(folder, gpu, out)) return true;
        snprintf(folder, sizeof folder, "%s/share/weft/reference", at);
        if (load_from(folder, gpu, out)) return true;
    }
    return false;
}

bool check_reference_find(const check_findings *f, const char *asked, check_reference *out, sentence *note)
{
    const bool none = asked && strcmp(asked, "none") == 0;
    sentence_set(note, "%s", "");
    if (asked && !none) {
        if (!load(asked, out, note)) return false;
        if (strcmp(out->gpu, f->device_name) == 0) return true;
        sentence_set(note, "reference=%s is of %s and is not used: this is %s", asked, out->gpu,
                     f->device_name);
    } else if (!none && find_built_in(f->device_name, out)) {
        return true;
    } else if (!none && f->device == DEVICE_CUDA) {
        sentence_set(note,
                     "there is no reference of %s: figures are compared with each other; "
                     "jobs/check_reference makes one of records",
                     f->device_name);
    }
    *out = (check_reference){ .name = "" };
    return true;
}
