/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * What is left when memory ends: nothing that is half made. This program stands
 * in front of EAL's allocation, and refuses.
 */

#include "unit.h"

#include <errno.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <unistd.h>

#include <rte_errno.h>
#include <rte_lcore.h>
#include <rte_ring.h>

#include "devices.h"
#include "ports.h"
#include "rig.h"
#include "sched/scheduler.h"
#include "sync/channel.h"
#include "topology/topology.h"
#include "weir_crypto.h"
#include "weir_dma.h"
#include "weir_ethdev.h"
#include "waiter.h"
#include "weir_event.h"
#include "weir_fd.h"
#include "weir_null.h"
#include "weir_ring.h"
#include "weir_skeleton.h"
#include "weir_source_driver.h"

/* Allocations that are still granted, and how many were asked for. */
static struct atomic_u32 granted;
static struct atomic_u32 asked;
/* Of these the larger ones are not. */
static size_t largest = SIZE_MAX;
/* What happens during the next one, once; or NULL. */
static void (*meanwhile)(void);

/*
 * A channel, and how often the thread that uses it asked for memory and gave some back;
 * with_locks: of these, while not both of the channel's locks were free.
 */
static __thread struct {
	struct channel *channel;
	unsigned int got, given, with_locks;
} watched;

static bool
is_free(struct lock *l)
{
	const bool taken = lock_try(l);

	if (taken)
		lock_release(l);
	return taken;
}

/* Memory is asked for or given back. */
static void
look_at_locks(unsigned int *count)
{
	struct channel *c = watched.channel;

	if (c == NULL)
		return;
	++*count;
	if (!is_free(&c->sync.lock) || !is_free(&c->taking))
		watched.with_locks++;
}

static bool
is_granted(size_t size)
{
	uint32_t left = rig_get(&granted);
	void (*call)(void) = meanwhile;

	rig_add(&asked, 1);
	look_at_locks(&watched.got);
	if (call != NULL) {
		meanwhile = NULL;
		call();
	}
	if (left == 0 || size > largest)
		return false;
	if (left != UINT32_MAX)
		rig_set(&granted, left - 1);
	return true;
}

#define WRAP(name, parameters, arguments)       \
	void *__real_##name parameters;         \
	void *__wrap_##name parameters;         \
	void *__wrap_##name parameters          \
	{                                       \
		if (!is_granted(size))          \
			return NULL;            \
		return __real_##name arguments; \
	}

WRAP(rte_zmalloc, (const char *type, size_t size, unsigned int align),
     (type, size, align))
WRAP(rte_malloc_socket,
     (const char *type, size_t size, unsigned int align, int socket),
     (type, size, align, socket))
WRAP(rte_zmalloc_socket,
     (const char *type, size_t size, unsigned int align, int socket),
     (type, size, align, socket))

struct rte_ring *
__real_rte_ring_create(const char *name, unsigned int count, int socket,
		       unsigned int flags);
struct rte_ring *
__wrap_rte_ring_create(const char *name, unsigned int count, int socket,
		       unsigned int flags);

struct rte_ring *
__wrap_rte_ring_create(const char *name, unsigned int count, int socket,
		       unsigned int flags)
{
	if (is_granted(0))
		return __real_rte_ring_create(name, count, socket, flags);
	rte_errno = ENOMEM;
	return NULL;
}

void
__real_rte_free(void *memory);
void
__wrap_rte_free(void *memory);

void
__wrap_rte_free(void *memory)
{
	if (memory != NULL)
		look_at_locks(&watched.given);
	__real_rte_free(memory);
}

/* What it would say of more lcores than a test can have. */
static bool too_many_nodes;

int
__real_weir__topology_read(struct topology *t, const struct place *places,
			   unsigned int n);
int
__wrap_weir__topology_read(struct topology *t, const struct place *places,
			   unsigned int n);

int
__wrap_weir__topology_read(struct topology *t, const struct place *places,
			   unsigned int n)
{
	return too_many_nodes ? -E2BIG :
				__real_weir__topology_read(t, places, n);
}

static void
grant(uint32_t n)
{
	rig_set(&granted, n);
	rig_set(&asked, 0);
}

static int
setup(void **state)
{
	grant(UINT32_MAX);
	return rig_setup(state);
}

static int
teardown(void **state)
{
	grant(UINT32_MAX);
	largest = SIZE_MAX;
	meanwhile = NULL;
	watched.channel = NULL;
	return rig_teardown(state);
}

