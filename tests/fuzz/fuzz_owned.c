/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * The tasks of a node, in its cells, against a table. An input is how many cells there
 * are at first, and then a program of spawns, turns, ends, close, shutdown and walks.
 * While a walk or shutdown is on its way, the program goes on at each of its steps.
 */

#include "fuzz.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <rte_malloc.h>

#include "base/race.h"
#include "sched/spawn.h"
#include "task/owned.h"

/* Memory that is not looked at when it was given back. */
static void *
get_memory(size_t size, size_t align);
#define rte_malloc_socket(name, size, align, socket) get_memory(size, align)
#define rte_zmalloc_socket(name, size, align, socket) \
	memset(get_memory(size, align), 0, size)
#define rte_free free

/* Where others are let in: before each look at a cell, and in its middle. */
static void
let_in(void);
#undef CELL_BATCH
#define CELL_BATCH 4 /* to meet depots */
#undef CELL_GROUP
#define CELL_GROUP 2
#define lock_acquire(l) (let_in(), lock_acquire(l))
#include "task/cell.c"
#undef lock_acquire

#define take take_if_owned
#define state_load(s) (let_in(), state_load(s))
#define state_to_shutdown(s, old) (let_in(), state_to_shutdown(s, old))
#define atomic_u32_load(a, order) (let_in(), atomic_u32_load(a, order))
#include "task/owned.c"
#undef take
#undef state_load
#undef state_to_shutdown
#undef atomic_u32_load

#define SLOTS 16u /* tasks at a time */
#define IDS 4096u
#define WORKERS 2u
#define OBJECTS 8u

/* What is known of a task. */
struct model {
	struct task *t; /* NULL: its cell has been given back */
	const struct weir_task_ops *ops;
	uint16_t place;
	bool large;
	bool begun; /* else it was refused */
	bool ended;
	bool dropped;
	bool notified;
	bool cancelled; /* but by shutdown */
	/* Who has a reference. */
	bool spawner; /* the notification, yet */
	bool queued;
	bool kept; /* as queued, with RUNNING from its start (N1 of run.h) */
	bool runs; /* on a worker, which ends it */
	bool handle;
	/* Of the walk that is under way on each level. */
	unsigned int comes[2]; /* it is there at some time of that walk */
	unsigned int seen[2];
	bool stays[2]; /* all the time */
};

/* Who ends tasks: the program, and on level 1 what it does beside level 0. */
static struct actor {
	enum {
		ACT_TURN,
		ACT_SHUTDOWN
	} act;
	unsigned int worker;	  /* shutdown's */
	const struct model *task; /* a turn's */
	struct model *ending;	  /* at present */
} actors[2];

static struct fuzz_input in;
static struct node node;
static struct core cores[WORKERS];
static struct owned_count counts[WORKERS];
static struct model models[IDS];
static unsigned int nb_ids;
static struct model *slots[SLOTS];
static struct task *objects[OBJECTS];
static uint64_t object_words[OBJECTS];
static unsigned int nb_large; /* in use */
static int uncounted;	      /* that have begun */
static bool closed, shut[WORKERS], shut_all;
static bool walking, inside, locked;
static unsigned int walks, visits_left[2];

static void *
get_memory(size_t size, size_t align)
{
	void *p = aligned_alloc(align, RTE_ALIGN_CEIL(size, align));

	fuzz_check(p != NULL);
	/* What is not told to be zero looks like anything. */
	return memset(p, 0xff, size);
}

static struct cell_pools *
pools(void)
{
	return &node.home.cells;
}

static bool
is_held(const struct lock *l)
{
	return atomic_u32_load(&l->held, RELAXED) != 0;
}

static struct model *
model_of(const struct task *t)
{
	fuzz_check(task_id(t) > 0 && task_id(t) <= nb_ids);
	return &models[task_id(t)];
}

static bool
is_live(const struct model *m)
{
	return m->begun && !m->ended;
}

