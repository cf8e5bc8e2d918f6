/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Atomic memory by views, after the operational models of C11 in Kang et al.,
 * "A promising semantics for relaxed-memory concurrency" (POPL 2017), without
 * promises, and Lahav et al., "Repairing sequential consistency in C/C++11"
 * (PLDI 2017).
 *
 * Each location keeps all stores to it, in their order. A thread has a view:
 * for each location, the oldest store that it may still see. A load picks any
 * store from there on, and a release store carries its thread's view to those
 * that acquire it. SEQ_CST fences pass their views on through a common one.
 * Beside the view goes a vector clock, which tells whether plain accesses race
 * (race.c).
 *
 * M1 A store is the youngest of its location when it is made. So two threads
 *    cannot have their stores to two locations seen in opposite orders, and no
 *    load sees a store that is yet to come: both are allowed by C11, and such
 *    executions are not looked at.
 * M2 A SEQ_CST operation on a location is ordered with SEQ_CST stores to that
 *    location and with fences, as C11 has it, and is not a fence itself.
 * M3 A thread that waits in a loop does not see the same old store in each turn
 *    for ever (C11, 7.17.3.16: stores become visible in finite time).
 */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/atomic.h"
#include "choice.h"
#include "kept.h"
#include "memory.h"
#include "model.h"
#include "race.h"
#include "thread.h"

#define LOCATIONS_MAX 4096
#define BUCKETS 16384
#define STORES_MAX 65536
#define VIEW_BYTES (256ul << 20)
#define OLD_MAX 64

struct view {
	uint32_t clock[MEMORY_THREADS];
	uint32_t n; /* locations beyond are at 0 */
	uint16_t at[];
};

/* With room for all locations. */
struct full_view {
	struct view v;
	uint16_t at[LOCATIONS_MAX];
};

struct store {
	uint64_t value;
	const struct view *view; /* NULL: carries nothing */
};

struct location {
	uintptr_t address;
	uint32_t generation;
	uint32_t size;
	uint32_t n;
	uint32_t cap;
	struct store *stores;
};

struct thread {
	struct full_view now;	     /* what it may not see behind */
	struct full_view pending;    /* what an acquire fence will add */
	struct full_view barrier;    /* what a light fence will add */
	const struct view *released; /* by its last release fence */
	uint64_t trace;		     /* hash of what it did and saw */
	uint32_t step;
	/* Old stores seen since the last turn of a waiting loop. */
	struct {
		uint16_t location;
		uint16_t at;
	} old[OLD_MAX];
	unsigned int nb_old;
};

static struct {
	struct thread threads[MEMORY_THREADS];
	struct full_view common; /* of SEQ_CST */
	uint32_t common_order;
	struct location locations[LOCATIONS_MAX];
	uint32_t nb_locations;
	struct {
		uint32_t generation;
		uint32_t location;
	} buckets[BUCKETS];
	uint32_t generation;
	unsigned int stale_left;
	char *views;
	size_t views_used;
} * m KEPT;

static bool tracing KEPT;
static struct {
	const char *file;
	int first, last; /* lines */
	int to;
	bool met; /* some operation stands there */
} weaken KEPT;

/* Where operations stand that were met; see memory_places_note(). */
#define PLACES_MAX 4096
static struct {
	const char *file;
	int line;
} places[PLACES_MAX] KEPT;
static unsigned int nb_places KEPT;
static bool noting KEPT;

static struct thread *
self(void)
{
	return &m->threads[vthread_self()];
}

static uint64_t
mix(uint64_t h, uint64_t v)
{
	h = (h ^ v) * UINT64_C(0x9e3779b97f4a7c15);
	return h ^ h >> 29;
}

static void
saw(struct thread *t, uint64_t what, uint64_t a, uint64_t b)
{
	t->trace = mix(mix(mix(t->trace, what), a), b);
	t->step++;
}

void
memory_saw(uint64_t v)
{
	saw(self(), 1, v, 0);
}

uint64_t
memory_key(void)
{
	uint64_t key = 0;
	unsigned int i;

	for (i = 0; i < vthread_count(); i++)
		key += mix(m->threads[i].trace, i + 1);
	return key;
}

unsigned int
memory_stale_left(void)
{
	return m->stale_left;
}

const uint32_t *
memory_clock(void)
{
	return self()->now.v.clock;
}

void
memory_trace(bool on)
{
	tracing = on;
}

