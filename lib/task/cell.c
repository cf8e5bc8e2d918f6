/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Cells come from chunks, and are never given back to the heap one by one. What
 * was used lies in lists through the cells themselves. The exchange between
 * stocks and depots by whole batches is that of magazines (Bonwick and Adams,
 * USENIX 2001).
 *
 * Not rte_mempool: it keeps a line of its own before each object and spreads
 * them, so that a task of two lines takes three or more, and it cannot grow.
 *
 * C1 A cell goes back to where it came from: size_class tells which.
 * C2 A cache belongs to one worker's core and serves the pools of that
 *    worker's node only.
 * C3 A batch has CELL_BATCH cells; a stock that runs over gives a whole one away and
 *    keeps a whole one, and does neither again before it has freed or taken as many.
 * C4 Under a depot's lock nobody asks for memory, or does anything else that
 *    takes long.
 * C5 All but the large ones stay cells until the end. What never held a task has a state
 *    word of zero, which says that there is none (state.h, T7). A large one is returned
 *    to the heap under the lock of their list.
 * C6 Batches are lists through their cells (C7). Where others take them than give them,
 *    each step through a list would wait for a line of another CPU's; where a depot has many,
 *    for one that is in no near cache any more. There who gives a batch, and has just
 *    used its cells, makes groups of it: the first cell of a group names the others, which
 *    are fetched while the group before it is used, and the group after the next, whose
 *    first cell is fetched with them. For a batch to begin like that, it is taken when
 *    the last group of the one before is opened.
 * C7 What is given back lies in CELL_LISTS lists by turns, and is taken in the reverse
 *    order: so the next few are known, and fetched, before the first of them is there. The
 *    last one put there is in the list that comes before the n-th; without any, all lists
 *    are empty. One by one, tasks that end and begin by turns have the same cell, `last`,
 *    which is in none of them, and wait for no link.
 */

#include <errno.h>

#include <rte_malloc.h>

#include "base/heap.h"
#include "task/cell.h"

/* Cells in a chunk that a depot grows by, and bytes of them, at most. */
#define GROW_CELLS 1024u
#define GROW_BYTES (512u << 10)

/* Two lines that are fetched together belong to one cell. */
#define CHUNK_ALIGN 128

static_assert(offsetof(struct task, bytes) + 64 == CELL_MIN_SIZE,
	      "room for state");
static_assert(offsetof(struct cell, next) == offsetof(struct task, next),
	      "a cell's links stand where nobody looks for tasks");
static_assert(CELL_MAX_SIZE % WEIR_CACHE_LINE == 0, "classes are lines");
static_assert(CELL_BATCH % CELL_GROUP == 0, "a batch is groups");

/* Its cells come behind it. */
struct cell_chunk {
	struct cell_chunk *older;
	char *fresh;
	char *end;
} __rte_aligned(CHUNK_ALIGN);

static const uint16_t class_sizes[CELL_CLASSES] = {
	128, 192, 256, 384, 512, 768, 1024, 1536, CELL_MAX_SIZE,
};

#ifdef WEIR_ASAN
void
weir__cell_close(struct cell *c)
{
	struct task *t = (struct task *)c;

	if (!cell_is_large(t))
		ASAN_POISON_MEMORY_REGION(t->bytes,
					  class_sizes[t->size_class] -
						  offsetof(struct task, bytes));
}

void
weir__cell_open(struct cell *c)
{
	struct task *t = (struct task *)c;

	ASAN_UNPOISON_MEMORY_REGION(t->bytes,
				    class_sizes[t->size_class] -
					    offsetof(struct task, bytes));
}
#endif

static void
stock_init(struct cell_stock *s)
{
	*s = (struct cell_stock){ 0 };
}

/* A whole batch, of which the last one that was put there names the other heads. */
static struct cell *
give_lists(struct cell_stock *s)
{
	struct cell *c = s->heads[CELL_LISTS - 1];
	unsigned int i;

	weir__cell_open(c);
	for (i = 0; i < CELL_LISTS - 1; i++)
		c->others[i] = s->heads[i];
	for (i = 0; i < CELL_LISTS; i++)
		s->heads[i] = NULL;
	s->n = 0;
	return c;
}

/* The same back, to a stock that has none. */
static void
take_lists(struct cell_stock *s, struct cell *c)
{
	unsigned int i;

	for (i = 0; i < CELL_LISTS - 1; i++)
		s->heads[i] = c->others[i];
	s->heads[CELL_LISTS - 1] = c;
	s->n = CELL_BATCH;
}

