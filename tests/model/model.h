/* SPDX-License-Identifier: BSD-3-Clause */

#ifndef MODEL_MODEL_H
#define MODEL_MODEL_H

/*
 * What a model is made of. A model is a function that runs as thread 0, starts
 * others, waits for them, and says what must hold. It is run again and again,
 * until it has gone every way within its bounds. See explore.c.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct model {
	const char *name;
	const char *about;
	void (*run)(void);
	/*
	 * How often a thread that could go on is stopped for another, and how
	 * many loads see an old value, in one execution: up to 7 each. More
	 * finds more; what there is to find is nearly always found with 2
	 * (Musuvathi and Qadeer, "Iterative context bounding", PLDI 2007).
	 */
	unsigned int preemptions;
	unsigned int stale;
	/* A bit for each outcome, see model_outcome(); 0: it tells none. */
	uint64_t outcomes;
	/* Fails on some way, and says this; NULL: must not fail. */
	const char *fails;
};

#define MODEL_DEFINE(name_, ...)                                           \
	static void name_##_run(void);                                     \
	static const struct model name_##_model = { .name = #name_,        \
						    .run = name_##_run,    \
						    __VA_ARGS__ };         \
	static const struct model *const name_##_entry                     \
		__attribute__((section("models"), used)) = &name_##_model; \
	static void name_##_run(void)

/* MODEL(name, "what it shows", preemptions, stale) { ... } */
#define MODEL(name_, about_, preemptions_, stale_)                        \
	MODEL_DEFINE(name_, .about = about_, .preemptions = preemptions_, \
		     .stale = stale_)

/*
 * For models of the checker itself: one that shows by model_outcome() just these
 * outcomes, each at least once, and one that fails and says why, or else the
 * checker has missed it. Both within 3 preemptions and 3 old values.
 */
#define MODEL_OUTCOMES(name_, about_, outcomes_)                           \
	MODEL_DEFINE(name_, .about = about_, .preemptions = 3, .stale = 3, \
		     .outcomes = outcomes_)
#define MODEL_FAILS(name_, about_, says_)                                  \
	MODEL_DEFINE(name_, .about = about_, .preemptions = 3, .stale = 3, \
		     .fails = says_)

/* This execution came out as number n, below 64. Once in an execution. */
void
model_outcome(unsigned int n);

/* Starts a thread of the model; up to 7 beside thread 0. */
unsigned int
model_thread(const char *name, void (*main)(void *arg), void *arg);
/* Waits until one has ended, or all have. What they did is seen then. */
void
model_join(unsigned int thread);
void
model_join_all(void);

/*
 * What happens in this execution when nobody can go on, such as that time
 * passes: true if somebody may be able to now.
 */
void
model_when_stuck(bool (*change)(void));

/* One of n ways, all of which are gone. */
unsigned int
model_choose(unsigned int n);

/* Memory that is watched: see race.c. Zeroed. What is left at the end leaks. */
void *
model_alloc(size_t size);
void
model_free(void *p);

/* Of a function that looks at memory as it is, and whose accesses are nobody's. */
#define UNWATCHED __attribute__((no_sanitize("thread")))

/*
 * These atomic variables are in one hand at a time, by the protocol: an access
 * that does not happen after the others' is a failure, as for plain memory.
 * That also shows where a store could overtake a load before it, which the
 * checker's memory does not do by itself (memory.c, M1).
 */
void
model_exclusive(const void *p, size_t size);

/* The execution is wrong: says so, and how it came to it. */
void
model_fail(const char *format, ...)
	__attribute__((noreturn, format(printf, 1, 2)));

#define model_check(condition)                                              \
	do {                                                                \
		if (!(condition))                                           \
			model_fail("%s:%d: not so: %s", __FILE__, __LINE__, \
				   #condition);                             \
	} while (0)

/* The model asks for more than the checker can do: ends the program. */
void
model_give_up(const char *why) __attribute__((noreturn));

#endif