static int
done_poll(struct weir_context *ctx, void *state)
{
	return WEIR_DONE;
}

/* Tasks that wait for ever, until the pool and the heap are empty. */
static unsigned int
spawn_until_refused(struct weir_runtime *rt)
{
	struct weir_join *join;
	unsigned int n = 0;

	grant(0);
	rte_errno = 0;
	while ((join = weir_task_spawn(rt, &rig_wait_ops, &rig.told, NULL)) !=
	       NULL) {
		weir_join_detach(join);
		n++;
	}
	return n;
}

static void
expect_tasks(unsigned int n)
{
	struct weir_runtime_stats stats;

	weir_runtime_stats_get(rig.rt, &stats);
	assert_int_equal(stats.spawned, n);
	assert_int_equal(stats.live_tasks, n);
	rig_wait_until(rig_get(&rig.log.polls) == n);
	assert_int_equal(rig_get(&rig.log.drops), 0);
}

static void
end_waiting_tasks(unsigned int n)
{
	assert_int_equal(weir_runtime_shutdown(rig.rt, UINT64_MAX, NULL), 0);
	rig_expect_log(n, n, 0);
	weir_waker_drop(atomic_ptr_exchange(&rig.waker, NULL, RELAXED));
}

static void
spawn_without_memory_changes_nothing(void **state)
{
	unsigned int n = spawn_until_refused(rig.rt);

	assert_int_equal(rte_errno, ENOMEM);
	assert_int_not_equal(n, 0);
	expect_tasks(n);
	assert_int_equal(
		weir_runtime_block_on(rig.rt, &rig_wait_ops, &rig.told, NULL),
		-ENOMEM);
	expect_tasks(n);
	/* As soon as there is memory, all is as before. */
	grant(UINT32_MAX);
	weir_join_detach(rig_spawn(rig.rt, &rig_wait_ops, &rig.told));
	expect_tasks(n + 1);
	end_waiting_tasks(n + 1);
}

/* A chunk of cells is half a megabyte. */
static void
without_room_for_a_chunk_a_task_has_its_own(void **state)
{
	static const struct weir_task_ops large = {
		.name = "large",
		.state_size = 1000,
		.poll = done_poll,
	};
	size_t before = rig_heap_in_use();
	struct weir_join *join;

	largest = 1 << 16;
	join = weir_task_spawn(rig.rt, &large, NULL, NULL);
	assert_non_null(join);
	assert_int_equal(rig_join(join, NULL), 0);
	/* It did not stay, as a chunk would have. */
	rig_wait_until(rig_heap_in_use() == before);
}

static struct task *other;

static struct cell_pools *
pools(void)
{
	return &rig.rt->nodes[0]->home.cells;
}

static void
take_other(void)
{
	other = weir__cell_alloc(pools(), NULL, 1000);
}

/* Two find that there are no cells; who comes second has no use for its chunk. */
static void
one_of_two_that_are_out_of_cells_gets_more(void **state)
{
	size_t before = rig_heap_in_use(), grown;
	struct task *t;

	meanwhile = take_other;
	t = weir__cell_alloc(pools(), NULL, 1000);
	assert_null(meanwhile);
	assert_non_null(t);
	assert_non_null(other);
	assert_ptr_not_equal(t, other);
	assert_int_equal(t->size_class, other->size_class);
	grown = rig_heap_in_use() - before;
	assert_uint_in_range(grown, 1 << 18, 3 << 18);
	weir__cell_free(pools(), NULL, t);
	weir__cell_free(pools(), NULL, other);
}

struct spawner {
	unsigned int n;
	int error;
};

static int
spawn_all(struct weir_context *ctx, void *state)
{
	struct spawner *s = state;

	s->n = spawn_until_refused(weir_context_runtime(ctx));
	s->error = rte_errno;
	return WEIR_DONE;
}

static void
spawn_without_memory_in_a_task_changes_nothing(void **state)
{
	static const struct weir_task_ops ops = {
		.name = "spawner",
		.state_size = sizeof(struct spawner),
		.poll = spawn_all,
		.result_size = sizeof(struct spawner),
	};
	struct weir_runtime_stats stats;
	struct spawner end;

	assert_int_equal(weir_runtime_block_on(rig.rt, &ops, NULL, &end), 0);
	assert_int_equal(end.error, ENOMEM);
	assert_int_not_equal(end.n, 0);
	rig_wait_until(rig_get(&rig.log.polls) == end.n);
	weir_runtime_stats_get(rig.rt, &stats);
	assert_int_equal(stats.spawned, end.n + 1);
	assert_int_equal(stats.live_tasks, end.n);
	end_waiting_tasks(end.n);
}

