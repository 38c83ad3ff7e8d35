/* Whether a run that was asked for no device may end up on the host: a pure function of what this rank finds.
 * A job that was given GPUs and cannot see them must not run for a day on the CPUs. */
#pragma once

#include <stdbool.h>

#include "core/sentence.h"

typedef enum gpu_rule { GPU_RULE_CUDA, GPU_RULE_HOST, GPU_RULE_HOST_SAID, GPU_RULE_REFUSE } gpu_rule;

typedef struct gpu_facts {
    bool built;          /* with CUDA */
    int visible;         /* GPUs that CUDA shows this rank */
    bool elsewhere;      /* another rank sees one */
    const char *with, *without; /* names of the hosts with and without visible GPUs, where a job has both;
                                 * else NULL */
    bool hidden;         /* CUDA_VISIBLE_DEVICES is there and names none: the user's wish, unless a job was
                          * given GPUs */
    char given[128];     /* "SLURM_JOB_GPUS = 0,1": who gave this rank GPUs; "" nobody */
    char file[64];       /* "/dev/nvidia0": a GPU is in this machine; "" none */
    const char *reason;  /* why none is visible, a sentence part */
    const char *key;     /* with which the user chooses a device: "run.device" */
} gpu_facts;

/* GPU_RULE_HOST_SAID and GPU_RULE_REFUSE: one sentence part in why. */
gpu_rule gpu_rule_of(const gpu_facts *f, sentence *why);

/* Sets given, hidden and file: of the environment that `get` reads (getenv), and of a folder of device files
 * ("/dev"). */
void gpu_rule_look(gpu_facts *f, char *(*get)(const char *name), const char *dev);
