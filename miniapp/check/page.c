#include "check/verdict.h"

#include <math.h>

#include "base/terminal.h"
#include "files/figure.h"

enum { WHO_BYTES = 48 };

static const char *plural(int n) { return n == 1 ? "" : "s"; }

static void put_head(FILE *to, const check_findings *f, const check_verdict *v, const check_reference *r)
{
    const check_suspect *one = &v->suspect;
    sentence s;
    sentence_set(&s, "weft check: %s", check_word_name[v->word]);
    if (v->word == CHECK_INCOMPLETE) sentence_add(&s, ": %.180s", f->why.text);
    if (isnan(one->factor)) sentence_add(&s, ": %.180s gives wrong bits", one->name.text);
    else if (one->name.text[0])
        sentence_add(&s, ": %.180s delivers %.0f %%", one->name.text, 100 * one->factor);
    terminal_wrap(to, s.text, 4);
    sentence_set(&s, "%d rank%s on %d host%s, %s%.60s; %d round%s; sees: the smallest deviation that shows",
                 f->ranks, plural(f->ranks), f->hosts, plural(f->hosts),
                 f->device == DEVICE_HOST ? "host device, " : "", f->device_name, f->rounds,
                 plural(f->rounds));
    if (r->name[0]) sentence_add(&s, "; ref.: %.60s (in brackets: not judged)", r->name);
    terminal_wrap(to, s.text, 4);
    fputc('\n', to);
}

static figure percent(double fraction, bool in_brackets)
{
    figure f = { "-" };
    if (isfinite(fraction))
        snprintf(f.text, sizeof f.text, in_brackets ? "(%.0f %%)" : "%.0f %%", 100 * fraction);
    return f;
}

static void put_row(FILE *to, const check_row *row)
{
    const char *unit = check_likes[row->like].unit;
    char who[WHO_BYTES] = "";
    const bool one_way = row->like == CHECK_PAIR_ONEWAY;
    if (row->count > 1 && row->least_b < 0) snprintf(who, sizeof who, "rank %d", row->least_a);
    else if (row->count > 1)
        snprintf(who, sizeof who, one_way ? "%d to %d" : "%d and %d", row->least_a, row->least_b);
    fprintf(to, "%-22s %13s %13s %-13s %7s %5s %5s%s%s\n", check_likes[row->like].name,
            figure_rate(row->median, unit).text, row->count > 1 ? figure_rate(row->least, unit).text : "",
            who, percent(row->median / row->reference, !row->is_judged).text, percent(row->noise, false).text,
            percent(row->smallest < 1 ? row->smallest : NAN, false).text,
            row->verdict == CHECK_DELIVERS ? "" : " ",
            row->verdict == CHECK_DELIVERS ? "" : check_word_name[row->verdict]);
}

void check_page_print(FILE *to, const check_findings *f, const check_verdict *v, const check_reference *r)
{
    const check_suspect *s = &v->suspect;
    put_head(to, f, v, r);
    fprintf(to, "%-22s %13s %13s %-13s %7s %5s %5s\n", "", "median", "least", "of", "ref.", "noise", "sees");
    for (const check_row *row = v->row; row < v->row + CHECK_LIKES; row++)
        if (check_row_is_there(row)) put_row(to, row);
    if (s->name.text[0])
        terminal_say(to, 3, "\n%.120s: %s, confidence %.2f: %.1200s", s->name.text,
                     percent(s->factor, false).text, s->confidence, s->evidence.text);
    if (f->not_tried.text[0]) terminal_say(to, 3, "\nnot tried: %.380s", f->not_tried.text);
}