static struct rte_ring *ring;

static bool have_crypto, have_dma;
static uint8_t crypto;
static int16_t dma;
static int fd;
/* For what is made of them. */
static struct weir_fd_set *fds;
static struct weir_cryptoq *cryptoq;
static struct weir_dmaq *dmaq;

static void
release(struct rte_crypto_op *op)
{
}

struct maker {
	void *(*make)(void);
	void (*free)(void *made);
};

#define MAKER(name, ...)                                  \
	static void *make_##name(void)                    \
	{                                                 \
		return weir_##name##_create(__VA_ARGS__); \
	}                                                 \
	static void free_##name(void *made)               \
	{                                                 \
		weir_##name##_free(made);                 \
	}                                                 \
	static const struct maker name##_maker = { make_##name, free_##name };
#define SOURCE(name, ...) MAKER(name, rig.rt, __VA_ARGS__)

SOURCE(null, 0)
SOURCE(event, 0)
SOURCE(ring_rx, ring, 0, 0)
SOURCE(ring_tx, ring, 0)
SOURCE(skeleton, 0)
SOURCE(fd_set, 0, 0)
SOURCE(rxq, ports[0], 0, 0, 32)
SOURCE(cryptoq, crypto, 0, 0, 1, release)
SOURCE(dmaq, dma, 0, 0, 1)
MAKER(fd, fds, fd, 0)
MAKER(txq, ports[0], 0, 0)
MAKER(crypto_job, cryptoq, 1)
MAKER(dma_job, dmaq, 1, NULL, NULL)

/* It takes so many allocations, and each may be the one that fails. */
static void
expect_all_or_nothing(const struct maker *m, uint32_t allocations)
{
	unsigned int open_before = rig_open_fds();
	size_t before = rig_heap_in_use();
	void *made;
	uint32_t n;

	for (n = 0;; n++) {
		grant(n);
		rte_errno = 0;
		made = m->make();
		if (made != NULL)
			break;
		assert_int_equal(rte_errno, ENOMEM);
		assert_int_equal(rig_heap_in_use(), before);
		assert_int_equal(rig_open_fds(), open_before);
	}
	assert_int_equal(n, allocations);
	grant(UINT32_MAX);
	m->free(made);
}

/* Itself, and the array that it is in. */
static void
expect_source_or_nothing(const struct maker *m)
{
	expect_all_or_nothing(m, 2);
}

static void
source_without_memory_is_not_made(void **state)
{
	static const struct maker *const rows[] = {
		&null_maker,	 &event_maker,	&ring_rx_maker, &ring_tx_maker,
		&skeleton_maker, &fd_set_maker, &rxq_maker,
	};
	unsigned int i;

	ring = rte_ring_create("test", 64, SOCKET_ID_ANY, 0);
	assert_non_null(ring);
	for (i = 0; i < RTE_DIM(rows); i++)
		expect_source_or_nothing(rows[i]);
	rte_ring_free(ring);
}

static void
fd_without_memory_is_not_in_its_set(void **state)
{
	fd = eventfd(0, EFD_NONBLOCK);
	assert_return_code(fd, errno);
	fds = make_fd_set();
	assert_non_null(fds);
	expect_all_or_nothing(&fd_maker, 1);
	weir_fd_set_free(fds);
	close(fd);
}

static void
transmit_queue_without_memory_is_not_made(void **state)
{
	expect_all_or_nothing(&txq_maker, 1);
}

static void
crypto_queue_and_job_without_memory_are_not_made(void **state)
{
	if (!have_crypto)
		unit_skip("DPDK has no crypto_null here");
	expect_source_or_nothing(&cryptoq_maker);
	cryptoq = make_cryptoq();
	assert_non_null(cryptoq);
	expect_all_or_nothing(&crypto_job_maker, 1);
	weir_cryptoq_free(cryptoq);
}

static void
dma_channel_and_job_without_memory_are_not_made(void **state)
{
	if (!have_dma)
		unit_skip("DPDK has no dma_skeleton here");
	expect_source_or_nothing(&dmaq_maker);
	dmaq = make_dmaq();
	assert_non_null(dmaq);
	expect_all_or_nothing(&dma_job_maker, 1);
	weir_dmaq_free(dmaq);
}