/* O6 */
static bool
is_of(uint16_t place, unsigned int worker)
{
	return worker == OWNED_ALL_WORKERS || !place_is_local(place) ||
	       place_worker(place) == worker;
}

/* What is not counted yet may have ended. */
static void
check_count(void)
{
	int n = -uncounted;
	unsigned int i;

	for (i = 0; i < SLOTS; i++)
		n += slots[i] != NULL && is_live(slots[i]);
	fuzz_check(weir__owned_count(&node.home.owned) ==
		   (uint64_t)RTE_MAX(n, 0));
}

static void
set_ended(struct model *m)
{
	m->ended = true;
	m->runs = false;
	m->stays[0] = false;
	m->stays[1] = false;
}

/* What shutdown was ending has ended. */
static void
settle(struct actor *a)
{
	if (a->ending != NULL)
		set_ended(a->ending);
	a->ending = NULL;
}

static void
step(void);

/* O1, O4, K1 */
static void
on_drop(void *state)
{
	struct model *m = model_of(container_of(state, struct task, bytes));
	struct actor *a = &actors[inside];
	unsigned int i;

	for (i = 0; i < CELL_CLASSES; i++)
		fuzz_check(!is_held(&pools()->depot[i].lock));
	fuzz_check(is_held(&pools()->large_lock) == locked);
	fuzz_check(!m->dropped && !m->ended);
	m->dropped = true;
	if (a->act == ACT_TURN) {
		fuzz_check(a->task == m);
		return;
	}
	settle(a);
	a->ending = m;
	fuzz_check(closed && is_live(m) && !m->runs && !m->kept);
	fuzz_check(is_of(m->place, a->worker));
	check_count();
	let_in();
}

static int
never(struct weir_context *ctx, void *state)
{
	return WEIR_PENDING;
}

#define OPS(size)                                                  \
	{                                                          \
		.name = "fuzz", .state_size = size, .poll = never, \
		.drop = on_drop,                                   \
	}
/* One for each class, and larger ones. */
static const struct weir_task_ops all_ops[] = {
	OPS(0),	  OPS(128),  OPS(192),	OPS(320),  OPS(448),  OPS(704),
	OPS(960), OPS(1472), OPS(2240), OPS(2241), OPS(4000),
};

/* Large ones have to wait while somebody has their lock. */
static const struct weir_task_ops *
some_ops(unsigned int n)
{
	return &all_ops[n % (locked ? CELL_CLASSES : RTE_DIM(all_ops))];
}

/* A worker's core, or NULL. */
static struct core *
some_core(void)
{
	unsigned int n = fuzz_below(&in, WORKERS + 1);

	return n < WORKERS ? &cores[n] : NULL;
}

static struct cell_cache *
cells_of(struct core *c)
{
	return c != NULL ? &c->cells : NULL;
}

/* C5: nobody takes what is in it for a task. */
static struct task *
new_cell(struct core *c, const struct weir_task_ops *ops)
{
	struct task *t =
		weir__cell_alloc(pools(), cells_of(c), ops->state_size);

	fuzz_check(t != NULL);
	fuzz_check(!(state_load(&t->state) & STATE_OWNED));
	nb_large += t->size_class == CELL_CLASS_MALLOC;
	return t;
}

void
__wrap_weir__cell_put(struct task *t);

/* T5 */
void
__wrap_weir__cell_put(struct task *t)
{
	struct model *m = model_of(t);
	bool was_walking = walking;
	unsigned int i;

	fuzz_check(m->t == t && m->dropped);
	fuzz_check(!m->spawner && !m->queued && !m->handle);
	fuzz_check(!(state_load(&t->state) & STATE_OWNED));
	set_ended(m);
	m->t = NULL;
	for (i = 0; i < SLOTS; i++)
		if (slots[i] == m)
			slots[i] = NULL;
	nb_large -= m->large;
	walking = false;
	weir__cell_free(pools(), cells_of(some_core()), t);
	walking = was_walking;
}