static inline void
fetch(const struct cell *c)
{
	rte_prefetch0(c);
	rte_prefetch0(c->others);
}

/* C6: of a group whose first cell is there. */
static void
fetch_group(const struct cell *group)
{
	unsigned int i;

	for (i = 0; i < CELL_GROUP - 1; i++)
		fetch(group->others[i]);
	if (group->after_next != NULL)
		fetch(group->after_next);
}

/* The next group goes to the lists, which are empty. */
static void
open_group(struct cell_stock *s)
{
	struct cell *c = s->groups, *next = c->next;
	unsigned int i;

	s->groups = next;
	if (--s->nb_groups > 0)
		fetch_group(next);
	for (i = CELL_GROUP - 1; i > 0; i--)
		stock_push(s, c->others[i - 1]);
	stock_push(s, c);
}

/* A batch that is lists becomes one of groups. */
static void
group_batch(struct cell *batch)
{
	struct cell *first[CELL_BATCH / CELL_GROUP + 2] = { NULL };
	struct cell_stock s = { 0 };
	unsigned int k, i;

	take_lists(&s, batch);
	for (k = 0; s.n > 0; k++) {
		first[k] = stock_unlink(&s);
		/* In what was its task's state it names others. */
		weir__cell_open(first[k]);
		for (i = 0; i < CELL_GROUP - 1; i++)
			first[k]->others[i] = stock_unlink(&s);
	}
	batch->nb_groups = k;
	while (k-- > 0) {
		first[k]->next = first[k + 1];
		first[k]->after_next = first[k + 2];
	}
}

/* Takes one that is at hand, or NULL. */
static void *
stock_take(struct cell_stock *s, size_t size)
{
	if (s->n == 0 && s->last == NULL) {
		if (s->fresh != s->fresh_end) {
			s->fresh += size;
			return s->fresh - size;
		}
		if (s->spare != NULL) {
			take_lists(s, s->spare);
			s->spare = NULL;
		} else if (s->nb_groups > 0) {
			open_group(s);
		} else {
			return NULL;
		}
	}
	return stock_take_given(s);
}

/* As many of n as are in the lists: how many. */
static inline unsigned int
take_listed(struct cell_stock *s, struct task **tasks, unsigned int n)
{
	struct cell *c;
	unsigned int i;

	n = RTE_MIN(n, s->n);
	for (i = 0; i < n; i++) {
		c = stock_pop(s);
		weir__cell_open(c);
		tasks[i] = (struct task *)c;
	}
	return n;
}

/* Puts one back. Returns a batch that is too much, or NULL (C3). */
static inline struct cell *
stock_put(struct cell_stock *s, void *cell)
{
	struct cell *batch;

	stock_push(s, cell);
	if (likely(s->n < CELL_BATCH))
		return NULL;
	batch = s->spare;
	s->spare = give_lists(s);
	return batch;
}

/* C4, C6: without the lock. */
static void
put_batch(struct cell_depot *d, const struct cell_stock *giver,
	  struct cell *batch)
{
	batch->giver = giver;
	batch->nb_groups = 0;
	if (atomic_u32_load(&d->crosses, RELAXED) != 0 ||
	    atomic_u32_load(&d->nb_batches, RELAXED) >= CELL_DEEP)
		group_batch(batch);
	lock_acquire(&d->lock);
	batch->next_batch = d->batches;
	d->batches = batch;
	atomic_u32_add_owner(&d->nb_batches, 1);
	lock_release(&d->lock);
}

/* A batch is a stock's, which has no other. With the lock. */
static void
take_batch(struct cell_depot *d, struct cell_stock *s, struct cell *batch)
{
	const uint32_t crosses = batch->giver != s;

	if (atomic_u32_load(&d->crosses, RELAXED) != crosses)
		atomic_u32_store(&d->crosses, crosses, RELAXED);
	d->batches = batch->next_batch;
	atomic_u32_add_owner(&d->nb_batches, -1u);
	if (batch->nb_groups == 0) {
		s->spare = batch;
		return;
	}
	fetch_group(batch);
	fetch(batch->next);
	/* The next one will be wanted soon. */
	if (d->batches != NULL)
		fetch(d->batches);
	s->groups = batch;
	s->nb_groups = batch->nb_groups;
}

/*
 * A stock that is out, or has opened its last group, gets a batch, or as many that are
 * new. With the lock.
 */
