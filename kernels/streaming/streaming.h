/* A device for fields that are larger than a GPU's memory. They live in host memory; streaming_create's
 * device is a host device to all that fills, reads, sends or saves them. But a pass of several steps
 * (temporal_pass) streams their rows through another device, which computes: rows come in chunks on one
 * stream, are advanced by all the steps of the visit on a second, and go back on a third (streaming_window.h
 * has how they lie there).
 *
 * What differs from other devices (device.h): temporal_steps answers with the most steps that it is asked
 * for, up to those of its window, as a visit costs a way to and fro however few steps it takes. temporal_pass
 * takes boxes as wide as the field alone, whose x is not cut (sides->x_low and x_high are no BOUNDARY_NONE).
 * It makes the images beyond periodic sides itself, so that only beyond cut y sides ghosts in memory are
 * read, steps * radius deep. It returns when all rows are back, as all work of a host device does.
 * stencil_pass, a single step, is the host's own: a processor's memory is faster than the way to a GPU.
 *
 * Fields are fastest page-locked for a GPU (streaming_pin); they stay so until they are freed. */
#pragma once

#include "device/device.h"
#include "streaming/streaming_window.h"

/* Codes of the device that computes, if it is a GPU, stand beyond errno's: those of its own are so much less.
 * */
enum { STREAMING_CUDA_CODES = 1 << 20 };

/* Owns `through`, whatever kind of device that is, from now on. An error code, as of the device's functions;
 * *out is NULL where there is no memory, else to be destroyed by the caller. threads: of the host's kernels;
 * 0: OpenMP's own number. */
int streaming_create(device *through, int threads, device **out);
/* The questions of a device's passes, as streaming_window.h asks them: owner is the device that computes. */
streaming_pass_steps streaming_device_pass_steps;
/* Makes room for the window's visits in the memory of the device that computes, instead of an earlier one's;
 * before the first temporal_pass and after stencil_bind. An error code, as of the device's functions. */
int streaming_prepare(device *d, const streaming_window *w);
/* Before the first visit with this field, and once alone: a visit works without. Touches its pages with all
 * threads. */
int streaming_pin(device *d, void *field, size_t bytes);