static void
close_home(void)
{
	weir__owned_close(&node.home.owned);
	closed = true;
}

/* All of a worker, or of all. Those that run are told. */
static void
shut_down(unsigned int worker)
{
	const uint64_t told = STATE_RUNNING | STATE_CANCELLED;
	struct actor *a = &actors[inside];
	struct actor before = *a;
	struct model *were[SLOTS];
	bool outer = !walking;
	struct core *c = some_core();
	unsigned int i;

	if (locked || (walking && !inside))
		return;
	close_home();
	if (worker == OWNED_ALL_WORKERS)
		shut_all = true;
	else
		shut[worker] = true;
	memcpy(were, slots, sizeof(were));
	*a = (struct actor){ .act = ACT_SHUTDOWN, .worker = worker };
	walking = true;
	weir__owned_shutdown(&node.home, worker,
			     c != NULL ? c->ctx.live : NULL);
	walking = !outer;
	settle(a);
	*a = before;
	for (i = 0; i < SLOTS; i++)
		if (were[i] != NULL && is_live(were[i]) &&
		    is_of(were[i]->place, worker))
			fuzz_check((state_load(&were[i]->t->state) & told) ==
				   told);
}

/* An end in a turn of a task's, or in a spawn. */
static void
begin_end(struct model *m)
{
	actors[inside].act = ACT_TURN;
	actors[inside].task = m;
}

static void
check_end(struct model *m)
{
	actors[inside].task = NULL;
	fuzz_check(m->dropped);
	set_ended(m);
}

static void
end(struct model *m, int32_t outcome)
{
	struct core *c = some_core();

	begin_end(m);
	/* The runner's reference goes, too. */
	m->runs = false;
	weir__task_end(m->t, outcome, 1, c != NULL ? c->ctx.live : NULL);
	check_end(m);
}

/* O2: what happens between its start and the second look. */
static void
close_meanwhile(unsigned int how)
{
	if (how % 4 == 0)
		close_home();
	else if (how % 4 == 1)
		shut_down(how / 4 % WORKERS);
	else if (how % 4 == 2)
		shut_down(OWNED_ALL_WORKERS);
}

static void
begin_task(struct model *m, struct core *c, const struct weir_spawn_attr *attr,
	   enum spawn how)
{
	bool late;

	m->begun = true;
	m->notified = !m->kept;
	m->spawner = true;
	m->comes[0] = m->comes[1] = walks;
	state_begin(&m->t->state, m->place, how == SPAWN_DETACHED, m->kept);
	uncounted++;
	if (fuzz_below(&in, 8) == 0)
		close_meanwhile(fuzz_u8(&in));
	late = spawn_is_late(c, &node, attr);
	fuzz_check(late == (closed && (c == NULL || place_is_local(m->place))));
	m->spawner = false;
	m->queued = !late;
	if (late) {
		fuzz_check(!m->kept);
		m->cancelled = true;
		begin_end(m);
		weir__spawn_end(c, m->t);
		check_end(m);
	} else {
		spawn_count(c, &node, 1);
	}
	uncounted--;
}