static bool
refill(struct cell_depot *d, struct cell_stock *s, size_t size)
{
	struct cell_chunk *chunk = d->open;
	struct cell *batch = d->batches;

	if (batch != NULL) {
		take_batch(d, s, batch);
		return true;
	}
	if (chunk == NULL)
		return false;
	s->fresh = chunk->fresh;
	chunk->fresh = RTE_MIN(chunk->fresh + CELL_BATCH * size, chunk->end);
	s->fresh_end = chunk->fresh;
	if (chunk->fresh == chunk->end)
		d->open = NULL;
	return true;
}

static void
free_chunks(struct cell_chunk *chunk)
{
	struct cell_chunk *older;

	for (; chunk != NULL; chunk = older) {
		older = chunk->older;
		ASAN_UNPOISON_MEMORY_REGION(chunk + 1,
					    chunk->end - (char *)(chunk + 1));
		heap_free(chunk);
	}
}

/* C4: without the lock. */
static bool
grow(struct cell_depot *d, size_t size, unsigned int cells, unsigned int socket)
{
	struct cell_chunk *chunk;
	bool late;

	chunk = heap_taken(rte_zmalloc_socket("cells",
					      sizeof(*chunk) + cells * size,
					      CHUNK_ALIGN, (int)socket));
	if (chunk == NULL)
		return false;
	chunk->fresh = (char *)(chunk + 1);
	chunk->end = chunk->fresh + cells * size;
	lock_acquire(&d->lock);
	late = d->open != NULL;
	if (!late) {
		chunk->older = d->chunks;
		d->chunks = chunk;
		d->open = chunk;
	}
	lock_release(&d->lock);
	/* Others were out of cells at the same time. */
	if (late)
		free_chunks(chunk);
	return true;
}

static unsigned int
grow_cells(size_t size)
{
	return (unsigned int)RTE_MIN(GROW_CELLS, GROW_BYTES / size);
}

int
weir__cell_pools_init(struct cell_pools *p, unsigned int socket,
		      unsigned int cells)
{
	struct cell_depot *d;
	unsigned int i;

	p->socket = socket;
	lock_init(&p->large_lock);
	list_init(&p->large);
	p->nb_large = 0;
	for (i = 0; i < CELL_CLASSES; i++) {
		d = &p->depot[i];
		lock_init(&d->lock);
		atomic_u32_store(&d->crosses, 0, RELAXED);
		atomic_u32_store(&d->nb_batches, 0, RELAXED);
		d->batches = NULL;
		d->chunks = NULL;
		d->open = NULL;
		stock_init(&d->shared);
	}
	for (i = 0; i < CELL_CLASSES_READY; i++) {
		if (!grow(&p->depot[i], class_sizes[i], cells, socket)) {
			weir__cell_pools_fini(p);
			return -ENOMEM;
		}
	}
	return 0;
}

void
weir__cell_pools_fini(struct cell_pools *p)
{
	struct cell_depot *d;
	unsigned int i;

	for (i = 0; i < CELL_CLASSES; i++) {
		d = &p->depot[i];
		free_chunks(d->chunks);
		d->chunks = NULL;
		d->open = NULL;
	}
}

void
weir__cell_cache_init(struct cell_cache *c, struct cell_pools *p)
{
	unsigned int i;

	c->pools = p;
	c->nb_cells = 0;
	for (i = 0; i < CELL_CLASSES; i++)
		stock_init(&c->stock[i]);
	c->stock[CELL_CLASS_MALLOC] = (struct cell_stock){ .n = CELL_BATCH };
}

/* Those that it holds. */
static size_t
stock_cells(const struct cell_stock *s, size_t size)
{
	return s->n + (s->last != NULL) + (s->spare != NULL ? CELL_BATCH : 0) +
	       s->nb_groups * CELL_GROUP +
	       (size_t)(s->fresh_end - s->fresh) / size;
}

uint64_t
weir__cell_cache_taken(const struct cell_cache *c)
{
	uint64_t n = c->nb_cells;
	unsigned int i;

	for (i = 0; i < CELL_CLASSES; i++)
		n -= stock_cells(&c->stock[i], class_sizes[i]);
	return n;
}

/* As one who has no stock. */
static void
put_shared(struct cell_depot *d, void *cell)
{
	struct cell *batch;

	lock_acquire(&d->lock);
	batch = stock_put(&d->shared, cell);
	lock_release(&d->lock);
	if (batch != NULL)
		put_batch(d, &d->shared, batch);
}

void
weir__cell_cache_fini(struct cell_cache *c)
{
	unsigned int i;
	void *cell;

	for (i = 0; i < CELL_CLASSES; i++)
		while ((cell = stock_take(&c->stock[i], class_sizes[i])) !=
		       NULL)
			put_shared(&c->pools->depot[i], cell);
}

