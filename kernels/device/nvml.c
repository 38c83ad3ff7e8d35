#include "device/nvml.h"

#include <math.h>
#include <stddef.h>

#include "device/library.h"

/* The part of NVML's interface that is used here (nvml.h of CUDA 11 to 13; a toolkit need not have that
 * header). */
typedef void *nvml_device;
typedef struct nvml_violation {
    unsigned long long reference_us, violation_ns;
} nvml_violation;
enum { NVML_HELD_BY_POWER = 0, NVML_HELD_BY_HEAT = 1 };
int nvmlInit_v2(void);
int nvmlDeviceGetHandleByUUID(const char *uuid, nvml_device *out);
int nvmlDeviceGetTotalEnergyConsumption(nvml_device d, unsigned long long *millijoules);
int nvmlDeviceGetViolationStatus(nvml_device d, int policy, nvml_violation *out);
int nvmlDeviceGetEnforcedPowerLimit(nvml_device d, unsigned *milliwatts);

#define CALLS(DO)                           \
    DO(nvmlInit_v2)                         \
    DO(nvmlDeviceGetHandleByUUID)           \
    DO(nvmlDeviceGetTotalEnergyConsumption) \
    DO(nvmlDeviceGetViolationStatus)        \
    DO(nvmlDeviceGetEnforcedPowerLimit)
LIBRARY(CALLS)

static bool opened, works;

static double held_s(nvml_device d, int policy, double *at_s)
{
    nvml_violation v;
    if (library.nvmlDeviceGetViolationStatus(d, policy, &v) != 0) return NAN;
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
    if (!opened) works = find_library("libnvidia-ml.so.1") && library.nvmlInit_v2() == 0;
    opened = true;
    if (!works || library.nvmlDeviceGetHandleByUUID(uuid, &d) != 0) return r;
    if (library.nvmlDeviceGetTotalEnergyConsumption(d, &millijoules) == 0)
        r.energy_j = (double)millijoules * 1e-3;
    if (library.nvmlDeviceGetEnforcedPowerLimit(d, &milliwatts) == 0) r.power_limit_w = milliwatts * 1e-3;
    r.power_held_s = held_s(d, NVML_HELD_BY_POWER, &r.held_at_s);
    r.heat_held_s = held_s(d, NVML_HELD_BY_HEAT, &r.held_at_s);
    return r;
}