static void
spawn(struct model **slot)
{
	struct weir_spawn_attr attr = { .affinity = WEIR_AFFINITY_ANY };
	uint8_t kind = fuzz_u8(&in);
	const struct weir_task_ops *ops = some_ops(kind);
	enum spawn how = kind / 8 % 2 == 0 ? SPAWN_JOINED : SPAWN_DETACHED;
	struct core *c = some_core();
	struct model *m;

	if (*slot != NULL || nb_ids + 1 == IDS)
		return;
	if (kind / 16 % 4 < 2) {
		attr.affinity = WEIR_AFFINITY_WORKER;
		attr.worker = kind / 16 % 4;
	} else if (kind / 16 % 4 == 2) {
		attr.affinity = WEIR_AFFINITY_NODE;
	}
	m = &models[++nb_ids];
	*m = (struct model){ .ops = ops, .place = spawn_place(&attr) };
	m->large = ops->state_size > CELL_STATE_MAX;
	m->t = new_cell(c, ops);
	task_set_id(m->t, nb_ids);
	/* As spawn_is_kept() says. */
	m->kept = kind >= 128 && c != NULL &&
		  attr.affinity != WEIR_AFFINITY_WORKER;
	spawn_init(m->t, &node, ops, m->kept);
	spawn_state(m->t, NULL, ops->state_size);
	atomic_u32_store(&m->t->woken, nb_ids, RELAXED);
	m->handle = how == SPAWN_JOINED;
	*slot = m;
	if (!owned_is_closed(&node.home.owned)) {
		begin_task(m, c, &attr, how);
		return;
	}
	fuzz_check(closed);
	m->kept = false;
	begin_end(m);
	weir__spawn_refuse(m->t, how);
	check_end(m);
}

/* A notification leaves its queue. */
static void
start(struct model *m)
{
	bool cancelled, kept = m->kept;

	if (!m->queued)
		return;
	cancelled = (state_load(&m->t->state) & STATE_CANCELLED) != 0;
	m->queued = false;
	m->kept = false;
	task_take_turn(m->t);
	switch (kept ? state_to_next_turn(&m->t->state) :
		       state_to_running(&m->t->state)) {
	case STATE_RUN_POLL:
		fuzz_check(is_live(m) && !m->dropped && !cancelled);
		m->notified = false;
		m->runs = true;
		break;
	case STATE_RUN_CANCEL:
		fuzz_check(is_live(m) && !m->dropped && cancelled);
		/* One that keeps RUNNING need not look who woke it. */
		m->notified &= kept;
		end(m, -ECANCELED);
		break;
	case STATE_RUN_FREE:
		weir__cell_put(m->t);
		break;
	case STATE_RUN_NOTHING:
		fuzz_check(m->ended || m->dropped);
		break;
	}
}

/* Its poll is over. */
static void
stop(struct model *m, bool pends)
{
	if (!m->runs)
		return;
	if (!pends) {
		end(m, 0);
		return;
	}
	switch (state_to_idle(&m->t->state, 0)) {
	case STATE_IDLE_WAIT:
		fuzz_check(!m->notified);
		m->runs = false;
		break;
	case STATE_IDLE_NOTIFIED:
		fuzz_check(m->notified);
		m->runs = false;
		m->queued = true;
		break;
	case STATE_IDLE_CANCEL:
		fuzz_check(closed || m->cancelled);
		end(m, -ECANCELED);
		break;
	}
}

static bool
wake_once(struct task *t)
{
	state_ref_inc(&t->state);
	return state_wake_by_value(&t->state) == STATE_WAKE_SCHEDULE;
}

/* By its handle, of which a waker is cloned. */
static void
wake(struct model *m, bool aborts)
{
	bool scheduled;

	if (!m->handle || m->spawner)
		return;
	scheduled = aborts ? state_to_cancelled(&m->t->state) : wake_once(m->t);
	fuzz_check(!scheduled || (is_live(m) && !m->runs && !m->queued));
	m->queued |= scheduled;
	m->cancelled |= aborts;
	m->notified = (state_load(&m->t->state) & STATE_NOTIFIED) != 0;
	fuzz_check(!scheduled || m->notified);
}

static void
detach(struct model *m)
{
	if (!m->handle || m->spawner)
		return;
	m->handle = false;
	weir_join_detach((struct weir_join *)m->t);
}

/* As weir_blocking_spawn() does. */
static void
begin_job(struct task *t)
{
	static const struct weir_task_ops ops = { .name = "job" };

	task_set_id(t, WEIR_TASK_NONE);
	spawn_init(t, &node, &ops, false);
	state_begin_job(&t->state);
}

