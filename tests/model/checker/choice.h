/* SPDX-License-Identifier: BSD-3-Clause */

#ifndef MODEL_CHOICE_H
#define MODEL_CHOICE_H

/*
 * The choices of one execution, and the walk over all of them: depth first, by
 * running the model again with the same choices up to the last that has another
 * way left. See choice.c.
 */

#include <stdbool.h>
#include <stdint.h>

#define CHOICES_MAX 100000

/* Starts with nothing chosen: the first execution takes way 0 each time. */
void
choices_reset(void);

/* Before each execution. */
void
choices_rewind(void);

/* One of n ways, n > 0. In an execution. */
unsigned int
choice(unsigned int n);

/* Are the choices so far those of the execution before? */
bool
choices_replayed(void);

/* Goes to the next execution; false if there is none. */
bool
choices_next(void);

/* As text, such as "1.0.2", and back; what follows takes way 0. */
void
choices_print(char *s, unsigned int size);
bool
choices_parse(const char *s);

#endif
