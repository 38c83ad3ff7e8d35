/* The JSON record of a run: the names and meanings that scripts outside rely on (docs/contract.md, "Run
 * record"). What could not be measured is null. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "base/machine.h"
#include "output/record.h"
#include "plan/plan.h"
#include "ranks/ranks.h"
#include "report/report.h"
#include "streaming/streaming.h"

/* The resolved keys of a section, but a file's path alone. */
static json_t *problem_json(const sim *s)
{
    json_t *o = json_pack("{s:i, s:s?}", "radius", s->cfg->problem.radius, "stencil",
                          s->kind->stencil ? stencil_form_name(s->prob.op.form) : NULL);
    config_add_json(o, s->cfg, "problem.");
    config_add_json(o, s->cfg, "grid.x_");
    config_add_json(o, s->cfg, "grid.y_");
    if (s->cfg->problem.initial == CONFIG_INITIAL_FILE)
        json_object_set_new(o, "initial", record_text(s->cfg->problem.file));
    return o;
}

/* How rows stream through the device; null: the fields stay there. */
static json_t *streaming_json(const sim *s)
{
    const streaming_window *w = &s->plan.window;
    if (w->slot_rows == 0) return json_null();
    return json_pack("{s:i, s:I, s:o}", "steps_per_pass", w->pass_steps, "chunk_rows",
                     (json_int_t)streaming_chunk_rows(w),
                     "device_bytes", record_number((double)w->levels * (double)streaming_level_bytes(w)));
}

static json_t *histogram_json(const timer_histogram *h)
{
    json_t *all = json_array();
    for (int i = 0; i < TIMER_BINS; i++) json_array_append_new(all, json_integer((json_int_t)h->bin[i]));
    return all;
}

static json_t *phases_json(const report *r)
{
    json_t *all = json_object();
    for (sim_phase i = 0; i < PHASES; i++)
        json_object_set_new(all, report_phases[i].name,
                            json_pack("{s:o, s:o}", "mean_s", record_number(r->phase[i].mean), "max_s",
                                      record_number(r->phase[i].max)));
    return all;
}

/* Where async is false although it was asked for, one of the notes says why. raw is null until the release
 * after this one, for readers of older records: weft bench io measures it. */
static json_t *checkpoint_json(const report *r)
{
    const state_stats *c = &r->checkpoints;
    const double bytes_per_s = c->count == 0 ? NAN : (double)c->bytes / c->write_s;
    return json_pack("{s:b, s:i, s:I, s:I, s:I, s:o, s:o, s:o, s:o, s:o, s:n, s:n}", "async", c->async,
                     "writers", c->parts, "count", (json_int_t)c->count, "failed", (json_int_t)c->failed,
                     "bytes", (json_int_t)c->bytes, "snapshot_s", record_number(c->snapshot_s), "write_s",
                     record_number(c->write_s), "verify_s", record_number(c->verify_s), "stall_s",
                     record_number(c->stall_s), "bytes_per_s", record_number(bytes_per_s),
                     "raw_bytes_per_s", "raw");
}

static json_t *overlap_json(const overlap *o)
{
    return json_pack("{s:o, s:o, s:o, s:o, s:o}", "step_s", record_number(o->step_s), "step_without_comm_s",
                     record_number(o->step_without_comm_s), "comm_s", record_number(o->comm_s), "visible_s",
                     record_number(o->visible_s), "noise_s", record_number(o->uncertainty_s));
}

json_t *power_json(const power_use *u)
{
    if (u->gpus == 0) return json_null();
    return json_pack("{s:i, s:o, s:o, s:o, s:o, s:o, s:o}", "gpus", u->gpus, "energy_j",
                     record_number(u->energy_j), "power_w", record_number(u->power_w), "power_limit_w",
                     record_number(u->power_limit_w), "update_j", record_number(u->update_j), "held_by_power",
                     record_number(u->held_by_power), "held_by_heat", record_number(u->held_by_heat));
}

