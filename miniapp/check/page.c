#include "check/page.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/terminal.h"
#include "ranks/check.h"

/* A part of the page, which is written to a buffer first, so that its lines are known: the table takes what
 * the others leave. */
typedef struct text {
    FILE *to;
    char *text;
    size_t bytes;
} text;

static void begin(text *t) { t->to = CHECK_ALLOC(open_memstream(&t->text, &t->bytes)); }

static void end(text *t)
{
    if (fclose(t->to) != 0) check_fail(__FILE__, __LINE__, "fclose", "out of memory");
}

static int lines_of(const text *t)
{
    int lines = 0;
    for (const char *c = t->text; *c; c++) lines += *c == '\n';
    return lines;
}

/* Wrapped, and cut where it is longer than that. */
static void put(FILE *to, const char *words, int indent, int lines_most)
{
    text t;
    char *at;
    begin(&t);
    terminal_wrap(t.to, words, indent);
    end(&t);
    at = t.text;
    for (int line = 1; (at = strchr(at, '\n')); line++, at++) {
        if (line < lines_most || !at[1]) continue;
        const ptrdiff_t length = at - t.text, last = length - (ptrdiff_t)strlen(" ...");
        fprintf(to, "%.*s ...\n", (int)(last > 0 ? last : length), t.text);
        break;
    }
    if (!at) fputs(t.text, to);
    free(t.text);
}

/* ---- the verdict ---- */

static const char *plural(int n) { return n == 1 ? "" : "s"; }

static void put_verdict(FILE *to, const check_findings *f, const check_verdict *v)
{
    enum { LINES_MOST = 3 };
    const check_suspect *first = v->suspects ? &v->suspect[0] : NULL;
    sentence s;
    sentence_set(&s, "weft check: %s", check_word_name(v->word));
    if (v->word == CHECK_INCOMPLETE) sentence_add(&s, ": %s", f->why.text);
    if (first && isnan(first->factor)) sentence_add(&s, ": %s gives wrong bits", first->name.text);
    else if (first) sentence_add(&s, ": %s delivers %.0f %%", first->name.text, 100 * first->factor);
    if (v->suspects > 1)
        sentence_add(&s, ", and there %s %d more suspect%s", v->suspects == 2 ? "is" : "are", v->suspects - 1,
                     plural(v->suspects - 1));
    put(to, s.text, 4, LINES_MOST);
}

static void put_machine(FILE *to, const check_findings *f, const check_reference *r)
{
    sentence s;
    sentence_set(&s,
                 "%d rank%s on %d host%s, %s%s; %d round%s; figures next to their peers; sees: the smallest "
                 "deviation that shows",
                 f->ranks, plural(f->ranks), f->hosts, plural(f->hosts),
                 f->device == DEVICE_HOST ? "host device, " : "", f->device_name, f->rounds,
                 plural(f->rounds));
    if (r) sentence_add(&s, "; ref.: %.60s (in brackets: not judged)", r->name);
    put(to, s.text, 4, 2);
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

static const char *percent(char *out, size_t bytes, double fraction, bool in_brackets)
{
    if (isfinite(fraction)) snprintf(out, bytes, in_brackets ? "(%.0f %%)" : "%.0f %%", 100 * fraction);
    else snprintf(out, bytes, "-");
    return out;
}

/* The least of the row that is slow, of the other only where that is not. */
static void put_line(FILE *to, const line *l)
{
    const check_row *row = l->row,
                    *shown = l->together && l->together->verdict > row->verdict ? l->together : row;
    const char *unit = check_like_unit(row->like);
    const check_row *compared = isnan(row->reference) && l->together ? l->together : row;
    char median[32], least[32], who[48], at_once[16], of[16], noise[16], sees[16];
    const check_word word = word_of(l);
    whose(who, sizeof who, shown);
    terminal_rate(least, sizeof least, shown->least, unit);
    fprintf(to, "%-22s %13s %13s %-13s %7s %7s %5s %5s%s%s\n", check_like_name(row->like),
            terminal_rate(median, sizeof median, row->median, unit), row->count > 1 ? least : "", who,
            percent(at_once, sizeof at_once, l->together ? l->together->median / row->median : NAN, false),
            percent(of, sizeof of, compared->median / compared->reference, !compared->is_judged),
            percent(noise, sizeof noise, shown->noise, false),
            percent(sees, sizeof sees, shown->smallest < 1 ? shown->smallest : NAN, false),
            word == CHECK_DELIVERS ? "" : " ", word == CHECK_DELIVERS ? "" : check_word_name(word));
}

/* In at most that many lines: what does not deliver comes before the rest, the rest in the order of likes. */
static void put_table(FILE *to, const check_verdict *v, int room)
{
    line all[2 * CHECK_LIKES];
    const int lines = lines_of_rows(v, all);
    int bad = 0, left_out = 0;
    if (lines == 0) return;
    fprintf(to, "%-22s %13s %13s %-13s %7s %7s %5s %5s\n", "", "median", "least", "of", "at once", "ref.",
            "noise", "sees");
    for (int i = 0; i < lines; i++) bad += word_of(&all[i]) != CHECK_DELIVERS;
    const int rows = lines + 1 <= room ? lines : room - 2, good = rows - bad;
    for (int i = 0, bads = 0, goods = 0; i < lines; i++) {
        const bool is_bad = word_of(&all[i]) != CHECK_DELIVERS;
        if (is_bad ? bads++ < rows : goods++ < good) put_line(to, &all[i]);
        else left_out++;
    }
    if (left_out > 0) fprintf(to, "and %d more, which the record has\n", left_out);
}

/* ---- suspects ---- */

static void put_suspect(FILE *to, const check_suspect *s, int number)
{
    enum { LINES_MOST = 3 };
    sentence t;
    sentence_set(&t, "%d. %s: ", number, s->name.text);
    if (isnan(s->factor)) sentence_add(&t, "wrong bits");
    else sentence_add(&t, "%.0f %%", 100 * s->factor);
    sentence_add(&t, ", confidence %.2f: %s", s->confidence, s->evidence.text);
    put(to, t.text, 3, LINES_MOST);
}

static void put_suspects(FILE *to, const check_verdict *v)
{
    enum { SHOWN = 4 };
    if (v->suspects > 0) fprintf(to, "\n");
    for (int i = 0; i < v->suspects && i < SHOWN; i++) put_suspect(to, &v->suspect[i], i + 1);
    if (v->suspects > SHOWN) fprintf(to, "and %d more, which the record has\n", v->suspects - SHOWN);
}

static void put_not_tried(FILE *to, const check_findings *f)
{
    sentence s;
    if (!f->not_tried.text[0]) return;
    sentence_set(&s, "not tried: %.2100s", f->not_tried.text);
    fprintf(to, "\n");
    put(to, s.text, 3, 4);
}

void check_page_print(FILE *to, const check_findings *f, const check_verdict *v,
                      const check_reference *reference)
{
    text head, foot;
    begin(&head);
    put_verdict(head.to, f, v);
    put_machine(head.to, f, reference);
    end(&head);
    begin(&foot);
    put_suspects(foot.to, v);
    put_not_tried(foot.to, f);
    end(&foot);
    fprintf(to, "%s\n", head.text);
    put_table(to, v, CHECK_PAGE_LINES - 1 - lines_of(&head) - lines_of(&foot));
    fputs(foot.text, to);
    free(head.text);
    free(foot.text);
}