/* A cell that holds no task, or one that is nobody's to end. */
static void
object(unsigned int i)
{
	uint8_t kind = fuzz_u8(&in);
	struct task **o = &objects[i];
	const struct weir_task_ops *ops = some_ops(kind);
	struct core *c = some_core();

	if (*o == NULL) {
		*o = new_cell(c, ops);
		memset((*o)->bytes, 0xff, ops->state_size);
		if (kind >= 128)
			begin_job(*o);
		object_words[i] = state_load(&(*o)->state);
		return;
	}
	if (locked && (*o)->size_class == CELL_CLASS_MALLOC)
		return;
	fuzz_check(state_load(&(*o)->state) == object_words[i]);
	nb_large -= (*o)->size_class == CELL_CLASS_MALLOC;
	weir__cell_free(pools(), cells_of(c), *o);
	*o = NULL;
}

/* O5 */
static bool
visit(const struct task_view *v, void *arg)
{
	unsigned int level = inside, *serial = arg;
	struct model *m;

	/* It was not told to end before. */
	fuzz_check(visits_left[level] > 0);
	fuzz_check(v->id > 0 && v->id <= nb_ids);
	m = &models[v->id];
	fuzz_check(m->comes[level] >= *serial && m->seen[level] != *serial);
	m->seen[level] = *serial;
	fuzz_check(state_place(v->state) == m->place);
	fuzz_check((v->state & (STATE_OWNED | STATE_COMPLETE)) == STATE_OWNED);
	fuzz_check(v->ops == m->ops && (v->polls & ~TASK_KEPT) == 0 &&
		   v->woken == v->id);
	return --visits_left[level] > 0;
}

static void
walk(void)
{
	unsigned int level = inside, serial, i;
	bool outer = !walking;
	struct model *m;

	if (locked || (walking && !inside))
		return;
	serial = ++walks;
	for (i = 0; i < SLOTS; i++) {
		m = slots[i];
		if (m == NULL || !is_live(m))
			continue;
		m->comes[level] = serial;
		m->stays[level] = true;
	}
	visits_left[level] = 1 + fuzz_u8(&in) % (2 * SLOTS);
	walking = true;
	weir__owned_walk(&node.home, visit, &serial);
	walking = !outer;
	for (i = 0; i < SLOTS; i++) {
		m = slots[i];
		if (m != NULL && m->stays[level] && m->comes[level] == serial)
			fuzz_check(m->seen[level] == serial ||
				   visits_left[level] == 0);
		if (m != NULL)
			m->stays[level] = false;
	}
}

static void
step(void)
{
	uint8_t op = fuzz_u8(&in);
	struct model *m;

	switch (op % 16) {
	case 0:
	case 1:
	case 2:
	case 3:
		spawn(&slots[fuzz_below(&in, SLOTS)]);
		return;
	case 4:
		walk();
		return;
	case 5:
		if (op / 16 < 4)
			shut_down(op / 16 % WORKERS);
		else if (op / 16 == 4)
			shut_down(OWNED_ALL_WORKERS);
		else if (op / 16 == 5)
			close_home();
		return;
	case 6:
		object(op / 16 % OBJECTS);
		return;
	default:
		break;
	}
	m = slots[fuzz_below(&in, SLOTS)];
	if (m == NULL || (locked && m->large))
		return;
	switch (op % 16) {
	case 7:
	case 8:
		start(m);
		break;
	case 9:
	case 10:
		stop(m, true);
		break;
	case 11:
	case 12:
		stop(m, false);
		break;
	case 13:
		wake(m, false);
		break;
	case 14:
		wake(m, op / 16 % 4 == 0);
		break;
	case 15:
		detach(m);
		break;
	}
}

