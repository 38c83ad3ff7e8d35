/* The files of the plan share this (plan.h has the order in which they choose). Private to miniapp/plan. */
#pragma once

#include "plan/plan.h"

/* plan_streaming.c, where there is facts.through. plan_can_stream: false with a sentence where fields cannot
 * be in host memory. plan_visit_steps: as many steps as the deck leaves to choose. plan_make_window: for
 * p->block_steps; false, with a sentence part, where the device has no room. */
bool plan_can_stream(const plan_question *q, sentence *why);
int plan_visit_steps(const plan_question *q);
bool plan_make_window(plan *p, const plan_question *q, sentence *why);
void plan_explain_streaming(plan *p, const plan_question *q);

/* plan_temporal.c. The way whose seconds, weighted, are fewest; `otherwise` unless another has fewer.
 * plan_say_ways: adds the seconds of each, which would be taken in place of the chosen one if they were a
 * little faster, up to TRIAL_CLOSE, and why the others cannot be had. */
int plan_cheapest(const plan_way way[], int count, int otherwise);
void plan_say_ways(sentence *because, const plan_way way[], int count, int chosen);

/* plan_transport.c. plan_check_halos: those that cannot be had as planned are staged. */
void plan_choose_transports(plan *p, const plan_question *q);
void plan_check_halos(plan *p, const plan_question *q);

/* Steps that are taken in a row, at most: between norms, which passes may take with them, checkpoints and
 * frames. */
static inline int64_t plan_steps_in_a_row(const config *c, bool passes_take_norms)
{
    const int64_t norm_every = passes_take_norms ? 0 : c->time.norm_every;
    const int64_t every[] = { norm_every, c->checkpoint.every, c->output.every };
    int64_t least = c->time.steps;
    for (int i = 0; i < 3; i++)
        if (every[i] > 0 && every[i] < least) least = every[i];
    return least;
}

/* plan_layout.c. plan_lay_out: the fields for blocks of p->block_steps steps; false where ranks are too small
 * for them, or have no room for four fields. plan_lay_out_transposed: the transposed field. plan_fits: false
 * where a rank has no room for its fields. */
bool plan_lay_out(plan *p, const plan_question *q, sentence *why);
bool plan_lay_out_transposed(plan *p, const plan_question *q, sentence *why);
bool plan_fits(const plan *p, const plan_question *q, sentence *why);

/* plan_temporal.c. plan_lay_out_blocks: for the longest that the deck, the device, the ranks and the length
 * of the run allow; plan_choose_block: as long as a trial has it best. */
bool plan_lay_out_blocks(plan *p, const plan_question *q, sentence *why);
void plan_choose_block(plan *p, const plan_question *q);
void plan_choose_form(plan *p, const plan_question *q);
