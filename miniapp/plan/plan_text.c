/* The plan as people and records read it: names, notes, and a reason for each choice. */
#include <stdarg.h>
#include <stdio.h>

#include "base/terminal.h"
#include "output/record.h"
#include "plan/plan.h"
#include "ranks/printable.h"

/* The names that records use. */
static const char *const choice_name[PLAN_CHOICES] = {
    [PLAN_MEMORY] = "memory",
    [PLAN_GRID] = "process_grid",
    [PLAN_BLOCK] = "steps_per_pass",
    [PLAN_TRANSPORT] = "transport",
    [PLAN_REDISTRIBUTION] = "transposes",
    [PLAN_FORM] = "form_of_a_step",
    [PLAN_FEED] = "feed",
    [PLAN_STREAMS] = "lanes",
    [PLAN_VARIANT] = "kernel_variant",
};

void plan_add_note(plan *p, bool asked, const char *format, ...)
{
    if (p->notes == PLAN_NOTES_MAX) return;
    plan_note *note = &p->note[p->notes++];
    sentence said;
    va_list ap;
    va_start(ap, format);
    note->asked = asked;
    sentence_set_list(&said, format, ap);
    va_end(ap);
    printable(note->said.text, sizeof note->said.text, said.text);
}

const char *plan_chosen(char out[PLAN_CHOSEN_BYTES], const plan *p, plan_choice choice)
{
    const decomp *d = &p->grid.dec;
    switch (choice) {
    case PLAN_MEMORY: return p->in_host_memory ? "host" : "device";
    case PLAN_GRID: snprintf(out, PLAN_CHOSEN_BYTES, "%d x %d", d->ranks_x, d->ranks_y); return out;
    case PLAN_BLOCK: snprintf(out, PLAN_CHOSEN_BYTES, "%d", p->block_steps); return out;
    case PLAN_TRANSPORT: return transport_kind_name(p->transport);
    case PLAN_REDISTRIBUTION: return transport_kind_name(p->redist_transport);
    case PLAN_FORM: return step_form_name[p->form];
    case PLAN_FEED: return config_feed_name(p->feed);
    case PLAN_STREAMS: snprintf(out, PLAN_CHOSEN_BYTES, "%d", p->streams); return out;
    case PLAN_VARIANT: return p->variant_name;
    case PLAN_CHOICES: break;
    }
    return "";
}

void plan_list(FILE *to, const plan *p)
{
    char chosen[PLAN_CHOSEN_BYTES];
    const char *before = "";
    for (plan_choice i = 0; i < PLAN_CHOICES; i++) {
        if (p->because[i].text[0] == '\0') continue;
        fprintf(to, "%s%s %s", before, choice_name[i], plan_chosen(chosen, p, i));
        before = ", ";
    }
    fprintf(to, "%s\n", p->persistent ? ", on cells that stay in registers" : "");
}

void plan_explain(FILE *to, const plan *p, const char *before)
{
    enum { WIDTH = 16 };
    char text[SENTENCE_BYTES + 256], chosen[PLAN_CHOSEN_BYTES];
    for (plan_choice i = 0; i < PLAN_CHOICES; i++) {
        if (p->because[i].text[0] == '\0') continue;
        snprintf(text, sizeof text, "%s%-*s%s: %s", before, WIDTH, choice_name[i],
                 plan_chosen(chosen, p, i), p->because[i].text);
        terminal_wrap(to, text, WIDTH);
    }
}

static json_t *reasons_json(const plan *p)
{
    json_t *all = json_object();
    for (plan_choice i = 0; i < PLAN_CHOICES; i++) {
        char chosen[PLAN_CHOSEN_BYTES];
        if (p->because[i].text[0] == '\0') continue;
        json_object_set_new(all, choice_name[i],
                            json_pack("{s:s, s:o}", "chosen", plan_chosen(chosen, p, i), "because",
                                      record_text(p->because[i].text)));
    }
    return all;
}

static json_t *notes_json(const plan *p)
{
    json_t *all = json_array();
    for (int i = 0; i < p->notes; i++) json_array_append_new(all, record_text(p->note[i].said.text));
    return all;
}

json_t *plan_links_json(const plan *p)
{
    json_t *used = json_object();
    for (transport_kind t = 0; t < TRANSPORT_KINDS; t++)
        if (p->exchange.used[t] > 0)
            json_object_set_new(used, transport_kind_name(t), json_integer(p->exchange.used[t]));
    return used;
}

void plan_add_json(json_t *o, const plan *p, const config *c)
{
    const decomp *d = &p->grid.dec;
    const record_member all[] = {
        { "grid", json_pack("{s:I, s:I}", "nx", (json_int_t)c->grid.nx, "ny", (json_int_t)c->grid.ny) },
        { "ranks", json_integer(d->ranks_x * d->ranks_y) },
        { "ranks_x", json_integer(d->ranks_x) },
        { "ranks_y", json_integer(d->ranks_y) },
        { "step_form", json_string(step_form_name[p->form]) },
        { "feed", json_string(config_feed_name(p->feed)) },
        { "lanes", json_integer(p->streams) },
        { "fuse", json_integer(p->block_steps) },
        { "norm_every", json_integer((json_int_t)c->time.norm_every) },
        { "plan", reasons_json(p) },
        { "notes", notes_json(p) },
    };
    (void)record_add(o, all, sizeof all / sizeof *all);
}
