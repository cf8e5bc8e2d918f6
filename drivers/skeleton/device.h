/* SPDX-License-Identifier: BSD-3-Clause */

#ifndef SKELETON_DEVICE_H
#define SKELETON_DEVICE_H

/*
 * What the skeleton drives, in memory: a queue of numbers with an interrupt. In
 * a driver of yours there is a PMD or a library in its place.
 */

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#define DEVICE_QUEUE 16

struct device {
	pthread_mutex_t mutex;
	int fd; /* readable: the interrupt was raised */
	bool interrupts;
	bool gone;
	unsigned int head; /* numbers that came */
	unsigned int tail; /* and those that were taken */
	uint64_t queue[DEVICE_QUEUE];
};

/* Returns 0 or -errno; fini is legal in both cases. */
int
weir__device_init(struct device *dev);
void
weir__device_fini(struct device *dev);

/*
 * As a PMD's receive function: one thread at a time. Returns how many, or -ENODEV
 * when the device is gone and all has been taken.
 */
int
weir__device_receive(struct device *dev, uint64_t *numbers, unsigned int n);

/* Numbers that come from here on raise the interrupt, or do not. */
void
weir__device_interrupts(struct device *dev, bool on);

/* Takes an interrupt back that was raised. */
void
weir__device_acknowledge(struct device *dev);

/* A number comes. False: the queue is full. */
bool
weir__device_feed(struct device *dev, uint64_t number);
void
weir__device_unplug(struct device *dev);

#endif