static void
source_without_memory_stays_where_it_is(void **state)
{
	struct weir_null *null = weir_null_create(rig.rt, 1);
	size_t before = rig_heap_in_use();
	struct weir_source *source;
	uint32_t n;
	int rc;

	assert_non_null(null);
	source = weir_null_source(null);
	for (n = 0;; n++) {
		grant(n);
		rc = weir_source_move(source, rig.rt, 0);
		if (rc == 0)
			break;
		assert_int_equal(rc, -ENOMEM);
		assert_int_equal(weir_source_worker(source), 1);
		assert_int_equal(rig_heap_in_use(), before);
	}
	/* An array for each of the two workers. */
	assert_int_equal(n, 2);
	assert_int_equal(weir_source_worker(source), 0);
	grant(UINT32_MAX);
	weir_null_free(null);
}

static void
worker_without_memory_for_its_heir_stays(void **state)
{
	struct weir_null *null = weir_null_create(rig.rt, 1);
	size_t before = rig_heap_in_use();
	struct weir_source *source;
	uint32_t n;
	int rc;

	assert_non_null(null);
	source = weir_null_source(null);
	for (n = 0;; n++) {
		grant(n);
		rc = weir_worker_retire(rig.rt, 1, 0);
		if (rc == 0)
			break;
		assert_int_equal(rc, -ENOMEM);
		assert_true(weir_worker_is_active(rig.rt, 1));
		assert_int_equal(weir_source_worker(source), 1);
		assert_int_equal(rig_heap_in_use(), before);
	}
	assert_int_equal(n, 2);
	assert_false(weir_worker_is_active(rig.rt, 1));
	assert_int_equal(weir_source_worker(source), 0);
	grant(UINT32_MAX);
	weir_null_free(null);
}

#define ONESHOTS 1024
static void
oneshot_without_memory_is_not_made(void **state)
{
	struct weir_oneshot_tx *txs[ONESHOTS];
	struct weir_oneshot_rx *rxs[ONESHOTS];
	unsigned int n, i;
	uint64_t v;
	int rc;

	grant(0);
	for (n = 0;; n++) {
		assert_uint_in_range(n, 0, ONESHOTS - 1);
		rc = weir_oneshot_create(rig.rt, sizeof(v), NULL, &txs[n],
					 &rxs[n]);
		if (rc < 0)
			break;
	}
	assert_int_equal(rc, -ENOMEM);
	assert_int_not_equal(n, 0);
	/* Those that are there can do without. */
	for (i = 0; i < n; i++) {
		v = i;
		assert_int_equal(weir_oneshot_send(txs[i], &v), 0);
	}
	for (i = 0; i < n; i++) {
		assert_int_equal(weir_oneshot_try_recv(rxs[i], &v), 0);
		assert_int_equal(v, i);
	}
	assert_int_equal(
		weir_oneshot_create(rig.rt, sizeof(v), NULL, &txs[0], &rxs[0]),
		0);
	weir_oneshot_tx_drop(txs[0]);
	weir_oneshot_rx_drop(rxs[0]);
}

static void
token_without_memory_is_not_made(void **state)
{
	struct weir_token *token;
	size_t before;
	uint32_t n;

	before = rig_heap_in_use();
	for (n = 0;; n++) {
		grant(n);
		rte_errno = 0;
		token = weir_token_create();
		if (token != NULL)
			break;
		assert_int_equal(rte_errno, ENOMEM);
		assert_int_equal(rig_heap_in_use(), before);
	}
	/* Itself, and what its tree shares. */
	assert_int_equal(n, 2);
	rte_errno = 0;
	assert_null(weir_token_child(token));
	assert_int_equal(rte_errno, ENOMEM);
	grant(UINT32_MAX);
	weir_token_cancel(token);
	weir_token_drop(token);
	assert_int_equal(rig_heap_in_use(), before);
}

static void
set_without_memory_takes_no_task(void **state)
{
	struct weir_join_set *set;
	struct weir_join *join;

	grant(0);
	rte_errno = 0;
	assert_null(weir_join_set_create());
	assert_int_equal(rte_errno, ENOMEM);
	grant(1);
	set = weir_join_set_create();
	assert_non_null(set);
	assert_int_equal(weir_join_set_spawn(set, rig.rt, &rig_done_ops,
					     &rig.told, NULL, NULL),
			 -ENOMEM);
	assert_int_equal(rig_stats(rig.rt).spawned, 0);
	/* The handle is still ours. */
	join = rig_spawn(rig.rt, &rig_done_ops, &rig.told);
	assert_int_equal(weir_join_set_add(set, join), -ENOMEM);
	assert_int_equal(rig_join(join, NULL), 0);
	assert_int_equal(weir_join_set_count(set), 0);
	grant(UINT32_MAX);
	weir_join_set_free(set);
}

