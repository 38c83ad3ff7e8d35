/* What the choice of a transport was made from: for people, and for the record. */
#include <math.h>
#include <stdio.h>

#include "output/record.h"
#include "report/report.h"

/* Passed on every kind of link that there is, or why it was left out. */
static const char *left_out(const transport_selection *sel, transport_kind t)
{
    static sentence why;
    return transport_selection_passed(sel, t, &why) ? NULL : why.text;
}

json_t *report_transports_json(const sim *s)
{
    json_t *used = json_object(), *candidates = json_array();
    for (transport_kind t = 0; t < TRANSPORT_KINDS && s->plan.selected; t++) {
        const transport_selection_trial *trial = s->plan.selection.trial[t];
        const char *why = left_out(&s->plan.selection, t);
        if (s->plan.selection.used[t] > 0) json_object_set_new(used, transport_kind_name(t), json_integer(s->plan.selection.used[t]));
        json_array_append_new(candidates,
                              json_pack("{s:s, s:o, s:o, s:o}", "transport", transport_kind_name(t), "inside_host_s",
                                        record_number(trial[LINK_INSIDE_HOST].slowest_s), "between_hosts_s",
                                        record_number(trial[LINK_BETWEEN_HOSTS].slowest_s), "left_out",
                                        why ? record_text(why) : json_null()));
    }
    return json_pack("{s:o, s:o, s:o}", "links", used, "candidates", candidates, "seconds",
                     record_number(s->plan.selected ? s->plan.selection.seconds : NAN));
}

static void print_trial(FILE *to, const transport_selection_trial *trial, const transport_selection *sel, transport_kind t,
                        bool *first)
{
    for (link_kind kind = 0; kind < LINK_KINDS; kind++) {
        if (!isfinite(trial[kind].slowest_s)) continue;
        fprintf(to, "%s%s %.3g us%s", *first ? "" : ", ", transport_kind_name(t), trial[kind].slowest_s * 1e6,
               sel->links[!kind] > 0 ? (kind == LINK_INSIDE_HOST ? " inside a host" : " between hosts") : "");
        *first = false;
    }
}

void report_print_transports(FILE *to, const sim *s)
{
    bool first = true;
    if (!s->plan.selected) return;
    fprintf(to, "exchange     ");
    for (transport_kind t = 0; t < TRANSPORT_KINDS; t++) print_trial(to, s->plan.selection.trial[t], &s->plan.selection, t, &first);
    fprintf(to, "%s; tried in %.2f s\n", first ? "none passed its trial" : " alone", s->plan.selection.seconds);
    for (transport_kind t = 0; t < TRANSPORT_KINDS; t++) {
        const char *why = left_out(&s->plan.selection, t);
        const transport_selection_trial *trial = s->plan.selection.trial[t];
        if (why && (trial[0].tried || trial[0].why.text[0])) fprintf(to, "             not %s: %s\n", transport_kind_name(t), why);
    }
}
