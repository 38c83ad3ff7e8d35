#include "topology/topology.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "device/device.h"

/* Names of GPUs, and numbers of them: "0" names one, but counts none. */
static const struct {
    const char *name;
    bool counts;
} variables[] = {
    { "CUDA_VISIBLE_DEVICES", false }, { "SLURM_STEP_GPUS", false },    { "SLURM_JOB_GPUS", false },
    { "SLURM_GPUS_ON_NODE", true },    { "SLURM_GPUS", true },          { "SLURM_GPUS_PER_NODE", true },
    { "SLURM_GPUS_PER_TASK", true },   { "SLURM_GPUS_PER_SOCKET", true },
};

enum { DEVICE_FILES = 32 };

/* "0", or "a100:0" */
static bool counts_none(const char *text)
{
    const char *colon = strrchr(text, ':');
    return strcmp(colon ? colon + 1 : text, "0") == 0;
}

void gpu_rule_look(gpu_facts *f, char *(*get)(const char *name), const char *dev)
{
    const char *shown = get("CUDA_VISIBLE_DEVICES");
    f->hidden = shown && device_cuda_none_named(shown);
    f->given[0] = f->file[0] = '\0';
    for (size_t i = 0; i < sizeof variables / sizeof *variables && !f->given[0]; i++) {
        const char *text = get(variables[i].name);
        if (text && !device_cuda_none_named(text) && !(variables[i].counts && counts_none(text)))
            snprintf(f->given, sizeof f->given, "%s = %.80s", variables[i].name, text);
    }
    for (int i = 0; i < DEVICE_FILES; i++) {
        snprintf(f->file, sizeof f->file, "%.16s/nvidia%d", dev, i);
        if (access(f->file, F_OK) == 0) return;
    }
    f->file[0] = '\0';
}

gpu_rule gpu_rule_of(const gpu_facts *f, sentence *why)
{
    const char *seen = f->file[0] ? f->file : f->elsewhere ? "a GPU that another rank sees" : "";
    const char *there = f->given[0] ? f->given : f->hidden ? "" : seen;
    why->text[0] = '\0';
    if (f->visible > 0) return GPU_RULE_CUDA;
    if (f->with && (f->given[0] || !f->hidden)) {
        sentence_set(
            why,
            "GPUs can be used on %s, but not on %s (%s): start on hosts that all have GPUs, or with %s=host",
            f->with, f->without, f->reason, f->key);
        return GPU_RULE_REFUSE;
    }
    if (!f->built) {
        if (!there[0]) return GPU_RULE_HOST;
        sentence_set(why, "this build has no CUDA (make CUDA=1), but there is %s: the run uses the host",
                     there);
        return GPU_RULE_HOST_SAID;
    }
    if (!there[0]) {
        sentence_set(why, "no GPU: %s; the run uses the host",
                     f->hidden ? "CUDA_VISIBLE_DEVICES hides them" : f->reason);
        return GPU_RULE_HOST_SAID;
    }
    sentence_set(why, "no GPU can be used (%s), but there is %s; %s=host runs without", f->reason, there,
                 f->key);
    return GPU_RULE_REFUSE;
}
