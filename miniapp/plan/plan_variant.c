/* The variant of the kernel. All give the same bits, so only speed is at stake: the default stays unless
 * another is faster by more than the rounds' noise could be. */
#include "plan/plan.h"
#include "files/figure.h"
#include "plan/plan_rules.h"

static const double margin = 0.01, block_margin = 0.02;

void plan_choose_variant(plan *p, const plan_question *q)
{
    plan_variant_trial *t = &p->variant_trial;
    const double least = 1 - (p->block_steps == 1 ? margin : block_margin);
    p->variant = 0;
    if (q->cfg->run.tune == CONFIG_TUNE_OFF || !config_kind_of(q->cfg)->stencil || !q->trial->variants)
        return;
    q->trial->variants(q->trial->context, p, t);
    if (t->count == 0) return;
    double cost_s[DEVICE_VARIANTS_MAX];
    int second = -1;
    for (int v = 0; v < t->count; v++) {
        cost_s[v] = t->pass_s[v] * (v == 0 ? least : 1);
        if (cost_s[v] < cost_s[p->variant]) p->variant = v;
    }
    for (int v = 0; v < t->count; v++)
        if (v != p->variant && (second < 0 || cost_s[v] < cost_s[second])) second = v;
    plan_reason *r = plan_chosen(p, PLAN_VARIANT, "%s", t->name[p->variant]);
    plan_because(r, NULL, "in a trial of %d variants its pass took %s, the default's %s", t->count,
                 figure_seconds(t->pass_s[p->variant]).text, figure_seconds(t->pass_s[0]).text);
    const plan_way way[] = { { t->name[p->variant], cost_s[p->variant] },
                             { t->name[second], cost_s[second] } };
    plan_say_close(r, way, 2, 0);
    sentence_set(&r->otherwise,
                 "the default is left for one that is faster by more than %g %%; run.tune = off keeps it",
                 100 * (1 - least));
}