/* With the lock. */
static void *
take_locked(struct cell_depot *d, size_t size)
{
	void *cell = stock_take(&d->shared, size);

	if (cell == NULL && refill(d, &d->shared, size))
		cell = stock_take(&d->shared, size);
	return cell;
}

static void *
take_shared(struct cell_depot *d, size_t size)
{
	void *cell;

	lock_acquire(&d->lock);
	cell = take_locked(d, size);
	lock_release(&d->lock);
	return cell;
}

static void
refill_own(struct cell_depot *d, struct cell_cache *c, unsigned int cls)
{
	struct cell_stock *s = &c->stock[cls];
	const size_t had = stock_cells(s, class_sizes[cls]);

	lock_acquire(&d->lock);
	refill(d, s, class_sizes[cls]);
	lock_release(&d->lock);
	c->nb_cells += stock_cells(s, class_sizes[cls]) - had;
}

static void *
take_refilled(struct cell_depot *d, struct cell_cache *c, unsigned int cls)
{
	refill_own(d, c, cls);
	return stock_take(&c->stock[cls], class_sizes[cls]);
}

/* Takes one that is at hand, and what comes behind them if there are few left (C6). */
static void *
take_own(struct cell_depot *d, struct cell_cache *c, unsigned int cls)
{
	const struct cell_stock *s = &c->stock[cls];
	bool opens = s->nb_groups == 1;
	void *cell = stock_take(&c->stock[cls], class_sizes[cls]);

	if (opens && s->nb_groups == 0 &&
	    atomic_u32_load(&d->nb_batches, RELAXED) > 0)
		refill_own(d, c, cls);
	return cell;
}

/* own: the cache if it is one of these pools, or NULL. NULL: no memory. */
static void *
take(struct cell_pools *p, struct cell_cache *own, unsigned int cls)
{
	struct cell_depot *d = &p->depot[cls];
	const size_t size = class_sizes[cls];
	void *cell = NULL;

	if (own != NULL)
		cell = take_own(d, own, cls);
	while (cell == NULL) {
		cell = own != NULL ? take_refilled(d, own, cls) :
				     take_shared(d, size);
		if (cell == NULL && !grow(d, size, grow_cells(size), p->socket))
			break;
	}
	return cell;
}

static struct task *
alloc_large(struct cell_pools *p, size_t state_size)
{
	size_t size = sizeof(struct large_cell) + offsetof(struct task, bytes) +
		      state_size;
	struct large_cell *large;
	struct task *t;

	if (size < state_size)
		return NULL;
	large = heap_taken(
		rte_malloc_socket(NULL, size, WEIR_CACHE_LINE, (int)p->socket));
	if (large == NULL)
		return NULL;
	t = (struct task *)(large + 1);
	large->task = t;
	/* C5 */
	atomic_u64_store(&t->state.word, 0, RELAXED);
	lock_acquire(&p->large_lock);
	list_push_back(&p->large, &large->link);
	p->nb_large++;
	lock_release(&p->large_lock);
	return t;
}

static void
free_large(struct cell_pools *p, struct task *t)
{
	struct large_cell *large = (struct large_cell *)t - 1;

	lock_acquire(&p->large_lock);
	list_remove(&large->link);
	p->nb_large--;
	lock_release(&p->large_lock);
	heap_free(large);
}

struct task *
weir__cell_alloc(struct cell_pools *p, struct cell_cache *c, size_t state_size)
{
	struct cell_cache *own = c != NULL && c->pools == p ? c : NULL;
	unsigned int cls = CELL_CLASS_MALLOC;
	struct task *t = NULL;

	if (state_size <= CELL_STATE_MAX) {
		cls = cell_class(state_size);
		t = take(p, own, cls);
	}
	/* Where there is no room for a chunk, there may be for one. */
	if (t == NULL) {
		cls = CELL_CLASS_MALLOC;
		t = alloc_large(p, state_size);
		own = NULL;
	}
	if (t == NULL)
		return NULL;
	t->size_class = (uint8_t)cls;
	if (c != NULL && own == NULL)
		c->nb_cells++;
	return t;
}