static void
channel_without_memory_takes_no_value(void **state)
{
	const size_t unbounded = WEIR_CHANNEL_UNBOUNDED;
	size_t before = rig_heap_in_use();
	uint64_t n, v, received = 0;
	struct weir_receiver *rx;
	struct weir_sender *tx;
	int rc;

	for (n = 0; n < 2; n++) {
		grant((uint32_t)n);
		assert_int_equal(weir_channel_create(unbounded, sizeof(v), NULL,
						     &tx, &rx),
				 -ENOMEM);
	}
	grant(2);
	assert_int_equal(
		weir_channel_create(unbounded, sizeof(v), NULL, &tx, &rx), 0);
	for (n = 0; (rc = weir_try_send(tx, &n)) == 0; n++)
		;
	assert_int_equal(rc, -ENOMEM);
	assert_uint_in_range(n, 1, 100000);
	assert_int_equal(weir_send(NULL, tx, &n, NULL), -ENOMEM);
	assert_int_equal(weir_try_recv(rx, &v), 0);
	assert_int_equal(v, received++);
	/* The block is not empty yet. */
	assert_int_equal(weir_try_send(tx, &n), -ENOMEM);
	grant(1);
	assert_int_equal(weir_try_send(tx, &n), 0);
	for (n++; received < n; received++) {
		assert_int_equal(weir_try_recv(rx, &v), 0);
		assert_int_equal(v, received);
	}
	/* What is there is enough for one after the other. */
	for (; n < 100000; n++, received++) {
		assert_int_equal(weir_try_send(tx, &n), 0);
		assert_int_equal(weir_try_recv(rx, &v), 0);
		assert_int_equal(v, received);
	}
	grant(UINT32_MAX);
	weir_sender_drop(tx);
	weir_receiver_drop(rx);
	assert_int_equal(rig_heap_in_use(), before);
}

static void
burst_without_memory_is_short(void **state)
{
	static uint64_t values[100000];
	struct weir_receiver *rx;
	struct weir_sender *tx;
	int n, more;

	grant(2);
	assert_int_equal(weir_channel_create(WEIR_CHANNEL_UNBOUNDED,
					     sizeof(values[0]), NULL, &tx, &rx),
			 0);
	n = weir_try_send_burst(tx, values, RTE_DIM(values));
	assert_uint_in_range(n, 1, RTE_DIM(values) - 1);
	assert_int_equal(weir_try_send_burst(tx, values, 10), -ENOMEM);
	/* As many again, for each block. */
	grant(2);
	more = weir_try_send_burst(tx, values, RTE_DIM(values));
	assert_int_equal(more, 2 * n);
	assert_int_equal(weir_receiver_len(rx), n + more);
	grant(UINT32_MAX);
	weir_sender_drop(tx);
	weir_receiver_drop(rx);
}

#define BURST 8u

/* The next numbers, by one of the calls that send many. */
struct numbers {
	struct weir_sender *tx;
	uint64_t values[BURST];
};

typedef int (*numbers_call)(struct numbers *b);

static int
send_numbers(struct weir_context *ctx, void *what, struct weir_wait *wait)
{
	struct numbers *b = what;

	return weir_send_burst(ctx, b->tx, b->values, BURST, wait);
}

static int
send_in_task(struct numbers *b)
{
	return waiter_join(waiter_spawn(rig.rt, send_numbers, b));
}

static int
send_in_thread(struct numbers *b)
{
	return send_numbers(NULL, b, NULL);
}

static int
try_to_send(struct numbers *b)
{
	return weir_try_send_burst(b->tx, b->values, BURST);
}

/* *next is the first number that has not been sent. */
static int
send_next(numbers_call send, struct weir_sender *tx, uint64_t *next)
{
	struct numbers b = { .tx = tx };
	unsigned int i;
	int n;

	for (i = 0; i < BURST; i++)
		b.values[i] = *next + i;
	n = send(&b);
	*next += n > 0 ? (uint64_t)n : 0;
	return n;
}

