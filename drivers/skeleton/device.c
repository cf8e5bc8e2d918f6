/* SPDX-License-Identifier: BSD-3-Clause */

#include <errno.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <rte_common.h>

#include "device.h"

int
weir__device_init(struct device *dev)
{
	pthread_mutex_init(&dev->mutex, NULL);
	dev->fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
	return dev->fd < 0 ? -errno : 0;
}

void
weir__device_fini(struct device *dev)
{
	if (dev->fd >= 0)
		close(dev->fd);
	pthread_mutex_destroy(&dev->mutex);
}

int
weir__device_receive(struct device *dev, uint64_t *numbers, unsigned int n)
{
	unsigned int i;
	int rc;

	pthread_mutex_lock(&dev->mutex);
	n = RTE_MIN(n, dev->head - dev->tail);
	for (i = 0; i < n; i++)
		numbers[i] = dev->queue[dev->tail++ % DEVICE_QUEUE];
	rc = n == 0 && dev->gone ? -ENODEV : (int)n;
	pthread_mutex_unlock(&dev->mutex);
	return rc;
}

void
weir__device_interrupts(struct device *dev, bool on)
{
	pthread_mutex_lock(&dev->mutex);
	dev->interrupts = on;
	pthread_mutex_unlock(&dev->mutex);
}

void
weir__device_acknowledge(struct device *dev)
{
	eventfd_t count;

	eventfd_read(dev->fd, &count);
}

/* With the mutex. */
static void
interrupt(const struct device *dev)
{
	if (dev->interrupts)
		eventfd_write(dev->fd, 1);
}

bool
weir__device_feed(struct device *dev, uint64_t number)
{
	bool room;

	pthread_mutex_lock(&dev->mutex);
	room = !dev->gone && dev->head - dev->tail < DEVICE_QUEUE;
	if (room) {
		dev->queue[dev->head++ % DEVICE_QUEUE] = number;
		interrupt(dev);
	}
	pthread_mutex_unlock(&dev->mutex);
	return room;
}

void
weir__device_unplug(struct device *dev)
{
	pthread_mutex_lock(&dev->mutex);
	dev->gone = true;
	interrupt(dev);
	pthread_mutex_unlock(&dev->mutex);
}
