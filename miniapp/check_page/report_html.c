/* The template report.html is part of the program; one mark of it is replaced by the page's text, which is
 * written here, and by the figures that its script draws (report_digest.c). All text of records is other
 * people's: it is escaped. */
#include "check_page/report_html.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/terminal.h"
#include "check_page/report_digest.h"
#include "files/replace.h"
#include "judge/findings.h"
#include "output/record.h"
#include "ranks/check.h"
#include "ranks/printable.h"

/* The Makefile names the file a second time, since -MMD does not see it here. */
__asm__(".pushsection .rodata\n"
        "check_report_template: .incbin \"miniapp/check_page/report.html\"\n"
        ".byte 0\n"
        ".popsection\n");
extern const char check_report_template[];
static const char mark[] = "<!-- check -->";

enum { FAULTS_SHOWN = 200 };

/* ---- values of a record ---- */

static int rank_of(const json_t *o, const char *key)
{
    const json_t *held = json_object_get(o, key);
    return json_is_integer(held) ? (int)json_integer_value(held) : -1;
}

static const json_t *check_of(const json_t *records, size_t round)
{
    return json_object_get(json_array_get(records, round), "check");
}

static const json_t *last_of(const json_t *records)
{
    return check_of(records, json_array_size(records) - 1);
}

static check_like like_of(const json_t *o) { return check_like_of(record_text_of(o, "like")); }

static const char *like_text(const json_t *o)
{
    const check_like like = like_of(o);
    return like < CHECK_LIKES ? check_like_name(like) : record_text_of(o, "like");
}

/* ---- HTML ---- */

static void escaped(FILE *to, const char *text)
{
    for (text = printable_text(text); *text; text++) switch (*text) {
        case '<': fputs("&lt;", to); break;
        case '>': fputs("&gt;", to); break;
        case '&': fputs("&amp;", to); break;
        case '"': fputs("&quot;", to); break;
        default: fputc(*text, to);
        }
}

/* <tag>, its text, and the tag's end; attributes of the tag may follow its name. */
__attribute__((format(printf, 3, 4))) static void element(FILE *to, const char *tag, const char *format, ...)
{
    sentence text;
    va_list args;
    va_start(args, format);
    sentence_set_list(&text, format, args);
    va_end(args);
    fprintf(to, "<%s>", tag);
    escaped(to, text.text);
    fprintf(to, "</%.*s>", (int)strcspn(tag, " "), tag);
}

static void percent_cell(FILE *to, double fraction, const char *format)
{
    if (isfinite(fraction)) element(to, "td", format, 100 * fraction);
    else fputs("<td></td>", to);
}

static void rate_cell(FILE *to, double rate, const json_t *row)
{
    char text[64];
    const check_like like = like_of(row);
    element(to, "td", "%s",
            isnan(rate)
                ? ""
                : terminal_rate(text, sizeof text, rate, like < CHECK_LIKES ? check_like_unit(like) : "/s"));
}

/* A verdict is a word of ours, and a class of the page; any other text gives no class. */
static const char *class_of(const char *verdict)
{
    static const char *const known[] = { "delivers", "slow", "wrong", "incomplete" };
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (strcmp(verdict, known[i]) == 0) return known[i];
    return "";
}

/* A heading in front of which there is a < is of words, which begin at the left. */
static void table_begin(FILE *to, const char *const *heading, size_t headings, const char *about)
{
    fprintf(to,
            "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"%s\"><table "
            "class=\"list\"><thead><tr>",
            about);
    for (size_t i = 0; i < headings; i++) {
        const bool words = heading[i][0] == '<';
        element(to, words ? "th scope=\"col\" class=\"words\"" : "th scope=\"col\"", "%s",
                heading[i] + words);
    }
    fputs("</tr></thead><tbody>\n", to);
}

static void table_end(FILE *to) { fputs("</tbody></table></div>\n", to); }

/* ---- parts of the page ---- */

static void write_fact(FILE *to, const char *name, const char *text)
{
    if (!text[0]) return;
    fputs("<div>", to);
    element(to, "dt", "%s", name);
    element(to, "dd", "%s", text);
    fputs("</div>\n", to);
}

/* What the ranks drive: the GPU's name, of the host device the processor's. */
static const char *device_of(const json_t *record)
{
    const json_t *first = json_array_get(json_object_get(json_object_get(record, "check"), "ranks"), 0);
    return record_text_of(first, "gpu")[0] ? record_text_of(first, "gpu")
                                           : record_text_of(json_object_get(record, "machine"), "processor");
}

