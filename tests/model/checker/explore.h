/* SPDX-License-Identifier: BSD-3-Clause */

#ifndef MODEL_EXPLORE_H
#define MODEL_EXPLORE_H

#include "model.h"

enum outcome {
	OUTCOME_HOLDS,	/* on every way within the bounds */
	OUTCOME_FAILS,	/* on the way that explore_choices() gives */
	OUTCOME_UNDONE, /* the time was up */
	OUTCOME_MISSED, /* what the model says must be met was not */
};

struct explored {
	enum outcome outcome;
	uint64_t states;
	uint64_t executions;
	uint64_t steps;
	double seconds;
	char choices[16384]; /* of the execution that failed */
	char failure[512];
};

/* Goes all ways within the bounds, or until one fails. seconds: at most; 0: any. */
void
explore(const struct model *model, double seconds, struct explored *result);

/* Goes one way, and prints its steps. */
void
explore_replay(const struct model *model, const char *choices,
	       struct explored *result);

#endif
