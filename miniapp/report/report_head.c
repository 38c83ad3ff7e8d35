/* What a log holds from the first second on: what runs, where, and how. */
#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

#include "base/terminal.h"
#include "base/version.h"
#include "ranks/printable.h"
#include "report/report.h"

void report_print_notes(FILE *to, const sim *s, int from)
{
    for (int i = from; i < s->notes_count; i++) fprintf(to, "note         %s\n", s->notes[i].said.text);
}

static void print_device(FILE *to, const sim *s)
{
    const device *d = s->dev;
    const int sharers = s->top.ranks_on_device;
    if (d->kind == DEVICE_HOST)
        fprintf(to, "device       host: %s, %d thread%s per rank\n", d->name, d->threads, d->threads == 1 ? "" : "s");
    else
        fprintf(to, "device       cuda: %s, %d rank%s per GPU\n", d->name, sharers, sharers == 1 ? "" : "s");
}

static void print_form(FILE *to, const sim *s)
{
    const bool in_kernel = s->pass.form == STEP_IN_KERNEL;
    fprintf(to, "transport    %s; %s steps, feed %s",
            s->top.ranks == 1 && in_kernel ? "none" : transport_kind_name(s->plan.transport), step_form_name[s->pass.form],
            config_feed_name(s->plan.feed));
    if (s->batch) fprintf(to, ", up to %d steps per launch", s->plan.block_steps * GRAPH_BATCH_STEPS_MAX);
    if (!in_kernel) fprintf(to, ", %d lane%s", s->plan.streams, s->plan.streams == 1 ? "" : "s");
    fprintf(to, "\n");
}

/* "order 4, ", or of weights that a deck gives "box of radius 2, ". */
static const char *stencil_text(char *out, size_t bytes, const sim *s)
{
    switch (config_kind_of(s->cfg)->stencil) {
    case KIND_STENCIL_WEIGHTS: snprintf(out, bytes, "%s of radius %d, ", stencil_form_name(s->prob.op.form), s->prob.op.radius); break;
    case KIND_STENCIL_MEAN:
    case KIND_STENCIL_NONE: out[0] = '\0'; break;
    case KIND_STENCIL_DIFFERENCES: snprintf(out, bytes, "order %d, ", s->cfg->problem.order); break;
    }
    return out;
}

void report_print_head(const sim *s, report *r)
{
    const config *c = s->cfg;
    const decomp *d = &s->plan.grid.dec;
    char folder[4096] = "", form[48];
    terminal_text text;
    if (s->top.rank != 0) return;
    FILE *const to = terminal_text_begin(&text);
    fprintf(to, "weft %s (%s)\n", version_number, version_git);
    fprintf(to, "command      %s\n", printable_text(r->command));
    fprintf(to, "started      %s in %s\n", json_string_value(r->started), getcwd(folder, sizeof folder) ? printable_text(folder) : "?");
    fprintf(to, "problem      %s, %s, %s%" PRId64 " x %" PRId64 " cells, initial %s\n", kind_name(c->problem.kind),
            dtype_name(c->problem.type), stencil_text(form, sizeof form, s), c->grid.nx, c->grid.ny,
            config_initial_name(c->problem.initial));
    fprintf(to, "ranks        %d as %d x %d on %d host%s, rank 0 on %s\n", s->top.ranks, d->ranks_x, d->ranks_y, s->top.hosts,
            s->top.hosts == 1 ? "" : "s", s->top.host);
    print_device(to, s);
    print_form(to, s);
    if (s->plan.block_steps > 1)
        fprintf(to, "block        %d steps per pass and exchange; %.2f %% of the cells are computed twice, where boxes and ranks "
                    "meet\n", s->plan.block_steps, 100 * r->redundant_fraction);
    report_print_transports(to, s);
    report_print_notes(to, s, 0);
    terminal_text_end(&text, REPORT_INDENT);
    r->notes_printed = s->notes_count;
}

void report_print_start(const sim *s, report *r)
{
    terminal_text text;
    if (s->top.rank != 0) return;
    FILE *const to = terminal_text_begin(&text);
    const plan_variant_trial *tried = &s->plan.variant_trial;
    if (tried->count > 0)
        fprintf(to, "kernel       %s: the fastest of %d variants tried\n", tried->name[s->plan.variant], tried->count);
    report_print_notes(to, s, r->notes_printed);
    fprintf(to, "steps        %" PRId64 " to %" PRId64 "\n", s->level, s->cfg->time.steps);
    terminal_text_end(&text, REPORT_INDENT);
    r->notes_printed = s->notes_count;
}