/* As one who has no stock: those that are at hand. */
static unsigned int
take_some_shared(struct cell_pools *p, size_t state_size, struct task **tasks,
		 unsigned int n)
{
	const unsigned int cls = cell_class(state_size);
	struct cell_depot *d = &p->depot[cls];
	unsigned int i;

	lock_acquire(&d->lock);
	for (i = 0; i < n; i++) {
		i += take_listed(&d->shared, tasks + i, n - i);
		if (i == n)
			break;
		tasks[i] = take_locked(d, class_sizes[cls]);
		if (tasks[i] == NULL)
			break;
	}
	lock_release(&d->lock);
	n = i;
	for (i = 0; i < n; i++)
		tasks[i]->size_class = (uint8_t)cls;
	return n;
}

unsigned int
weir__cell_alloc_burst(struct cell_pools *p, struct cell_cache *c,
		       size_t state_size, struct task **tasks, unsigned int n)
{
	struct cell_stock *s = NULL;
	unsigned int i = 0;

	if (state_size <= CELL_STATE_MAX && c != NULL && c->pools == p) {
		s = &c->stock[cell_class(state_size)];
	} else if (state_size <= CELL_STATE_MAX) {
		i = take_some_shared(p, state_size, tasks, n);
		if (c != NULL)
			c->nb_cells += i;
	}
	for (; i < n; i++) {
		if (s != NULL)
			i += take_listed(s, tasks + i, n - i);
		if (i == n)
			break;
		tasks[i] = weir__cell_alloc(p, c, state_size);
		if (tasks[i] == NULL)
			break;
	}
	return i;
}

/* To the shared ones, or to the heap. */
static void
free_elsewhere(struct cell_pools *p, struct task *t)
{
	unsigned int cls = t->size_class;

	if (cls != CELL_CLASS_MALLOC)
		put_shared(&p->depot[cls], t);
	else
		free_large(p, t);
}

void
weir__cell_free(struct cell_pools *p, struct cell_cache *c, struct task *t)
{
	unsigned int cls = t->size_class;
	struct cell *batch;

	weir__cell_close((struct cell *)t);
	if (unlikely(c == NULL || c->pools != p || cell_is_large(t))) {
		free_elsewhere(p, t);
		if (c != NULL)
			c->nb_cells--;
		return;
	}
	batch = stock_put(&c->stock[cls], t);
	if (likely(batch == NULL))
		return;
	put_batch(&p->depot[cls], &c->stock[cls], batch);
	c->nb_cells -= CELL_BATCH;
}

void
weir__cell_walk_begin(struct cell_walk *w, struct cell_pools *p)
{
	*w = (struct cell_walk){ .pools = p };
}

/* The next cells that have been handed out. False: there are none but large ones. */
static bool
walk_on(struct cell_walk *w)
{
	struct cell_depot *d;

	while (w->chunk == NULL) {
		if (w->cls == CELL_CLASSES)
			return false;
		d = &w->pools->depot[w->cls++];
		lock_acquire(&d->lock);
		w->chunk = d->chunks;
		lock_release(&d->lock);
	}
	d = &w->pools->depot[w->cls - 1];
	w->at = (char *)(w->chunk + 1);
	lock_acquire(&d->lock);
	w->end = w->chunk->fresh;
	lock_release(&d->lock);
	w->chunk = w->chunk->older;
	return true;
}

/* The next large cell behind the walk's place, which moves there. With the lock. */
static struct task *
next_large(struct cell_walk *w)
{
	struct cell_pools *p = w->pools;
	struct list_link *l;
	struct task *t;

	if (!w->placed) {
		list_push_front(&p->large, &w->place.link);
		w->placed = true;
		w->left = p->nb_large;
	}
	if (w->left == 0)
		return NULL;
	w->left--;
	/* Others may have their places there. */
	do {
		l = w->place.link.next;
		if (l == &p->large)
			return NULL;
		t = container_of(l, struct large_cell, link)->task;
		list_remove(&w->place.link);
		list_push_front(l, &w->place.link);
	} while (t == NULL);
	return t;
}

struct task *
weir__cell_walk_next(struct cell_walk *w,
		     bool (*look)(struct task *t, void *arg), void *arg)
{
	struct task *t;
	bool found;

	do {
		while (w->at != w->end) {
			t = (struct task *)w->at;
			w->at += class_sizes[w->cls - 1];
			if (look(t, arg))
				return t;
		}
	} while (walk_on(w));
	do {
		lock_acquire_behind(&w->pools->large_lock);
		t = next_large(w);
		found = t != NULL && look(t, arg);
		lock_release(&w->pools->large_lock);
	} while (t != NULL && !found);
	return t;
}

void
weir__cell_walk_end(struct cell_walk *w)
{
	if (!w->placed)
		return;
	lock_acquire(&w->pools->large_lock);
	list_remove(&w->place.link);
	lock_release(&w->pools->large_lock);
}
