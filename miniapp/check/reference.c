#include "check/verdict.h"

#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* False: there is such a rate, and it is none. */
static bool read_rate(json_t *rates, check_like like, check_reference *out)
{
    double *const low = &out->low[like], *const high = &out->high[like];
    json_t *const rate = json_object_get(rates, check_likes[like].key);
    *low = *high = NAN;
    if (!rate) return true;
    return json_unpack(rate, "{s:F, s:F, s:i}", "low", low, "high", high, "machines", &out->machines[like]) ==
               0 &&
           *low > 0 && *high >= *low && out->machines[like] > 0;
}

bool check_reference_read(const char *path, check_reference *out, sentence *why)
{
    const char *gpu = "", *const slash = strrchr(path, '/');
    json_error_t error;
    json_t *rates = NULL, *const o = json_load_file(path, 0, &error);
    *out = (check_reference){ .ranks = 0 };
    bool ok = o && json_unpack_ex(o, &error, 0, "{s:s, s:i, s:i, s:o}", "gpu", &gpu, "ranks", &out->ranks,
                                  "hosts", &out->hosts, "rates", &rates) == 0;
    for (int l = 0; l < CHECK_LIKES && ok; l++) {
        ok = read_rate(rates, (check_like)l, out);
        if (!ok)
            snprintf(error.text, sizeof error.text,
                     "rates.%s must be {\"low\": above 0, \"high\": no less, \"machines\": 1 or more}",
                     check_likes[l].key);
    }
    if (!ok)
        sentence_set(why, "reference = %s: no reference that jobs/check_reference wrote: %s", path,
                     error.text);
    snprintf(out->gpu, sizeof out->gpu, "%s", gpu);
    snprintf(out->name, sizeof out->name, "%s", slash ? slash + 1 : path);
    json_decref(o);
    return ok;
}