static void
check_task(const struct model *m)
{
	uint64_t word = state_load(&m->t->state);
	bool ending = m == actors[0].ending || m == actors[1].ending;

	fuzz_check(m->t->home == &node.home && model_of(m->t) == m);
	fuzz_check(((word & STATE_OWNED) != 0) == is_live(m));
	fuzz_check(((word & STATE_COMPLETE) != 0) == m->ended);
	fuzz_check(((word & STATE_RUNNING) != 0) ==
		   (m->runs || m->kept || ending));
	fuzz_check(((word & STATE_NOTIFIED) != 0) == m->notified);
	fuzz_check(state_refs(word) ==
		   0u + m->spawner + m->queued + m->runs + m->handle);
	fuzz_check(state_place(word) == (m->begun ? m->place : 0));
	/* O6 */
	if (word & STATE_CANCELLED)
		fuzz_check(m->cancelled || shut_all ||
			   (shut[0] && is_of(m->place, 0)) ||
			   (shut[1] && is_of(m->place, 1)));
	fuzz_check(m->dropped == (m->ended || ending));
	/* T5 */
	fuzz_check(is_live(m) || m->queued || m->spawner || m->handle);
}

/* What stands on the list of large ones, but for places. */
static unsigned int
large_cells(void)
{
	struct list_link *l, *head = &pools()->large;
	unsigned int n = 0;

	for (l = head->next; l != head; l = l->next) {
		fuzz_check(l->next->prev == l);
		n += container_of(l, struct large_cell, link)->task != NULL;
	}
	return n;
}

static void
check(void)
{
	unsigned int i;

	for (i = 0; i < SLOTS; i++)
		if (slots[i] != NULL)
			check_task(slots[i]);
	fuzz_check(large_cells() == nb_large && pools()->nb_large == nb_large);
	check_count();
}

static void
let_in(void)
{
	unsigned int n;

	if (!walking || inside)
		return;
	/* In a drop it has not ended yet. */
	if (actors[0].ending != NULL &&
	    (actors[0].ending->t == NULL ||
	     (state_load(&actors[0].ending->t->state) & STATE_COMPLETE)))
		settle(&actors[0]);
	inside = true;
	locked = is_held(&pools()->large_lock);
	n = fuzz_u8(&in);
	for (n = n < 0xc0 ? 0 : n % 4; n > 0; n--) {
		step();
		check();
	}
	locked = false;
	inside = false;
}

static void
begin(void)
{
	unsigned int i;

	memset(&node, 0, sizeof(node));
	memset(models, 0, (nb_ids + 1) * sizeof(models[0]));
	memset(slots, 0, sizeof(slots));
	memset(shut, 0, sizeof(shut));
	memset(actors, 0, sizeof(actors));
	nb_ids = 0;
	nb_large = 0;
	uncounted = 0;
	walks = 0;
	closed = false;
	shut_all = false;
	weir__owned_init(&node.home.owned);
	fuzz_check(weir__cell_pools_init(pools(), 0, 1 + fuzz_below(&in, 64)) ==
		   0);
	for (i = 0; i < WORKERS; i++) {
		weir__owned_add_count(&node.home.owned, &counts[i]);
		weir__cell_cache_init(&cores[i].cells, pools());
		cores[i].ctx.live = &counts[i];
	}
}

/* All comes to its end. */
static void
finish(void)
{
	unsigned int i;

	shut_down(OWNED_ALL_WORKERS);
	for (i = 0; i < SLOTS; i++) {
		if (slots[i] != NULL)
			stop(slots[i], true);
		if (slots[i] != NULL)
			start(slots[i]);
		if (slots[i] != NULL)
			detach(slots[i]);
		fuzz_check(slots[i] == NULL);
	}
	for (i = 0; i < OBJECTS; i++)
		if (objects[i] != NULL)
			object(i);
	check();
	fuzz_check(weir__owned_count(&node.home.owned) == 0);
	fuzz_check(list_empty(&pools()->large));
	for (i = 0; i < WORKERS; i++)
		weir__cell_cache_fini(&cores[i].cells);
	weir__cell_pools_fini(pools());
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	in = (struct fuzz_input){ data, size };
	begin();
	while (in.left > 0) {
		step();
		check();
	}
	finish();
	return 0;
}