/* As many as the last block has room for, and none after that. */
static void
channel_without_memory_takes_what_fits_of_a_burst(void **state)
{
	static const numbers_call sends[] = { try_to_send, send_in_thread,
					      send_in_task };
	struct weir_receiver *rx;
	struct weir_sender *tx;
	uint64_t n, i, v, block;
	unsigned int k;

	for (k = 0; k < RTE_DIM(sends); k++) {
		assert_int_equal(weir_channel_create(WEIR_CHANNEL_UNBOUNDED,
						     sizeof(v), NULL, &tx, &rx),
				 0);
		block = channel_of(tx)->mask + 1;
		grant(0);
		for (n = 0; n < block - 3; n++)
			assert_int_equal(weir_try_send(tx, &n), 0);
		assert_int_equal(send_next(sends[k], tx, &n), 3);
		assert_int_equal(send_next(sends[k], tx, &n), -ENOMEM);
		assert_int_equal(weir_receiver_len(rx), block);
		/* As soon as there is memory it goes on. */
		grant(1);
		assert_int_equal(send_next(sends[k], tx, &n), BURST);
		grant(UINT32_MAX);
		for (i = 0; i < n; i++) {
			assert_int_equal(weir_try_recv(rx, &v), 0);
			assert_int_equal(v, i);
		}
		assert_int_equal(weir_try_recv(rx, &v), -EAGAIN);
		weir_sender_drop(tx);
		weir_receiver_drop(rx);
	}
}

static struct weir_sender *sender;
static struct weir_receiver *receiver;
static uint64_t block; /* values in one */

/* Unbounded, and watched. */
static void
open_channel(void)
{
	assert_int_equal(weir_channel_create(WEIR_CHANNEL_UNBOUNDED,
					     sizeof(uint64_t), NULL, &sender,
					     &receiver),
			 0);
	memset(&watched, 0, sizeof(watched));
	watched.channel = channel_of(sender);
	block = watched.channel->mask + 1;
}

static void
send_blocks(unsigned int blocks)
{
	uint64_t n;

	for (n = 0; n < blocks * block; n++)
		assert_int_equal(weir_try_send(sender, &n), 0);
}

/* So often since the last time, and never with a lock. */
static void
expect_watched(unsigned int got, unsigned int given)
{
	assert_int_equal(watched.got, got);
	assert_int_equal(watched.given, given);
	assert_int_equal(watched.with_locks, 0);
	watched.got = 0;
	watched.given = 0;
}

/* channel.c, Y11 */
static void
channel_gets_and_gives_memory_without_its_locks(void **state)
{
	uint64_t values[4 * 256], v;
	unsigned int i;

	open_channel();
	assert_uint_in_range(4 * block, 1, RTE_DIM(values));
	send_blocks(4);
	expect_watched(3, 0);
	/* Both sides have the same lock. Of the three that end, one is kept. */
	assert_false(is_apart(watched.channel));
	assert_int_equal(
		weir_try_recv_burst(receiver, values, (uint32_t)(4 * block)),
		4 * block);
	expect_watched(0, 2);
	/* Each side has its own. */
	assert_true(is_apart(watched.channel));
	send_blocks(4);
	expect_watched(2, 0);
	for (i = 0; i < 4 * block; i++)
		assert_int_equal(weir_try_recv(receiver, &v), 0);
	expect_watched(0, 2);
	/* What nobody receives. */
	send_blocks(4);
	expect_watched(2, 0);
	weir_receiver_drop(receiver);
	expect_watched(0, 2);
	/* The last block, the one that was kept, and the channel. */
	weir_sender_drop(sender);
	expect_watched(0, 3);
}

static bool sent_meanwhile;

static void
send_another(void)
{
	const uint64_t v = 1;

	/* If the lock were held this would not end. */
	if (watched.with_locks == 0)
		sent_meanwhile = weir_try_send(sender, &v) == 0;
}

/* Behind a block of others: 1, which was sent meanwhile, and 2; and no more. */
static void
expect_both_sent(void)
{
	uint64_t i, v;

	assert_null(meanwhile);
	assert_true(sent_meanwhile);
	for (i = 0; i < block; i++)
		assert_int_equal(weir_try_recv(receiver, &v), 0);
	for (i = 1; i <= 2; i++) {
		assert_int_equal(weir_try_recv(receiver, &v), 0);
		assert_int_equal(v, i);
	}
	assert_int_equal(weir_try_recv(receiver, &v), -EAGAIN);
	weir_sender_drop(sender);
	weir_receiver_drop(receiver);
}