static void write_head(FILE *to, const json_t *records)
{
    const size_t rounds = json_array_size(records);
    const json_t *record = json_array_get(records, rounds - 1), *check = last_of(records);
    const char *verdict = record_text_of(check, "verdict"),
               *started = record_text_of(json_array_get(records, 0), "started");
    char number[32];
    fprintf(to, "<header class=\"%s\">", class_of(verdict));
    element(to, "p class=\"verdict\"", "%s", verdict);
    element(to, "h1", "weft check: %zu rank%s, %s", json_array_size(json_object_get(check, "ranks")),
            json_array_size(json_object_get(check, "ranks")) == 1 ? "" : "s", device_of(record));
    if (record_text_of(check, "why")[0]) element(to, "p", "%s", record_text_of(check, "why"));
    snprintf(number, sizeof number, "%zu", rounds);
    if (record_text_of(check, "not_tried")[0])
        element(to, "p class=\"note\"", "not tried: %s", record_text_of(check, "not_tried"));
    fputs("<dl>", to);
    write_fact(to, "level", record_text_of(check, "level"));
    write_fact(to, "rounds", number);
    write_fact(to, "started", started);
    write_fact(to, "weft", record_text_of(record, "version"));
    write_fact(to, "commit", record_text_of(record, "git"));
    write_fact(to, "command", record_text_of(record, "command"));
    fputs("</dl></header>\n", to);
}

static void write_suspect(FILE *to, const json_t *suspect)
{
    const double factor = record_number_of(suspect, "factor"),
                 confidence = record_number_of(suspect, "confidence");
    fprintf(to, "<li class=\"%s\">", isnan(factor) ? "wrong" : "slow");
    element(to, "strong", "%s", record_text_of(suspect, "name"));
    if (isnan(factor)) element(to, "span class=\"degree\"", "wrong bits");
    else element(to, "span class=\"degree\"", "%.0f %% of its like", 100 * factor);
    if (!isnan(confidence)) element(to, "span class=\"note\"", " confidence %.0f %%", 100 * confidence);
    element(to, "p", "%s", record_text_of(suspect, "evidence"));
    fputs("</li>\n", to);
}

static void write_suspects(FILE *to, const json_t *suspects)
{
    size_t i;
    json_t *suspect;
    fputs(
        "<section id=\"suspects\" aria-labelledby=\"suspects-title\"><h2 id=\"suspects-title\">Suspects</h2>",
        to);
    if (json_array_size(suspects) == 0)
        fputs("<p class=\"note\">No component stands out from its like.</p>", to);
    fputs("<ol>", to);
    json_array_foreach((json_t *)suspects, i, suspect) write_suspect(to, suspect);
    fputs("</ol></section>\n", to);
}

static void write_fault(FILE *to, const json_t *fault)
{
    const int a = rank_of(fault, "a"), b = rank_of(fault, "b");
    fputs("<tr>", to);
    element(to, "td", "%s", like_text(fault));
    if (b >= 0) element(to, "td", "%d, %d", a, b);
    else element(to, "td", "%d", a);
    element(to, "td", "%d", rank_of(fault, "round") + 1);
    element(to, "td class=\"words long\"", "%s", record_text_of(fault, "where"));
    fputs("</tr>\n", to);
}

static void write_faults(FILE *to, const json_t *records)
{
    static const char *const heading[] = { "tried", "ranks", "round", "<what was found" };
    size_t count = 0, i;
    json_t *fault;
    for (size_t r = 0; r < json_array_size(records); r++)
        count += json_array_size(json_object_get(check_of(records, r), "faults"));
    if (count == 0) return;
    fprintf(to, "<section id=\"faults\"><h2>Wrong bits</h2><p class=\"note\">%zu found%s.</p>", count,
            count > FAULTS_SHOWN ? "; the first of them" : "");
    table_begin(to, heading, sizeof heading / sizeof *heading, "wrong bits");
    count = 0;
    for (size_t r = 0; r < json_array_size(records); r++)
        json_array_foreach(json_object_get(check_of(records, r), "faults"), i, fault)
            if (count++ < FAULTS_SHOWN) write_fault(to, fault);
    table_end(to);
    fputs("</section>\n", to);
}

static void write_row(FILE *to, const json_t *row)
{
    const double median = record_number_of(row, "median"), least = record_number_of(row, "least"),
                 noise = record_number_of(row, "noise"),
                 of_reference = median / record_number_of(row, "reference");
    const int a = rank_of(row, "least_a"), b = rank_of(row, "least_b");
    const char *verdict = record_text_of(row, "verdict");
    fputs("<tr>", to);
    element(to, "td", "%s%s", like_text(row), json_is_true(json_object_get(row, "alone")) ? ", alone" : "");
    element(to, "td", "%d", rank_of(row, "count"));
    rate_cell(to, median, row);
    percent_cell(to, of_reference, json_is_true(json_object_get(row, "judged")) ? "%.0f %%" : "(%.0f %%)");
    rate_cell(to, least, row);
    if (a < 0) fputs("<td></td>", to);
    else if (b < 0) element(to, "td", "%d", a);
    else element(to, "td", "%d, %d", a, b);
    percent_cell(to, least / median, "%.0f %%");
    percent_cell(to, noise, "%.0f %%");
    fprintf(to, "<td class=\"words word %s\">", class_of(verdict));
    escaped(to, verdict);
    fputs("</td></tr>\n", to);
}