static void
view_join(struct full_view *to, const struct view *from)
{
	uint32_t i;

	if (from == NULL)
		return;
	for (i = 0; i < from->n; i++)
		if (from->at[i] > to->v.at[i])
			to->v.at[i] = from->at[i];
	if (from->n > to->v.n)
		to->v.n = from->n;
	for (i = 0; i < MEMORY_THREADS; i++)
		if (from->clock[i] > to->v.clock[i])
			to->v.clock[i] = from->clock[i];
}

/* As view_join(), but for the clock: an order of looks, not of accesses. */
static void
view_join_order(struct full_view *to, const struct view *from)
{
	uint32_t i;

	for (i = 0; i < from->n; i++)
		if (from->at[i] > to->v.at[i])
			to->v.at[i] = from->at[i];
	if (from->n > to->v.n)
		to->v.n = from->n;
}

static void
view_raise(struct full_view *v, uint32_t location, uint32_t at)
{
	if (v->v.n <= location)
		v->v.n = location + 1;
	if (v->v.at[location] < at)
		v->v.at[location] = (uint16_t)at;
}

static struct view *
view_copy(const struct view *v)
{
	size_t size = sizeof(*v) + v->n * sizeof(v->at[0]);
	struct view *copy = (struct view *)(void *)(m->views + m->views_used);

	m->views_used += (size + 7) & ~7ul;
	if (m->views_used > VIEW_BYTES)
		model_give_up("an execution needs too much memory");
	memcpy(copy, v, size);
	return copy;
}

/* After what others may acquire: what follows is not a part of it. */
static void
tick(struct thread *t)
{
	t->now.v.clock[t - m->threads]++;
}