/* Y11: two find that the block is full; who comes second has no use for its own. */
static void
one_of_two_that_are_out_of_a_block_adds_one(void **state)
{
	const uint64_t v = 2;

	open_channel();
	send_blocks(1);
	sent_meanwhile = false;
	meanwhile = send_another;
	assert_int_equal(weir_try_send(sender, &v), 0);
	expect_watched(2, 1);
	expect_both_sent();
}

static void
send_another_with_memory(void)
{
	grant(1);
	send_another();
	grant(0);
}

/* The other has added one: there is no need of memory. */
static void
one_that_is_out_of_memory_has_the_block_of_another(void **state)
{
	const uint64_t v = 2;

	open_channel();
	send_blocks(1);
	sent_meanwhile = false;
	meanwhile = send_another_with_memory;
	grant(0);
	assert_int_equal(weir_try_send(sender, &v), 0);
	expect_both_sent();
}

static uint64_t to_receive; /* values */

static void
receive_some(void)
{
	uint64_t v;

	while (to_receive > 0 && weir_try_recv(receiver, &v) == 0)
		to_receive--;
}

/* The last block is empty by then, or another is left. */
static void
one_that_is_out_of_memory_has_what_receivers_leave(void **state)
{
	unsigned int blocks;
	uint64_t v, end;

	for (blocks = 1; blocks <= 2; blocks++) {
		open_channel();
		send_blocks(blocks);
		end = blocks * block;
		/* No more of the second than that the first is done with. */
		to_receive = block + (blocks - 1);
		meanwhile = receive_some;
		grant(0);
		assert_int_equal(weir_try_send(sender, &end), 0);
		assert_null(meanwhile);
		assert_int_equal(to_receive, 0);
		assert_int_equal(watched.with_locks, 0);
		for (v = block + (blocks - 1); v <= end; v++) {
			uint64_t got = 0;

			assert_int_equal(weir_try_recv(receiver, &got), 0);
			assert_int_equal(got, v);
		}
		weir_sender_drop(sender);
		weir_receiver_drop(receiver);
		grant(UINT32_MAX);
	}
}

static void
drop_the_receiver(void)
{
	weir_receiver_drop(receiver);
}

/* It is told that, and not that there is no memory. */
static void
one_that_is_out_of_memory_hears_of_the_end(void **state)
{
	const uint64_t v = 2;

	open_channel();
	send_blocks(1);
	meanwhile = drop_the_receiver;
	grant(0);
	assert_int_equal(weir_try_send(sender, &v), -EPIPE);
	assert_null(meanwhile);
	weir_sender_drop(sender);
}

static struct atomic_u32 finis;
static struct atomic_u32 entered_later;

static int
no_event(void *priv)
{
	rig_add(&entered_later, rig_get(&finis));
	return 0;
}

static void
no_place(void *priv)
{
	rig_add(&entered_later, rig_get(&finis));
}

static void
count_fini(void *priv)
{
	rig_add(&finis, 1);
}

/*
 * Its memory goes with the runtime; the driver's user has no more of it at once, and the
 * driver may be unloaded.
 */