static void write_rows(FILE *to, const json_t *rows)
{
    static const char *const heading[] = { "tried", "components", "median", "of the reference", "least",
                                           "of ranks", "of the median", "noise", "<verdict" };
    size_t i;
    json_t *row;
    fputs("<section id=\"rows\"><h2>What was measured</h2>"
          "<p class=\"note\">Of each component its best round; no difference within the noise counts. In "
          "brackets: not judged.</p>",
          to);
    table_begin(to, heading, sizeof heading / sizeof *heading, "what was measured");
    json_array_foreach((json_t *)rows, i, row) write_row(to, row);
    table_end(to);
    fputs("</section>\n", to);
}

static void write_rank(FILE *to, size_t number, const json_t *rank)
{
    const char *const text[] = { "host", "gpu", "uuid", "pci" };
    const char *const measured[] = { "clock_mhz", "power_w", "temperature_c" };
    const bool power = json_is_true(json_object_get(rank, "held_by_power")),
               heat = json_is_true(json_object_get(rank, "held_by_heat"));
    fprintf(to, "<tr><td>%zu</td>", number);
    for (size_t i = 0; i < sizeof text / sizeof *text; i++)
        element(to, "td class=\"words\"", "%s", record_text_of(rank, text[i]));
    for (size_t i = 0; i < sizeof measured / sizeof *measured; i++) {
        const double x = record_number_of(rank, measured[i]);
        if (isnan(x)) fputs("<td></td>", to);
        else element(to, "td", "%.0f", x);
    }
    element(to, "td class=\"words\"", "%s%s%s", power ? "power" : "", power && heat ? ", " : "",
            heat ? "heat" : "");
    element(to, "td class=\"words\"", "%s",
            json_is_false(json_object_get(rank, "ended")) ? "not heard of" : "");
    fputs("</tr>\n", to);
}

static void write_ranks(FILE *to, const json_t *ranks)
{
    static const char *const heading[] = { "rank", "<host", "<GPU",    "<UUID",    "<PCI",
                                           "MHz",  "W",     "\u00b0C", "<held by", "<at the end" };
    size_t i;
    json_t *rank;
    fputs("<section id=\"ranks\"><h2>Ranks</h2><p class=\"note\">Clock, power and temperature under "
          "arithmetic.</p><details",
          to);
    fputs(json_array_size(ranks) <= 16 ? " open><summary>" : "><summary>", to);
    fprintf(to, "%zu ranks</summary>", json_array_size(ranks));
    table_begin(to, heading, sizeof heading / sizeof *heading, "ranks");
    json_array_foreach((json_t *)ranks, i, rank) write_rank(to, i, rank);
    table_end(to);
    fputs("</details></section>\n", to);
}

/* In JSON a < stands in texts alone, and may there be written by its number: then no text ends the script. */
static void write_figures(FILE *to, const json_t *records)
{
    json_t *digest = check_report_digest(records);
    char *text = CHECK_ALLOC(json_dumps(digest, JSON_COMPACT | JSON_REAL_PRECISION(5)));
    fputs("<script type=\"application/json\" id=\"figures\">", to);
    for (const char *c = text; *c; c++)
        if (*c == '<') fputs("\\u003c", to);
        else fputc(*c, to);
    fputs("</script>\n", to);
    free(text);
    json_decref(digest);
}

/* ---- the file ---- */

static void write_page(FILE *to, const json_t *records)
{
    const char *split = strstr(check_report_template, mark);
    const json_t *check = last_of(records);
    fwrite(check_report_template, 1, (size_t)(split - check_report_template), to);
    fputs("<main>\n", to);
    write_head(to, records);
    write_suspects(to, json_object_get(check, "suspects"));
    write_faults(to, records);
    fputs("<noscript><p class=\"note\">Pictures of pairs, distributions and trends need "
          "scripts.</p></noscript>\n",
          to);
    write_rows(to, json_object_get(check, "rows"));
    write_ranks(to, json_object_get(check, "ranks"));
    fputs("</main>\n", to);
    write_figures(to, records);
    fputs(split + strlen(mark), to);
}

bool check_report_write(const char *path, const json_t *records, sentence *why)
{
    replace file;
    int code = replace_begin(&file, path);
    if (code == 0) {
        write_page(file.to, records);
        code = replace_end(&file, true);
    }
    return code == 0 || sentence_refuse(why, "%s: %s", printable_text(path), strerror(code));
}
