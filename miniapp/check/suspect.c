/* The suspect, its evidence, and what a reference says: read from a file, and compared with the rows of a
 * check. */
#include "check/verdict.h"

#include <jansson.h>
#include <math.h>
#include <string.h>

const double check_least = 0.03046;

bool check_suspect_is(check_verdict *v, const check_findings *f, check_part part, int a, int b)
{
    check_suspect *s = &v->suspect;
    const int low = b >= 0 && b < a ? b : a, high = b >= 0 && b < a ? a : b;
    sentence name;
    check_part_name(&name, f, part, low, high);
    if (s->name.text[0]) return strcmp(s->name.text, name.text) == 0;
    if (a < 0 && part != CHECK_DISK) part = CHECK_JOB;
    *s = (check_suspect){ part, low, high, .factor = 1, .confidence = 1, .name = name };
    return true;
}

void check_add_evidence(check_verdict *v, check_like like, double factor)
{
    check_suspect *s = &v->suspect;
    v->row[like].verdict = CHECK_SLOW;
    s->factor = fmin(s->factor, factor);
    sentence_add(&s->evidence, "%s%s %.0f %%", s->rows++ > 0 ? "; " : "", check_likes[like].name,
                 100 * factor);
}

/* ---- the reference ---- */

/* Rates that are not there are NaN. False: one is there, and is none. */
static bool read_rates(json_t *rates, check_reference *out, json_error_t *error)
{
    for (int l = 0; l < CHECK_LIKES; l++) {
        double *const low = &out->low[l], *const high = &out->high[l];
        int *const machines = &out->machines[l];
        json_t *const rate = json_object_get(rates, check_likes[l].key);
        *low = *high = NAN;
        if (!rate ||
            (json_unpack(rate, "{s:F, s:F, s:i}", "low", low, "high", high, "machines", machines) == 0 &&
             *low > 0 && *high >= *low && *machines > 0))
            continue;
        snprintf(error->text, sizeof error->text,
                 "rates.%s must be {\"low\": above 0, \"high\": no less, \"machines\": 1 or more}",
                 check_likes[l].key);
        return false;
    }
    return true;
}

bool check_reference_read(const char *path, check_reference *out, sentence *why)
{
    const char *gpu = "", *const slash = strrchr(path, '/');
    json_error_t error;
    json_t *rates = NULL, *const o = json_load_file(path, 0, &error);
    *out = (check_reference){ .ranks = 0 };
    const bool ok = o &&
                    json_unpack_ex(o, &error, 0, "{s:s, s:i, s:i, s:o}", "gpu", &gpu, "ranks", &out->ranks,
                                   "hosts", &out->hosts, "rates", &rates) == 0 &&
                    read_rates(rates, out, &error);
    snprintf(out->gpu, sizeof out->gpu, "%s", gpu);
    snprintf(out->name, sizeof out->name, "%s", slash ? slash + 1 : path);
    json_decref(o);
    return ok || sentence_refuse(why, "reference = %s: no reference that jobs/check_reference wrote: %s",
                                 path, error.text);
}

/* A rate repeats if two machines or more have it and differ by little; others are shown alone. Rates of all
 * ranks together are those of as many. Where all components of a row lie below, these are the suspect, else
 * the slowest one. */
void check_judge_by_reference(const check_findings *f, const check_reference *r, double errors,
                              check_verdict *v)
{
    check_suspect *s = &v->suspect;
    const bool named = s->name.text[0];
    for (check_row *row = v->row; row < v->row + CHECK_LIKES; row++) {
        const check_part part = check_likes[row->like].part;
        const double low = r->low[row->like], high = r->high[row->like];
        const bool all = part == CHECK_JOB || part == CHECK_DISK || part == CHECK_HOST_LINK;
        if (isnan(low) || (all && (r->ranks != f->ranks || r->hosts != f->hosts))) continue;
        row->reference = sqrt(low * high);
        row->is_judged =
            row->rounds >= CHECK_ROUNDS_LEAST && r->machines[row->like] > 1 && log(high / low) <= check_least;
        const double limit = low * exp(-fmax(check_least, errors * row->spread));
        const bool alike = row->count > 1 && row->most < limit;
        if (!row->is_judged || named || row->least >= limit ||
            !check_suspect_is(v, f, part, alike ? -1 : row->least_a, alike ? -1 : row->least_b))
            continue;
        if (s->rows == 0) sentence_set(&s->evidence, "below the reference: ");
        check_add_evidence(v, row->like, row->least / row->reference);
    }
}