static void
source_freed_without_memory_is_not_lost(void **state)
{
	struct weir_source_ops *ops =
		mmap(NULL, sizeof(*ops), PROT_READ | PROT_WRITE,
		     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct weir_runtime *rt;
	size_t before;
	void *source;

	assert_ptr_not_equal(ops, MAP_FAILED);
	*ops = (struct weir_source_ops){
		.name = "counted",
		.poll = no_event,
		.wake_all = no_place,
		.fini = count_fini,
	};
	rig_runtime_free(rig_runtime(1));
	before = rig_heap_in_use();
	rt = rig_runtime(1);
	source = weir_source_create(rt, ops, 0, 0);
	assert_non_null(source);
	rig_set(&finis, 0);
	grant(0);
	weir_source_free(source);
	grant(UINT32_MAX);
	assert_int_equal(munmap(ops, sizeof(*ops)), 0);
	weir__source_set_rescue(&rt->workers[0]->sources, rte_rdtsc());
	weir__source_set_wake(&rt->workers[0]->sources, false);
	assert_int_equal(rig_get(&finis), 1);
	rig_runtime_free(rt);
	assert_int_equal(rig_get(&finis), 1);
	assert_int_equal(rig_get(&entered_later), 0);
	assert_int_equal(rig_heap_in_use(), before);
}

/* One line that begins so. */
static void
expect_line(const char *line, const char *begin)
{
	assert_memory_equal(line, begin, strlen(begin));
	assert_ptr_equal(strchr(line, '\n'), line + strlen(line) - 1);
}

/* Whichever allocation is the one that fails. */
static void
runtime_without_memory_is_not_made(void **state)
{
	struct weir_runtime *rt = NULL;
	char line[512];
	unsigned int open_before;
	struct weir_options o;
	size_t before;
	uint32_t n;

	rig_runtime_free(rig_runtime(3));
	open_before = rig_open_fds();
	before = rig_heap_in_use();
	rig_options(&o, 3);
	for (n = 0; rt == NULL; n++) {
		grant(n);
		rte_errno = 0;
		rt = rig_runtime_logged(&o, line, sizeof(line));
		if (rt != NULL)
			break;
		assert_int_equal(rte_errno, ENOMEM);
		expect_line(line, "weir: no memory ");
		assert_int_equal(rig_heap_in_use(), before);
		assert_int_equal(rig_open_fds(), open_before);
		assert_false(rig_runtime_exists(o.name));
	}
	assert_int_equal(n, rig_get(&asked));
	assert_uint_in_range(n, 10, 1000);
	grant(UINT32_MAX);
	rig_runtime_free(rt);
	assert_int_equal(rig_heap_in_use(), before);
}

static void
runtime_of_too_many_nodes_is_refused(void **state)
{
	struct weir_options o;
	char line[512];

	rig_options(&o, 3);
	too_many_nodes = true;
	rte_errno = 0;
	assert_null(rig_runtime_logged(&o, line, sizeof(line)));
	too_many_nodes = false;
	assert_int_equal(rte_errno, E2BIG);
	expect_line(line, "weir: lcores: they are on more than 64 nodes");
	rig_runtime_free(rig_runtime(3));
}

/* The DMA device stands still: nothing is given to it. */
static int
start(void **state)
{
	grant(UINT32_MAX);
	ports_start(state);
	have_crypto = devices_open_crypto("crypto_null0", &crypto);
	have_dma = devices_open_dma("dma_skeleton0", &dma);
	return 0;
}

static int
finish(void **state)
{
	if (have_crypto)
		rte_cryptodev_stop(crypto);
	return unit_eal_teardown(state);
}

#define TEST(name, workers) UNIT_TEST(name, setup, teardown, workers)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(spawn_without_memory_changes_nothing, 1),
		TEST(spawn_without_memory_changes_nothing, 3),
		TEST(spawn_without_memory_in_a_task_changes_nothing, 1),
		TEST(spawn_without_memory_in_a_task_changes_nothing, 3),
		TEST(without_room_for_a_chunk_a_task_has_its_own, 1),
		TEST(one_of_two_that_are_out_of_cells_gets_more, 1),
		TEST(source_without_memory_is_not_made, 1),
		TEST(fd_without_memory_is_not_in_its_set, 1),
		TEST(transmit_queue_without_memory_is_not_made, 1),
		TEST(crypto_queue_and_job_without_memory_are_not_made, 1),
		TEST(dma_channel_and_job_without_memory_are_not_made, 1),
		TEST(source_without_memory_stays_where_it_is, 2),
		TEST(worker_without_memory_for_its_heir_stays, 2),
		TEST(oneshot_without_memory_is_not_made, 1),
		TEST(token_without_memory_is_not_made, 1),
		TEST(channel_without_memory_takes_no_value, 1),
		TEST(burst_without_memory_is_short, 1),
		TEST(channel_without_memory_takes_what_fits_of_a_burst, 1),
		TEST(channel_gets_and_gives_memory_without_its_locks, 1),
		TEST(one_of_two_that_are_out_of_a_block_adds_one, 1),
		TEST(one_that_is_out_of_memory_has_the_block_of_another, 1),
		TEST(one_that_is_out_of_memory_has_what_receivers_leave, 1),
		TEST(one_that_is_out_of_memory_hears_of_the_end, 1),
		TEST(set_without_memory_takes_no_task, 1),
		cmocka_unit_test(source_freed_without_memory_is_not_lost),
		cmocka_unit_test(runtime_without_memory_is_not_made),
		cmocka_unit_test(runtime_of_too_many_nodes_is_refused),
	};

	return cmocka_run_group_tests(tests, start, finish);
}