void
memory_reset(unsigned int stale)
{
	unsigned int i;

	if (m == NULL) {
		m = mmap(NULL, sizeof(*m), PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		if (m == MAP_FAILED)
			abort();
		m->views = mmap(NULL, VIEW_BYTES + sizeof(struct full_view),
				PROT_READ | PROT_WRITE,
				MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1,
				0);
		if (m->views == MAP_FAILED)
			abort();
	}
	for (i = 0; i < MEMORY_THREADS; i++) {
		struct thread *t = &m->threads[i];

		memset(t->now.v.at, 0, t->now.v.n * sizeof(t->now.v.at[0]));
		memset(&t->now.v, 0, sizeof(t->now.v));
		memset(t->pending.v.at, 0,
		       t->pending.v.n * sizeof(t->pending.v.at[0]));
		memset(&t->pending.v, 0, sizeof(t->pending.v));
		memset(t->barrier.v.at, 0,
		       t->barrier.v.n * sizeof(t->barrier.v.at[0]));
		memset(&t->barrier.v, 0, sizeof(t->barrier.v));
		t->now.v.clock[i] = 1;
		t->released = NULL;
		t->trace = 0;
		t->step = 0;
		t->nb_old = 0;
	}
	memset(m->common.v.at, 0, m->common.v.n * sizeof(m->common.v.at[0]));
	memset(&m->common.v, 0, sizeof(m->common.v));
	m->common_order = 0;
	m->nb_locations = 0;
	m->generation++;
	m->stale_left = stale;
	m->views_used = 0;
}

void
memory_fork(unsigned int child)
{
	struct thread *t = self();

	if (child >= MEMORY_THREADS)
		model_give_up("more threads than memory.h has room for");
	view_join(&m->threads[child].now, &t->now.v);
	saw(t, 2, child, 0);
	tick(t);
}

void
memory_join(unsigned int child)
{
	struct thread *t = self();

	view_join(&t->now, &m->threads[child].now.v);
	saw(t, 3, child, 0);
}

static uint64_t
read_memory(const void *p, size_t size)
{
	switch (size) {
	case 1:
		return *(const volatile uint8_t *)p;
	case 2:
		return *(const volatile uint16_t *)p;
	case 4:
		return *(const volatile uint32_t *)p;
	}
	return *(const volatile uint64_t *)p;
}

static void
write_memory(void *p, size_t size, uint64_t v)
{
	switch (size) {
	case 1:
		*(volatile uint8_t *)p = (uint8_t)v;
		break;
	case 2:
		*(volatile uint16_t *)p = (uint16_t)v;
		break;
	case 4:
		*(volatile uint32_t *)p = (uint32_t)v;
		break;
	default:
		*(volatile uint64_t *)p = v;
	}
}

static void
add_store(struct location *l, uint64_t v, const struct view *view)
{
	if (l->n == l->cap) {
		l->cap = l->cap == 0 ? 16 : 2 * l->cap;
		if (l->cap > STORES_MAX)
			model_give_up("a location has too many stores");
		l->stores = realloc(l->stores, l->cap * sizeof(*l->stores));
		if (l->stores == NULL)
			abort();
	}
	l->stores[l->n++] = (struct store){ .value = v, .view = view };
}

/* The bucket of a location, or the one where it belongs. */
static uint32_t
bucket_of(uintptr_t a)
{
	uint32_t b = (uint32_t)(mix(0, a) % BUCKETS);

	while (m->buckets[b].generation == m->generation &&
	       m->locations[m->buckets[b].location].address != a)
		b = (b + 1) % BUCKETS;
	return b;
}

/* NULL: no atomic operation has been there. */
static struct location *
lookup(uintptr_t a)
{
	uint32_t b = bucket_of(a);
	struct location *l;

	if (m->buckets[b].generation != m->generation)
		return NULL;
	l = &m->locations[m->buckets[b].location];
	return l->n > 0 ? l : NULL;
}

/* A new location in that bucket, with nothing in it. */
static struct location *
begin_location(uint32_t bucket, uintptr_t a)
{
	uint32_t i = m->nb_locations++;
	struct location *l = &m->locations[i];

	if (i == LOCATIONS_MAX)
		model_give_up("too many locations");
	m->buckets[bucket].generation = m->generation;
	m->buckets[bucket].location = i;
	l->address = a;
	l->size = 0;
	l->n = 0;
	return l;
}

/* Has something been stored there as of that size? */
static bool
stored_as(uintptr_t a, size_t size)
{
	struct location *l = lookup(a);

	return l != NULL && l->size == size && l->n > 1;
}

/* What is there at first was written by plain stores, or by nobody. */
static struct location *
find(const void *p, size_t size)
{
	uintptr_t a = (uintptr_t)p;
	struct location *l = lookup(a);
	uint32_t b;

	if (l == NULL) {
		b = bucket_of(a);
		l = m->buckets[b].generation == m->generation ?
			    &m->locations[m->buckets[b].location] :
			    begin_location(b, a);
		if ((size == 8 && stored_as(a + 4, 4)) ||
		    (size == 4 && a % 8 == 4 && stored_as(a - 4, 8)))
			model_give_up("a location of two sizes");
		l->size = (uint32_t)size;
		add_store(l, read_memory(p, size), NULL);
	}
	if (l->size != size)
		model_give_up("a location of two sizes");
	return l;
}

void
memory_rewritten(const void *p, size_t size)
{
	uintptr_t end = (uintptr_t)p + size;
	uintptr_t a = (uintptr_t)p & ~(uintptr_t)7;
	const struct location *l;

	for (; a < end; a += 4) {
		l = lookup(a);
		if (l != NULL && a + l->size > (uintptr_t)p)
			begin_location(bucket_of(a), a);
	}
}

static uint32_t
index_of(const struct location *l)
{
	return (uint32_t)(l - m->locations);
}

static bool
acquires(int order)
{
	return order == ACQUIRE || order == ACQ_REL || order == SEQ_CST;
}

static bool
releases(int order)
{
	return order == RELEASE || order == ACQ_REL || order == SEQ_CST;
}

static const char *
order_name(int order)
{
	switch (order) {
	case RELAXED:
		return "relaxed";
	case ACQUIRE:
		return "acquire";
	case RELEASE:
		return "release";
	case ACQ_REL:
		return "acq_rel";
	}
	return "seq_cst";
}

static bool
ends_with(const char *s, const char *end)
{
	size_t n = strlen(s), k = strlen(end);

	return n >= k && strcmp(s + n - k, end) == 0;
}

void
memory_weaken(const char *file, int first, int last, int to)
{
	weaken.file = file;
	weaken.first = first;
	weaken.last = last;
	weaken.to = to;
	weaken.met = false;
}

bool
memory_weaken_met(void)
{
	return weaken.met;
}

void
memory_places_note(void)
{
	noting = true;
	nb_places = 0;
}

void
memory_places_print(void)
{
	unsigned int i;

	for (i = 0; i < nb_places; i++)
		printf("# place %s:%d\n", places[i].file, places[i].line);
	nb_places = 0;
}

static void
note_place(const struct virtual_site *site)
{
	unsigned int i;

	for (i = 0; i < nb_places; i++)
		if (places[i].line == site->line &&
		    strcmp(places[i].file, site->file) == 0)
			return;
	if (nb_places == PLACES_MAX)
		model_give_up("too many places");
	places[nb_places].file = site->file;
	places[nb_places++].line = site->line;
}

/* The order as it is, or as an experiment has it. */
static int
order_at(struct virtual_site *site, int order)
{
	if (site == NULL)
		return order;
	if (site->weakened < 0) {
		site->weakened = weaken.file != NULL &&
				 site->line >= weaken.first &&
				 site->line <= weaken.last &&
				 ends_with(site->file, weaken.file);
		weaken.met |= site->weakened > 0;
		if (noting)
			note_place(site);
	}
	if (!site->weakened || weaken.to == MEMORY_FAILURE)
		return order;
	if (weaken.to == RELAXED)
		return RELAXED;
	/* To one side only, of an operation that has both. */
	if (order == SEQ_CST || order == ACQ_REL)
		return weaken.to;
	return weaken.to == RELEASE && order == ACQUIRE ? RELAXED : order;
}

static void
step(struct virtual_site *site)
{
	if (site != NULL)
		vthread_where(site->file, site->line);
	vthread_point();
}

static void
print_step(const char *what, const void *p, uint64_t v, int order,
	   const char *note)
{
	const char *file;
	int line;

	if (!tracing)
		return;
	vthread_where_get(vthread_self(), &file, &line);
	printf("  %-8s %-10s %-8s %12p %#18lx  %s:%d%s\n",
	       vthread_name(vthread_self()), what, order_name(order), p, v,
	       file != NULL ? file : "?", line, note);
}

/* The calling thread sees store `at` of l. */
static void
see(struct thread *t, struct location *l, uint32_t at, int order)
{
	uint32_t i = index_of(l);

	view_raise(&t->now, i, at);
	view_join(acquires(order) ? &t->now : &t->pending, l->stores[at].view);
	/* Binds later ones to itself by what it stores only: it stores nothing. */
	if (order == SEQ_CST)
		saw(t, 4, m->common_order++, 0);
}

/* The oldest store that a load may see. */
static uint32_t
oldest(const struct thread *t, const struct location *l, int order)
{
	uint32_t i = index_of(l), at = t->now.v.at[i];

	if (order == SEQ_CST && m->common.v.at[i] > at)
		at = m->common.v.at[i];
	return at;
}

static void
note_old(struct thread *t, const struct location *l, uint32_t at)
{
	m->stale_left--;
	if (t->nb_old == OLD_MAX)
		return;
	t->old[t->nb_old].location = (uint16_t)index_of(l);
	t->old[t->nb_old++].at = (uint16_t)at;
}

/* Which store a load sees, of those that hold something else than `not`. */
static uint32_t
pick(struct thread *t, struct location *l, int order, const uint64_t * not )
{
	uint32_t first = oldest(t, l, order), n = 1, at, way;

	if (m->stale_left == 0)
		return l->n - 1;
	for (at = first; at + 1 < l->n; at++)
		if (not == NULL || l->stores[at].value != *not )
			n++;
	way = choice(n);
	if (way == 0)
		return l->n - 1;
	/* The younger ones first. */
	for (at = l->n - 1; way > 0;) {
		at--;
		if (not == NULL || l->stores[at].value != *not )
			way--;
	}
	note_old(t, l, at);
	return at;
}

/* DPDK reads half of what it writes as a whole. */
static struct location *
find_whole(const void *p, size_t size, unsigned int *shift)
{
	uintptr_t a = (uintptr_t)p & ~(uintptr_t)7;
	struct location *l = size == 4 ? lookup(a) : NULL;

	*shift = 0;
	if (l == NULL || l->size != 8)
		return find(p, size);
	*shift = 8 * ((uintptr_t)p - a);
	return l;
}

static uint64_t
load(const void *p, size_t size, int order, const char *what)
{
	struct thread *t = self();
	struct location *l;
	unsigned int shift;
	uint64_t v;
	uint32_t at;

	race_atomic(p, size, false);
	l = find_whole(p, size, &shift);
	at = pick(t, l, order, NULL);
	see(t, l, at, order);
	saw(t, 5, (uintptr_t)p, at);
	v = l->stores[at].value >> shift;
	if (size < 8)
		v &= (UINT64_C(1) << 8 * size) - 1;
	print_step(what, p, v, order, at + 1 < l->n ? "  (old)" : "");
	return v;
}

/* seen: the store that a read-modify-write goes on from, or NULL. */
static void
store(void *p, size_t size, struct location *l, uint64_t v, int order,
      const struct view *seen)
{
	struct thread *t = self();
	uint32_t i = index_of(l), at = l->n;
	struct full_view carried;
	const struct view *view = NULL;

	view_raise(&t->now, i, at);
	if (releases(order)) {
		if (seen == NULL) {
			view = view_copy(&t->now.v);
		} else {
			memcpy(&carried, &t->now,
			       sizeof(t->now.v) +
				       t->now.v.n * sizeof(t->now.v.at[0]));
			memset(carried.v.at + carried.v.n, 0,
			       (m->nb_locations - carried.v.n) *
				       sizeof(carried.v.at[0]));
			view_join(&carried, seen);
			view = view_copy(&carried.v);
		}
	} else if (t->released != NULL && seen != NULL) {
		memset(&carried, 0,
		       sizeof(carried.v) +
			       m->nb_locations * sizeof(carried.v.at[0]));
		view_join(&carried, seen);
		view_join(&carried, t->released);
		view = view_copy(&carried.v);
	} else {
		view = seen != NULL ? seen : t->released;
	}
	add_store(l, v, view);
	write_memory(p, size, v);
	if (order == SEQ_CST) {
		view_raise(&m->common, i, at);
		saw(t, 4, m->common_order++, 0);
	}
	saw(t, 6, (uintptr_t)p, at);
	tick(t);
}

/* Loops that wait look again when something has another value. */
static void
tell(const struct location *l)
{
	if (l->stores[l->n - 1].value != l->stores[l->n - 2].value)
		vthread_progress();
}

uint64_t
virtual_load(const void *p, size_t size, int order, struct virtual_site *site)
{
	order = order_at(site, order);
	step(site);
	return load(p, size, order, "load");
}

void
virtual_store(void *p, size_t size, uint64_t v, int order,
	      struct virtual_site *site)
{
	struct location *l;

	order = order_at(site, order);
	step(site);
	race_atomic(p, size, true);
	l = find(p, size);
	store(p, size, l, v, order, NULL);
	tell(l);
	print_step("store", p, v, order, "");
}

static uint64_t
apply(enum virtual_rmw op, uint64_t old, uint64_t v, size_t size)
{
	uint64_t to = v;

	switch (op) {
	case VIRTUAL_EXCHANGE:
		break;
	case VIRTUAL_ADD:
		to = old + v;
		break;
	case VIRTUAL_SUB:
		to = old - v;
		break;
	case VIRTUAL_OR:
		to = old | v;
		break;
	case VIRTUAL_AND:
		to = old & v;
		break;
	}
	return size == 8 ? to : to & ((UINT64_C(1) << 8 * size) - 1);
}

/* A read-modify-write sees the youngest store, always. */
static uint64_t
modify(void *p, size_t size, struct location *l, uint64_t to, int order)
{
	struct thread *t = self();
	uint32_t at = l->n - 1;
	uint64_t old = l->stores[at].value;

	see(t, l, at, acquires(order) ? ACQUIRE : RELAXED);
	saw(t, 7, (uintptr_t)p, at);
	store(p, size, l, to, order, l->stores[at].view);
	tell(l);
	return old;
}

uint64_t
virtual_rmw(void *p, size_t size, enum virtual_rmw op, uint64_t v, int order,
	    struct virtual_site *site)
{
	struct location *l;
	uint64_t old, to;

	order = order_at(site, order);
	step(site);
	race_atomic(p, size, true);
	l = find(p, size);
	to = apply(op, l->stores[l->n - 1].value, v, size);
	old = modify(p, size, l, to, order);
	print_step("rmw", p, to, order, "");
	return old;
}

bool
virtual_cas(void *p, size_t size, uint64_t *expected, uint64_t v, int success,
	    int failure, struct virtual_site *site)
{
	struct thread *t = self();
	struct location *l;
	uint32_t at;

	success = order_at(site, success);
	if (site != NULL && site->weakened > 0)
		failure = weaken.to == MEMORY_FAILURE ? RELAXED :
							order_at(site, failure);
	step(site);
	race_atomic(p, size, true);
	l = find(p, size);
	at = pick(t, l, failure, expected);
	if (l->stores[at].value == *expected) {
		modify(p, size, l, v, success);
		print_step("cas", p, v, success, "");
		return true;
	}
	see(t, l, at, failure);
	saw(t, 8, (uintptr_t)p, at);
	*expected = l->stores[at].value;
	print_step("cas", p, *expected, failure,
		   at + 1 < l->n ? "  (failed, old)" : "  (failed)");
	return false;
}

void
virtual_add_owner(void *p, size_t size, uint64_t v, struct virtual_site *site)
{
	struct location *l = find(p, size);

	race_atomic(p, size, true);
	store(p, size, l,
	      apply(VIRTUAL_ADD, l->stores[l->n - 1].value, v, size), RELAXED,
	      NULL);
}

static void
fence_common(struct thread *t)
{
	view_join(&t->now, &t->pending.v);
	view_join_order(&t->now, &t->barrier.v);
	view_join_order(&t->now, &m->common.v);
	view_join_order(&m->common, &t->now.v);
	t->released = view_copy(&t->now.v);
	saw(t, 9, m->common_order++, 0);
	tick(t);
}

void
virtual_fence(int order, struct virtual_site *site)
{
	struct thread *t = self();

	order = order_at(site, order);
	step(site);
	if (order == SEQ_CST) {
		fence_common(t);
	} else {
		if (acquires(order))
			view_join(&t->now, &t->pending.v);
		/* It binds the compiler as well. */
		view_join_order(&t->now, &t->barrier.v);
		if (releases(order)) {
			t->released = view_copy(&t->now.v);
			tick(t);
		}
		saw(t, 10, (uint64_t)order, 0);
	}
	print_step("fence", NULL, 0, order, "");
}

/* Nothing by itself: see virtual_membarrier(). */
void
virtual_light_fence(struct virtual_site *site)
{
	struct thread *t = self();

	if (order_at(site, SEQ_CST) != SEQ_CST)
		return;
	view_join_order(&t->now, &t->barrier.v);
}

/*
 * Each thread passes a full fence, somewhere in its code. The compiler may have
 * moved the thread's accesses from one side of that place to the other, but not
 * past a light fence. So what it had stored is seen, and what was stored by
 * others binds what it loads behind its next light fence.
 */
void
virtual_membarrier(struct virtual_site *site)
{
	unsigned int i;

	if (order_at(site, SEQ_CST) != SEQ_CST)
		return;
	step(site);
	for (i = 0; i < vthread_count(); i++)
		view_join_order(&m->common, &m->threads[i].now.v);
	fence_common(self());
	for (i = 0; i < vthread_count(); i++) {
		view_join_order(&m->threads[i].barrier, &m->common.v);
		saw(&m->threads[i], 14, m->common_order, 0);
	}
	print_step("membarrier", NULL, 0, SEQ_CST, "");
}

void
virtual_pause(struct virtual_site *site)
{
	struct thread *t = self();
	bool newer = t->nb_old > 0;
	unsigned int i;

	if (site != NULL)
		vthread_where(site->file, site->line);
	/* M3 */
	for (i = 0; i < t->nb_old; i++) {
		view_raise(&t->now, t->old[i].location, t->old[i].at + 1u);
		saw(t, 14, m->locations[t->old[i].location].address,
		    t->old[i].at);
	}
	t->nb_old = 0;
	vthread_pause(newer);
}

void
virtual_release(const void *p)
{
	struct location *l = find(p, 1);
	struct thread *t = self();

	/* In place, and not seen by loads: p may be anything. */
	add_store(l, 0, view_copy(&t->now.v));
	saw(t, 11, (uintptr_t)p, l->n);
	tick(t);
}

void
virtual_acquire(const void *p)
{
	struct location *l = find(p, 1);
	struct thread *t = self();
	uint32_t i;

	for (i = 0; i < l->n; i++)
		view_join(&t->now, l->stores[i].view);
	saw(t, 12, (uintptr_t)p, l->n);
}

/*
 * DPDK's volatile accesses are of the youngest store: see race.c. They may be
 * of half a location.
 */
void
memory_volatile_read(const void *p, size_t size)
{
	uintptr_t a = (uintptr_t)p & ~(uintptr_t)7;
	struct thread *t = self();
	struct location *l;

	step(NULL);
	l = lookup(a);
	if (l == NULL && a != (uintptr_t)p)
		l = lookup((uintptr_t)p);
	if (l != NULL) {
		see(t, l, l->n - 1, ACQUIRE);
		saw(t, 13, a, l->n - 1);
	} else {
		saw(t, 13, a, read_memory(p, size));
	}
	print_step("volatile", p, read_memory(p, size), ACQUIRE, "");
}
