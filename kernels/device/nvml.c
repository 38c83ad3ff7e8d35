#include "device/nvml.h"

#include <dlfcn.h>
#include <math.h>
#include <stdbool.h>
#include <stddef.h>

/* The part of NVML's interface that is used here (nvml.h of CUDA 11 to 13; a toolkit need not have that
 * header). */
typedef void *nvml_device;
typedef struct nvml_violation {
    unsigned long long reference_us, violation_ns;
} nvml_violation;
enum { NVML_HELD_BY_POWER = 0, NVML_HELD_BY_HEAT = 1 };

typedef struct nvml {
    bool opened, works;
    int (*init)(void);
    int (*device_of)(const char *uuid, nvml_device *out);
    int (*energy)(nvml_device d, unsigned long long *millijoules);
    int (*violation)(nvml_device d, int policy, nvml_violation *out);
    int (*limit)(nvml_device d, unsigned *milliwatts);
} nvml;

static void *symbol(void *library, const char *name) { return library ? dlsym(library, name) : NULL; }

static nvml loaded;

static const nvml *library(void)
{
    nvml *const n = &loaded;
    if (n->opened) return n;
    n->opened = true;
    void *const from = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
    *(void **)&n->init = symbol(from, "nvmlInit_v2");
    *(void **)&n->device_of = symbol(from, "nvmlDeviceGetHandleByUUID");
    *(void **)&n->energy = symbol(from, "nvmlDeviceGetTotalEnergyConsumption");
    *(void **)&n->violation = symbol(from, "nvmlDeviceGetViolationStatus");
    *(void **)&n->limit = symbol(from, "nvmlDeviceGetEnforcedPowerLimit");
    n->works = n->init && n->device_of && n->init() == 0;
    return n;
}

static double held_s(const nvml *n, nvml_device d, int policy, double *at_s)
{
    nvml_violation v;
    if (!n->violation || n->violation(d, policy, &v) != 0) return NAN;
    *at_s = (double)v.reference_us * 1e-6;
    return (double)v.violation_ns * 1e-9;
}

nvml_reading nvml_read(const char *uuid)
{
    nvml_reading r = { NAN, NAN, NAN, NAN, NAN };
    nvml_device d;
    unsigned long long millijoules;
    unsigned milliwatts;
    if (!uuid[0]) return r;
    const nvml *n = library();
    if (!n->works || n->device_of(uuid, &d) != 0) return r;
    if (n->energy && n->energy(d, &millijoules) == 0) r.energy_j = (double)millijoules * 1e-3;
    if (n->limit && n->limit(d, &milliwatts) == 0) r.power_limit_w = milliwatts * 1e-3;
    r.power_held_s = held_s(n, d, NVML_HELD_BY_POWER, &r.held_at_s);
    r.heat_held_s = held_s(n, d, NVML_HELD_BY_HEAT, &r.held_at_s);
    return r;
}
