/* The streams of the host device made to run as a GPU's do: work waits in a queue for each stream, and runs
 * when somebody waits for it, or by chance when somebody asks whether it is done, and then on a stream that
 * chance chooses; some stay behind for long. So code that sends before its pack is done, reuses a buffer that
 * a queued kernel still reads, or forgets that one stream has to wait for another gets wrong data here, as it
 * would on a GPU. One seed, and one thread that enqueues, give one order. */
#pragma once

#include "device/device.h"

/* d: device_host_create's, with or without streams and events, and without work. From now on, until it is
 * destroyed; one device of a process at a time. */
void device_defer(device *d, unsigned seed);
