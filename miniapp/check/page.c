#include "check/verdict.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/terminal.h"
#include "files/figure.h"

static const char *plural(int n) { return n == 1 ? "" : "s"; }

/* ---- the verdict ---- */

static void put_head(FILE *to, const check_findings *f, const check_verdict *v, const check_reference *r)
{
    const check_suspect *first = v->suspects ? &v->suspect[0] : NULL;
    sentence s;
    sentence_set(&s, "weft check: %s", check_word_name(v->word));
    if (v->word == CHECK_INCOMPLETE) sentence_add(&s, ": %.180s", f->why.text);
    if (first && isnan(first->factor)) sentence_add(&s, ": %.180s gives wrong bits", first->name.text);
    else if (first) sentence_add(&s, ": %.180s delivers %.0f %%", first->name.text, 100 * first->factor);
    if (v->suspects > 1)
        sentence_add(&s, ", and there %s %d more suspect%s", v->suspects == 2 ? "is" : "are", v->suspects - 1,
                     plural(v->suspects - 1));
    terminal_wrap(to, s.text, 4);
    sentence_set(
        &s,
        "%d rank%s on %d host%s, %s%.60s; %d round%s; figures next to their peers; sees: the smallest "
        "deviation that shows",
        f->ranks, plural(f->ranks), f->hosts, plural(f->hosts),
        f->device == DEVICE_HOST ? "host device, " : "", f->device_name, f->rounds, plural(f->rounds));
    if (r) sentence_add(&s, "; ref.: %.60s (in brackets: not judged)", r->name);
    terminal_wrap(to, s.text, 4);
    fputc('\n', to);
}

/* ---- the table: a line for each like ---- */

typedef struct line {
    const check_row *row;      /* alone, where there is one */
    const check_row *together; /* NULL: only one of them was measured */
} line;

/* Rows of a like stand together, the one alone behind. */
static int lines_of_rows(const check_verdict *v, line *out)
{
    int lines = 0;
    for (int i = 0; i < v->rows; i++) {
        const check_row *row = &v->row[i];
        if (lines > 0 && out[lines - 1].row->like == row->like)
            out[lines - 1] = (line){ row, out[lines - 1].row };
        else out[lines++] = (line){ row, NULL };
    }
    return lines;
}

static check_word word_of(const line *l)
{
    return l->together && l->together->verdict > l->row->verdict ? l->together->verdict : l->row->verdict;
}

static void whose(char *out, size_t bytes, const check_row *r)
{
    out[0] = '\0';
    if (r->count < 2) return;
    if (r->least_b < 0) snprintf(out, bytes, "rank %d", r->least_a);
    else
        snprintf(out, bytes, r->like == CHECK_PAIR_ONEWAY ? "%d to %d" : "%d and %d", r->least_a, r->least_b);
}

static figure percent(double fraction, bool in_brackets)
{
    figure f = { "-" };
    if (isfinite(fraction))
        snprintf(f.text, sizeof f.text, in_brackets ? "(%.0f %%)" : "%.0f %%", 100 * fraction);
    return f;
}

/* The least of the row that is slow, of the other only where that is not. */
static void put_line(FILE *to, const line *l)
{
    const check_row *row = l->row,
                    *shown = l->together && l->together->verdict > row->verdict ? l->together : row;
    const char *unit = check_likes[row->like].unit;
    const check_row *compared = isnan(row->reference) && l->together ? l->together : row;
    char who[48];
    const check_word word = word_of(l);
    whose(who, sizeof who, shown);
    fprintf(to, "%-22s %13s %13s %-13s %7s %7s %5s %5s%s%s\n", check_likes[row->like].name,
            figure_rate(row->median, unit).text, row->count > 1 ? figure_rate(shown->least, unit).text : "",
            who, percent(l->together ? l->together->median / row->median : NAN, false).text,
            percent(compared->median / compared->reference, !compared->is_judged).text,
            percent(shown->noise, false).text,
            percent(shown->smallest < 1 ? shown->smallest : NAN, false).text,
            word == CHECK_DELIVERS ? "" : " ", word == CHECK_DELIVERS ? "" : check_word_name(word));
}

/* In at most that many lines: what does not deliver comes before the rest, the rest in the order of likes. */
static void put_table(FILE *to, const check_verdict *v, int room)
{
    line all[2 * CHECK_LIKES];
    const int lines = lines_of_rows(v, all), most = lines < room ? lines : room - 2;
    int left[2] = { most, most }; /* lines that deliver, that do not */
    if (lines == 0) return;
    fprintf(to, "%-22s %13s %13s %-13s %7s %7s %5s %5s\n", "", "median", "least", "of", "at once", "ref.",
            "noise", "sees");
    for (int i = 0; i < lines; i++) left[0] -= word_of(&all[i]) != CHECK_DELIVERS;
    for (int i = 0; i < lines; i++)
        if (left[word_of(&all[i]) != CHECK_DELIVERS]-- > 0) put_line(to, &all[i]);
    if (most < lines) fprintf(to, "and %d more, which the record has\n", lines - most);
}

/* ---- suspects, and what was not tried ---- */

static void put_foot(FILE *to, const check_findings *f, const check_verdict *v)
{
    enum { SHOWN = 4 };
    sentence t;
    if (v->suspects > 0) fprintf(to, "\n");
    for (int i = 0; i < v->suspects && i < SHOWN; i++) {
        const check_suspect *s = &v->suspect[i];
        sentence_set(&t, "%d. %.120s: ", i + 1, s->name.text);
        if (isnan(s->factor)) sentence_add(&t, "wrong bits");
        else sentence_add(&t, "%.0f %%", 100 * s->factor);
        sentence_add(&t, ", confidence %.2f: %.260s", s->confidence, s->evidence.text);
        terminal_wrap(to, t.text, 3);
    }
    if (v->suspects > SHOWN) fprintf(to, "and %d more, which the record has\n", v->suspects - SHOWN);
    if (!f->not_tried.text[0]) return;
    sentence_set(&t, "not tried: %.380s", f->not_tried.text);
    fputc('\n', to);
    terminal_wrap(to, t.text, 3);
}

void check_page_print(FILE *to, const check_findings *f, const check_verdict *v,
                      const check_reference *reference)
{
    terminal_text around;
    int lines = 0;
    FILE *const head_and_foot = terminal_text_begin(&around);
    put_head(head_and_foot, f, v, reference);
    (void)fflush(head_and_foot);
    const size_t head_bytes = around.bytes;
    put_foot(head_and_foot, f, v);
    char *const text = terminal_text_take(&around);
    for (const char *c = text; *c; c++) lines += *c == '\n';
    fprintf(to, "%.*s", (int)head_bytes, text);
    put_table(to, v, CHECK_PAGE_LINES - lines);
    fputs(text + head_bytes, to);
    free(text);
}