/* The record of a run, by rank 0: what was not measured is null. Takes the reference of machine. */
static json_t *run_json(const sim *s, const report *r, const char *deck_text, json_t *machine)
{
    const config *c = s->cfg;
    const double mean_s = r->steps.s.mean, ceiling = r->calibration.ceiling_bytes_per_s;
    char fingerprint[17];
    snprintf(fingerprint, sizeof fingerprint, "%016" PRIx64, r->fingerprint);
    json_t *o = plan_add_json(json_incref(r->head), &s->plan, c);
    const record_member rest[] = {
        { "problem", problem_json(s) },
        { "device", json_string(device_computing(s->dev)->kind == DEVICE_HOST ? "host" : "cuda") },
        { "transport", json_string(transport_kind_name(s->plan.transport)) },
        { "asked", config_add_json(json_object(), c, "run.") },
        { "memory", json_string(s->plan.in_host_memory ? "host" : "device") },
        { "streaming", streaming_json(s) },
        { "persistent", json_boolean(s->plan.persistent) },
        { "sweeps", s->plan.block_steps > 1 ? json_integer((json_int_t)s->passes) : json_null() },
        { "transports", json_pack("{s:o}", "links",
                                  s->plan.exchange.tried ? plan_links_json(&s->plan) : json_object()) },
        { "tune", json_pack("{s:s?, s:o}", "variant",
                            config_kind_of(c)->stencil ? s->plan.variant_name : NULL,
                            "seconds", record_number(s->phase_s[PHASE_TUNE])) },
        { "steps", json_integer((json_int_t)s->level) },
        { "steps_run", json_integer((json_int_t)r->loop.steps_run) },
        { "step_s", record_percentiles(&r->steps.s) },
        { "step_histogram", histogram_json(&r->steps.histogram) },
        { "gcells_per_s", record_number(report_cells_per_s(s, mean_s) * 1e-9) },
        { "bytes_per_s", record_number(report_bytes_per_s(s, mean_s)) },
        { "bytes_moved_per_s", record_number(r->bytes_moved_per_step / mean_s) },
        { "ceiling_bytes_per_s", record_number(ceiling) },
        { "fraction_of_ceiling", record_number(report_bytes_per_s(s, mean_s) / ceiling) },
        { "fraction_of_ceiling_p50", record_number(report_bytes_per_s(s, r->steps.s.p50) / ceiling) },
        { "overlap_hidden_fraction", record_number(r->calibration.overlap.hidden_fraction) },
        { "overlap_hidden_uncertainty", record_number(r->calibration.overlap.hidden_uncertainty) },
        { "overlap_hidden_why", record_text_or_null(r->calibration.overlap.why.text) },
        { "overlap", overlap_json(&r->calibration.overlap) },
        { "power", power_json(&r->power) },
        { "phases", phases_json(r) },
        { "fingerprint", json_string(fingerprint) },
        { "verdict", json_string(verify_name[r->verdict.verdict]) },
        { "verdict_why", record_text_or_null(r->verdict.why.text) },
        { "max_error", record_number(r->verdict.max_error) },
        { "error_bound", record_number(r->verdict.bound) },
        { "last_change", record_number(r->loop.last_change) },
        { "checkpoint", checkpoint_json(r) },
        { "machine", machine },
        { "slowest", json_pack("{s:i, s:o, s:o}", "rank", r->steps.rank, "host", record_text(r->steps.host),
                               "copies", record_straggler(&r->calibration.copies)) },
        { "deck", record_text(deck_text) },
    };
    return record_add(o, rest, sizeof rest / sizeof *rest);
}

bool report_record(const sim *s, const report *r, const char *deck_text, sentence *why)
{
    if (!s->cfg->output.record[0]) return true;
    json_t *machine = machine_json(&s->top, s->dev);
    bool ok = true;
    if (s->top.rank == 0) {
        json_t *o = run_json(s, r, deck_text, machine);
        ok = o && record_append(s->cfg->output.record, o, why);
        json_decref(o);
    }
    return agree_all(ok, s->top.comm);
}
