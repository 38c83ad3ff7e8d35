/* A device for fields that are larger than a GPU's memory. The fields live in host memory, and the device of
 * streaming_create fills, reads, sends and saves them as a host device does. Only a pass of several steps
 * (temporal_pass) streams their rows through another device, which computes: rows arrive in chunks on one
 * stream, take all the steps of the visit on a second, and leave on a third (streaming_window.h has their
 * layout on that device).
 *
 * Differences from other devices (device.h): temporal_steps answers with the most steps that it is asked for,
 * up to those of its window, since a visit costs a way to and fro however few its steps are. temporal_pass
 * takes only boxes as wide as the field, whose x is not cut (sides->x_low and x_high are not BOUNDARY_NONE).
 * It makes the images beyond periodic sides itself; of ghosts in memory it reads only those beyond cut y
 * sides, steps * radius deep. It returns when all rows are back, as all work of a host device does.
 * stencil_pass, a single step, is the host's own: a processor's memory is faster than the way to a GPU.
 *
 * Large allocations are page-locked for a GPU, whose copies are fastest then. */
#pragma once

#include "device/device.h"
#include "streaming/streaming_window.h"

/* Offset of the error codes of the computing device, if it is a GPU: they lie beyond errno's. */
enum { STREAMING_CUDA_CODES = 1 << 20 };

/* Takes over `through`, a device of any kind. Returns an error code, as the device's functions do. *out is
 * NULL if there is no memory; otherwise the caller destroys it. threads: of the host's kernels; 0: OpenMP's
 * own number. */
int streaming_create(device *through, int threads, device **out);
/* Answers about a device's passes, as streaming_window.h asks for them: owner is the device that computes. */
streaming_pass_steps streaming_device_pass_steps;
/* Allocates the memory of the window's visits on the device that computes, and frees that of an earlier
 * window. Follows stencil_bind and precedes the first temporal_pass. Returns an error code, as the device's
 * functions do. */
int streaming_prepare(device *d, const streaming_window *w);
