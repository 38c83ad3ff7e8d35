#include "check/verdict.h"

#include <dirent.h>
#include <errno.h>
#include <jansson.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "topology/topology.h"

/* ---- from JSON ---- */

static bool refuse(const char *path, const char *what, sentence *why)
{
    return sentence_refuse(why, "reference=%s: no reference that jobs/check_reference wrote: %s", path, what);
}

/* {"low": rate, "high": rate, "machines": count}, or one machine's rate. */
static bool read_rate(json_t *o, check_like like, check_reference *out)
{
    double low = json_number_value(o), high = low;
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
    sentence what;
    for (int l = 0; l < CHECK_LIKES; l++) out->low[l] = out->high[l] = NAN;
    json_object_foreach(rates, key, rate)
    {
        const check_like like = check_like_of(key);
        if (like == CHECK_LIKES) sentence_set(&what, "rates.%.40s is nothing that weft check measures", key);
        else if (read_rate(rate, like, out)) continue;
        else
            sentence_set(&what,
                         "rates.%s must be {\"low\": above 0, \"high\": no less, \"machines\": 1 or more}, "
                         "in %s",
                         key, check_likes[like].unit);
        return refuse(path, what.text, why);
    }
    return json_object_size(rates) > 0 || refuse(path, "it has no rates", why);
}

static bool load(const char *path, check_reference *out, sentence *why)
{
    const char *gpu = "", *const slash = strrchr(path, '/');
    json_error_t error;
    json_t *rates = NULL, *const o = json_load_file(path, JSON_REJECT_DUPLICATES, &error);
    if (!o && error.line < 0) return sentence_refuse(why, "reference=%s: %s", path, strerror(errno));
    *out = (check_reference){ .ranks = 0 };
    const bool read = o && json_unpack_ex(o, &error, 0, "{s:s, s?i, s?i, s:o}", "gpu", &gpu, "ranks",
                                          &out->ranks, "hosts", &out->hosts, "rates", &rates) == 0;
    const bool ok = read ? read_rates(rates, path, out, why) : refuse(path, error.text, why);
    snprintf(out->gpu, sizeof out->gpu, "%s", gpu);
    snprintf(out->name, sizeof out->name, "%s", slash ? slash + 1 : path);
    json_decref(o);
    return ok;
}

bool check_reference_repeats(const check_reference *r, check_like l)
{
    return r->machines[l] > 1 && r->high[l] <= r->low[l] * (1 + CHECK_LEAST_DIFFERENCE);
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
    static const char *const folder[] = { "inputs/reference", "share/weft/reference" };
    char at[PATH_MAX], path[PATH_MAX + 64], *slash;
    const ssize_t length = readlink(TOPOLOGY_SELF_EXE, at, sizeof at - 1);
    at[length > 0 ? length : 0] = '\0';
    while ((slash = strrchr(at, '/'))) {
        *slash = '\0';
        for (int i = 0; i < 2; i++) {
            snprintf(path, sizeof path, "%s/%s", at, folder[i]);
            if (load_from(path, gpu, out)) return true;
        }
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
