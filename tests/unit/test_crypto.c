/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Crypto devices as sources: drivers/cryptodev. Most tests need a device that
 * does what they say, so they put functions of their own in front of a null
 * device's.
 */

/* For sessions. */
#define ALLOW_EXPERIMENTAL_API

#include "unit.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <rte_cryptodev.h>
#include <rte_errno.h>
#include <rte_mbuf.h>

#include "devices.h"
#include "kernel.h"
#include "park/source.h"
#include "weir_crypto.h"

#define CAPACITY 64

/* An operation of the tests' device. */
struct work {
	struct rte_crypto_op op; /* first */
	bool fails;		 /* while it is done */
	bool bad;		 /* is not even taken */
	struct atomic_u32 released;
};

/* The tests' device. */
static struct {
	struct atomic_u32 inside; /* threads in its functions */
	struct atomic_u32 overlaps;
	struct atomic_u32 stopped; /* finishes nothing */
	struct atomic_u32 taken;
	struct atomic_u32 most; /* at a time */
	bool last_first;
	unsigned int capacity;
	unsigned int n;
	struct rte_crypto_op *ops[CAPACITY];
} device;

static uint8_t dev;
static bool have_dev;
static struct weir_cryptoq *q;
static struct atomic_u32 waits;

static struct work *
work_of(struct rte_crypto_op *op)
{
	return (struct work *)op;
}

static void
enter_device(void)
{
	if (atomic_u32_exchange(&device.inside, 1, ACQ_REL) != 0)
		rig_add(&device.overlaps, 1);
}

static uint16_t
device_enqueue(void *qp, struct rte_crypto_op **ops, uint16_t n)
{
	uint16_t i;

	enter_device();
	for (i = 0; i < n && device.n < device.capacity; i++) {
		if (work_of(ops[i])->bad) {
			ops[i]->status = RTE_CRYPTO_OP_STATUS_INVALID_SESSION;
			break;
		}
		device.ops[device.n++] = ops[i];
	}
	rig_add(&device.taken, i);
	if (device.n > rig_get(&device.most))
		rig_set(&device.most, device.n);
	rig_set(&device.inside, 0);
	return i;
}

static uint16_t
device_dequeue(void *qp, struct rte_crypto_op **ops, uint16_t n)
{
	unsigned int i, k;

	enter_device();
	n = rig_get(&device.stopped) ? 0 : (uint16_t)RTE_MIN(n, device.n);
	for (i = 0; i < n; i++) {
		k = device.last_first ? device.n - 1 : 0;
		ops[i] = device.ops[k];
		ops[i]->status = work_of(ops[i])->fails ?
					 RTE_CRYPTO_OP_STATUS_ERROR :
					 RTE_CRYPTO_OP_STATUS_SUCCESS;
		device.n--;
		memmove(&device.ops[k], &device.ops[k + 1],
			(device.n - k) * sizeof(device.ops[0]));
	}
	rig_set(&device.inside, 0);
	return n;
}

static struct atomic_u32 released;

static void
release(struct rte_crypto_op *op)
{
	rig_add(&work_of(op)->released, 1);
	rig_add(&released, 1);
}

static int
start(void **state)
{
	unit_eal_setup(state);
	have_dev = devices_open_crypto("crypto_null0", &dev);
	if (have_dev) {
		rte_crypto_fp_ops[dev].enqueue_burst = device_enqueue;
		rte_crypto_fp_ops[dev].dequeue_burst = device_dequeue;
	}
	return 0;
}

static int
finish(void **state)
{
	if (have_dev)
		rte_cryptodev_stop(dev);
	return unit_eal_teardown(state);
}

static unsigned int
last_worker(void)
{
	return weir_runtime_nb_workers(rig.rt) - 1;
}

static int
setup(void **state)
{
	rig_setup(state);
	memset(&device, 0, sizeof(device));
	device.capacity = CAPACITY;
	rig_set(&waits, 0);
	rig_set(&released, 0);
	q = NULL;
	if (have_dev) {
		q = weir_cryptoq_create(rig.rt, dev, 0, last_worker(), CAPACITY,
					release);
		assert_non_null(q);
	}
	return 0;
}

static int
teardown(void **state)
{
	weir_cryptoq_free(q);
	assert_int_equal(rig_get(&device.overlaps), 0);
	return rig_teardown(state);
}

/* First thing in each test. */
static void
need_device(void)
{
	if (!have_dev)
		unit_skip("DPDK has no crypto_null here");
}

#define JOB_OPS 40

/*
 * A task that has its works done, `rounds` times. It names them once a round: a
 * call that goes on does not look.
 */
struct runner {
	struct weir_crypto_job *job;
	struct work *works;
	unsigned int n;
	unsigned int rounds;
	int good; /* of the last round, or WEIR_PENDING */
};

static int
run(struct weir_context *ctx, void *state)
{
	struct rte_crypto_op *ops[JOB_OPS + 1] = { NULL };
	struct runner *r = state;
	unsigned int i;

	for (; r->rounds > 0; r->rounds--) {
		for (i = 0; i < r->n; i++)
			ops[i] = &r->works[i].op;
		r->good = r->good == WEIR_PENDING ?
				  weir_crypto_run(ctx, r->job, NULL, 0) :
				  weir_crypto_run(ctx, r->job, ops, r->n);
		if (r->good == WEIR_PENDING)
			rig_add(&waits, 1);
		if (r->good < 0)
			return r->good;
		for (i = 0; i < r->n; i++)
			if (ops[i]->status ==
			    RTE_CRYPTO_OP_STATUS_NOT_PROCESSED)
				return -EPROTO;
	}
	return WEIR_DONE;
}

static void
drop(void *state)
{
	weir_crypto_job_free(((struct runner *)state)->job);
}

static const struct weir_task_ops runner_ops = {
	.name = "runner",
	.state_size = sizeof(struct runner),
	.poll = run,
	.drop = drop,
	.result_offset = offsetof(struct runner, good),
	.result_size = sizeof(int),
};

static struct weir_join *
spawn_runner(struct work *works, unsigned int n, unsigned int rounds)
{
	struct runner r = { weir_crypto_job_create(q, JOB_OPS), works, n,
			    rounds, 0 };
	struct weir_join *join;

	assert_non_null(r.job);
	join = weir_task_spawn(rig.rt, &runner_ops, &r, NULL);
	assert_non_null(join);
	return join;
}

static void
expect_good(struct weir_join *join, int good)
{
	int got = -1;

	assert_int_equal(rig_join(join, &got), 0);
	assert_int_equal(got, good);
}

static void
operations_are_done_and_their_errors_told(void **state)
{
	struct work works[JOB_OPS] = { 0 };

	need_device();
	expect_good(spawn_runner(works, JOB_OPS, 10), JOB_OPS);
	works[3].fails = true;
	works[JOB_OPS - 1].fails = true;
	expect_good(spawn_runner(works, JOB_OPS, 1), JOB_OPS - 2);
	assert_int_equal(works[3].op.status, RTE_CRYPTO_OP_STATUS_ERROR);
	assert_int_equal(works[4].op.status, RTE_CRYPTO_OP_STATUS_SUCCESS);
	assert_int_equal(rig_get(&released), 0);
}

static void
refused_operation_is_told_and_holds_nobody_up(void **state)
{
	struct work works[3][4] = { 0 };
	struct weir_join *joins[3];
	unsigned int i;

	need_device();
	works[0][0].bad = true;
	works[1][3].bad = true;
	for (i = 0; i < 4; i++)
		works[2][i].bad = true;
	for (i = 0; i < 3; i++)
		joins[i] = spawn_runner(works[i], 4, 20);
	expect_good(joins[0], 3);
	expect_good(joins[1], 3);
	expect_good(joins[2], 0);
	assert_int_equal(works[1][3].op.status,
			 RTE_CRYPTO_OP_STATUS_INVALID_SESSION);
}

/* A poll has found something if a job ends by what the device refuses. */
static void
refused_last_operation_is_an_event(void **state)
{
	struct work works[5] = { 0 };
	struct weir_source_stats stats;
	struct weir_join *join;

	need_device();
	weir_cryptoq_free(q);
	q = weir_cryptoq_create(rig.rt, dev, 0, last_worker(), 4, release);
	assert_non_null(q);
	works[4].bad = true;
	rig_set(&device.stopped, 1);
	join = spawn_runner(works, 5, 1);
	rig_wait_until(rig_get(&weir_cryptoq_source(q)->armed) == 1);
	rig_set(&device.stopped, 0);
	expect_good(join, 4);
	rig_wait_until((weir_source_stats_get(weir_cryptoq_source(q), &stats),
			stats.events == 1));
}

#define TASKS 12

/* Whatever the order in which the device is done. */
static void
operations_come_back_to_their_job(void **state)
{
	static struct work works[TASKS][JOB_OPS];
	struct weir_join *joins[TASKS];
	unsigned int i, k;

	need_device();
	memset(works, 0, sizeof(works));
	device.last_first = true;
	for (i = 0; i < TASKS; i++) {
		for (k = 0; k < i; k++)
			works[i][k].fails = true;
		joins[i] = spawn_runner(works[i], JOB_OPS, 50);
	}
	for (i = 0; i < TASKS; i++)
		expect_good(joins[i], JOB_OPS - (int)i);
	assert_int_equal(device.n, 0);
}

static void
full_device_keeps_jobs_in_line(void **state)
{
	static struct work works[TASKS][JOB_OPS];
	struct weir_join *joins[TASKS];
	unsigned int i, turn;

	need_device();
	/* By the depth, and by what the device takes. */
	for (turn = 0; turn < 2; turn++) {
		memset(works, 0, sizeof(works));
		weir_cryptoq_free(q);
		q = weir_cryptoq_create(rig.rt, dev, 0, last_worker(),
					turn == 0 ? 4 : CAPACITY, release);
		device.capacity = turn == 0 ? CAPACITY : 4;
		rig_set(&device.most, 0);
		rig_set(&device.stopped, 1);
		for (i = 0; i < TASKS; i++)
			joins[i] = spawn_runner(works[i], JOB_OPS, 1);
		rig_wait_until(rig_get(&weir_cryptoq_source(q)->armed) ==
			       TASKS);
		rig_set(&device.stopped, 0);
		for (i = 0; i < TASKS; i++)
			expect_good(joins[i], JOB_OPS);
		assert_int_equal(rig_get(&device.most), 4);
	}
}

/* C3 */
static void
cancelled_job_is_released_when_the_device_is_done(void **state)
{
	struct work works[JOB_OPS] = { 0 };
	struct weir_join *join;
	unsigned int i;

	need_device();
	device.capacity = 10;
	rig_set(&device.stopped, 1);
	join = spawn_runner(works, JOB_OPS, 1);
	rig_wait_until(rig_get(&waits) > 0);
	rig_wait_until(rig_get(&weir_cryptoq_source(q)->armed) == 1);
	weir_join_abort(join);
	assert_int_equal(rig_join(join, NULL), -ECANCELED);
	/* Those that the device has are its. */
	rig_wait_until(rig_get(&released) == JOB_OPS - 10);
	for (i = 0; i < 10; i++)
		assert_int_equal(rig_get(&works[i].released), 0);
	rig_set(&device.stopped, 0);
	rig_wait_until(rig_get(&released) == JOB_OPS);
	for (i = 0; i < JOB_OPS; i++)
		assert_int_equal(rig_get(&works[i].released), 1);
	rig_wait_until(rig_get(&weir_cryptoq_source(q)->armed) == 0);
}

/* C3: also one that does not get at the queue. */
static struct weir_join *
spawn_at_locked_queue(struct work *works)
{
	struct weir_join *join;

	rig_set(&waits, 0);
	weir_source_lock(q);
	join = spawn_runner(works, JOB_OPS, 1);
	rig_wait_until(rig_get(&waits) > 0);
	return join;
}

static void
first_call_takes_the_operations(void **state)
{
	struct work works[JOB_OPS] = { 0 };
	struct weir_join *join;
	unsigned int i;

	need_device();
	join = spawn_at_locked_queue(works);
	weir_source_unlock(q);
	expect_good(join, JOB_OPS);
	assert_int_equal(rig_get(&released), 0);
	rig_set(&device.stopped, 1);
	join = spawn_at_locked_queue(works);
	weir_join_abort(join);
	weir_source_unlock(q);
	assert_int_equal(rig_join(join, NULL), -ECANCELED);
	rig_set(&device.stopped, 0);
	rig_wait_until(rig_get(&released) == JOB_OPS);
	for (i = 0; i < JOB_OPS; i++)
		assert_int_equal(rig_get(&works[i].released), 1);
}

/* C3: neither one whose task ends with it, nor one that was freed before. */
static void
alert_leaves_no_job_behind(void **state)
{
	struct weir_source *source;
	struct work works[JOB_OPS] = { 0 };
	struct weir_join *join;

	need_device();
	source = weir_cryptoq_source(q);
	rig_set(&device.stopped, 1);
	join = spawn_runner(works, JOB_OPS, 1);
	rig_wait_until(rig_get(&source->armed) == 1);
	weir_source_alert(source, ENETDOWN);
	assert_int_equal(rig_join(join, NULL), -ENETDOWN);
	assert_int_equal(rig_get(&released), 0);
	weir_source_alert(source, ENETDOWN);
	rig_set(&device.stopped, 0);
	rig_wait_until(rig_get(&released) == JOB_OPS);
	rig_wait_until(rig_get(&source->armed) == 0);
}

static void
close_ends_the_waits_and_free_waits_for_the_device(void **state)
{
	static struct work works[TASKS][JOB_OPS];
	struct weir_join *joins[TASKS];
	struct work late = { 0 };
	unsigned int i, k;

	need_device();
	memset(works, 0, sizeof(works));
	rig_set(&device.stopped, 1);
	for (i = 0; i < TASKS; i++)
		joins[i] = spawn_runner(works[i], JOB_OPS, 1);
	rig_wait_until(rig_get(&weir_cryptoq_source(q)->armed) == TASKS);
	weir_source_close(weir_cryptoq_source(q), ENODEV);
	for (i = 0; i < TASKS; i++)
		assert_int_equal(rig_join(joins[i], NULL), -ENODEV);
	assert_int_equal(rig_join(spawn_runner(&late, 1, 1), NULL), -ENODEV);
	rig_wait_until(rig_get(&late.released) == 1);
	assert_int_equal(device.n, CAPACITY);
	rig_set(&device.stopped, 0);
	weir_cryptoq_free(q);
	q = NULL;
	assert_int_equal(device.n, 0);
	for (i = 0; i < TASKS; i++)
		for (k = 0; k < JOB_OPS; k++)
			assert_int_equal(rig_get(&works[i][k].released), 1);
}

static void
shutdown_releases_what_tasks_had(void **state)
{
	static struct work works[TASKS][JOB_OPS];
	struct weir_join *joins[TASKS];
	unsigned int i;

	need_device();
	memset(works, 0, sizeof(works));
	rig_set(&device.stopped, 1);
	for (i = 0; i < TASKS; i++)
		joins[i] = spawn_runner(works[i], JOB_OPS, 1);
	rig_wait_until(rig_get(&weir_cryptoq_source(q)->armed) == TASKS);
	assert_int_equal(weir_runtime_shutdown(rig.rt, UINT64_MAX, NULL), 0);
	for (i = 0; i < TASKS; i++)
		assert_int_equal(rig_join(joins[i], NULL), -ECANCELED);
	rig_set(&device.stopped, 0);
	weir_cryptoq_free(q);
	q = NULL;
	assert_int_equal(rig_get(&released), TASKS * JOB_OPS);
	rte_errno = 0;
	assert_null(weir_cryptoq_create(rig.rt, dev, 0, 0, 1, release));
	assert_int_equal(rte_errno, ESHUTDOWN);
}

static void
queue_moves_and_workers_go_while_tasks_run(void **state)
{
	static struct work works[TASKS][JOB_OPS];
	struct weir_join *joins[TASKS];
	unsigned int i;

	need_device();
	memset(works, 0, sizeof(works));
	for (i = 0; i < TASKS; i++)
		joins[i] = spawn_runner(works[i], JOB_OPS, 200);
	for (i = 0; i < 20; i++)
		assert_int_equal(
			weir_source_move(weir_cryptoq_source(q), rig.rt, i % 2),
			0);
	assert_int_equal(weir_worker_retire(rig.rt, 1, 0), 0);
	for (i = 0; i < TASKS; i++)
		expect_good(joins[i], JOB_OPS);
}

struct same {
	struct weir_crypto_job *job;
	struct work *work;
};

static int
run_same(struct weir_context *ctx, void *state)
{
	struct same *s = state;
	struct rte_crypto_op *op = &s->work->op;
	int rc = weir_crypto_run(ctx, s->job, &op, 1);

	return rc < 0 ? rc : WEIR_DONE;
}

static void
job_is_of_one_task(void **state)
{
	static const struct weir_task_ops ops = {
		.name = "same job",
		.state_size = sizeof(struct same),
		.poll = run_same,
	};
	struct work work = { 0 };
	struct same s = { NULL, &work };
	struct weir_join *join;

	need_device();
	s.job = weir_crypto_job_create(q, 1);
	rig_set(&device.stopped, 1);
	join = weir_task_spawn(rig.rt, &ops, &s, NULL);
	rig_wait_until(rig_get(&weir_cryptoq_source(q)->armed) == 1);
	assert_int_equal(weir_runtime_block_on(rig.rt, &ops, &s, NULL), -EBUSY);
	rig_set(&device.stopped, 0);
	assert_int_equal(rig_join(join, NULL), 0);
	weir_crypto_job_free(s.job);
}

static void
bad_arguments_are_refused(void **state)
{
	const struct {
		unsigned int dev, qp, worker, depth;
		void (*release)(struct rte_crypto_op *op);
	} rows[] = {
		{ 200, 0, 0, 1, release },
		{ dev, DEVICES_QUEUE_PAIRS, 0, 1, release },
		{ dev, 0, last_worker() + 1, 1, release },
		{ dev, 0, 0, 0, release },
		{ dev, 0, 0, WEIR_CRYPTO_OPS_MAX + 1, release },
		{ dev, 0, 0, 1, NULL },
	};
	struct work works[JOB_OPS + 1] = { 0 };
	unsigned int i;

	need_device();
	for (i = 0; i < RTE_DIM(rows); i++) {
		rte_errno = 0;
		assert_null(weir_cryptoq_create(
			rig.rt, (uint8_t)rows[i].dev, (uint16_t)rows[i].qp,
			rows[i].worker, rows[i].depth, rows[i].release));
		assert_int_equal(rte_errno, EINVAL);
	}
	rte_errno = 0;
	assert_null(weir_crypto_job_create(q, 0));
	assert_int_equal(rte_errno, EINVAL);
	rte_errno = 0;
	assert_null(weir_crypto_job_create(q, WEIR_CRYPTO_OPS_MAX + 1));
	assert_int_equal(rte_errno, EINVAL);
	weir_crypto_job_free(NULL);
	weir_cryptoq_free(NULL);
	assert_int_equal(rig_join(spawn_runner(works, 0, 1), NULL), -EINVAL);
	assert_int_equal(rig_join(spawn_runner(works, JOB_OPS + 1, 1), NULL),
			 -EINVAL);
}

/* Two of them would take what is each other's. */
static void
queue_pair_has_one_source(void **state)
{
	struct work works[JOB_OPS] = { 0 };
	struct weir_cryptoq *other;

	need_device();
	rte_errno = 0;
	assert_null(weir_cryptoq_create(rig.rt, dev, 0, last_worker(), CAPACITY,
					release));
	assert_int_equal(rte_errno, EBUSY);
	expect_good(spawn_runner(works, JOB_OPS, 1), JOB_OPS);
	other = weir_cryptoq_create(rig.rt, dev, 1, last_worker(), CAPACITY,
				    release);
	assert_non_null(other);
	weir_cryptoq_free(other);
	weir_cryptoq_free(q);
	q = weir_cryptoq_create(rig.rt, dev, 0, last_worker(), CAPACITY,
				release);
	assert_non_null(q);
	expect_good(spawn_runner(works, JOB_OPS, 1), JOB_OPS);
}

/* AES-128-CBC: FIPS 197's key, NIST SP 800-38A, F.2.1, block 1. */
static const uint8_t key[16] = {
	0x2b, 0x7e, 0x15, 0x16, 0x28, 0xae, 0xd2, 0xa6,
	0xab, 0xf7, 0x15, 0x88, 0x09, 0xcf, 0x4f, 0x3c
};
static const uint8_t clear[16] = { 0x6b, 0xc1, 0xbe, 0xe2, 0x2e, 0x40,
				   0x9f, 0x96, 0xe9, 0x3d, 0x7e, 0x11,
				   0x73, 0x93, 0x17, 0x2a };
static const uint8_t secret[16] = { 0x76, 0x49, 0xab, 0xac, 0x81, 0x19,
				    0xb2, 0x46, 0xce, 0xe9, 0x8e, 0x9b,
				    0x12, 0xe9, 0x19, 0x7d };
#define IV_OFFSET \
	(sizeof(struct rte_crypto_op) + sizeof(struct rte_crypto_sym_op))

struct aes {
	struct weir_crypto_job *job;
	struct rte_crypto_op *ops[8];
};

static int
run_aes(struct weir_context *ctx, void *state)
{
	struct aes *a = state;
	int rc = weir_crypto_run(ctx, a->job, a->ops, 8);

	return rc < 0 || rc == 8 ? RTE_MIN(rc, 0) : -EPROTO;
}

static void
release_op(struct rte_crypto_op *op)
{
	rte_crypto_op_free(op);
}

static struct rte_crypto_op *
aes_op(struct rte_mempool *ops, struct rte_mempool *mbufs, void *session)
{
	struct rte_crypto_op *op =
		rte_crypto_op_alloc(ops, RTE_CRYPTO_OP_TYPE_SYMMETRIC);
	struct rte_mbuf *m = rte_pktmbuf_alloc(mbufs);
	uint8_t i, *iv;

	assert_non_null(op);
	assert_non_null(m);
	memcpy(rte_pktmbuf_append(m, 16), clear, 16);
	iv = rte_crypto_op_ctod_offset(op, uint8_t *, IV_OFFSET);
	for (i = 0; i < 16; i++)
		iv[i] = i;
	op->sym->m_src = m;
	op->sym->cipher.data.length = 16;
	rte_crypto_op_attach_sym_session(op, session);
	return op;
}

static void *
aes_session(uint8_t id)
{
	struct rte_crypto_sym_xform xform = {
		.type = RTE_CRYPTO_SYM_XFORM_CIPHER,
		.cipher = { .op = RTE_CRYPTO_CIPHER_OP_ENCRYPT,
			    .algo = RTE_CRYPTO_CIPHER_AES_CBC,
			    .key = { key, sizeof(key) },
			    .iv = { IV_OFFSET, 16 } },
	};
	struct rte_mempool *pool = rte_mempool_lookup("crypto_openssl0");

	return rte_cryptodev_sym_session_create(id, &xform, pool);
}

static void
openssl_does_aes(void **state)
{
	static const struct weir_task_ops task = {
		.name = "aes",
		.state_size = sizeof(struct aes),
		.poll = run_aes,
	};
	struct rte_mempool *ops, *mbufs;
	struct weir_cryptoq *real;
	struct aes a;
	void *session;
	unsigned int i, round;
	uint8_t id;

	if (!devices_open_crypto("crypto_openssl0", &id))
		unit_skip("DPDK has no crypto_openssl here");
	ops = rte_crypto_op_pool_create("ops", RTE_CRYPTO_OP_TYPE_SYMMETRIC, 63,
					0, 16, SOCKET_ID_ANY);
	mbufs = rte_pktmbuf_pool_create("aes", 63, 0, 0, 256, SOCKET_ID_ANY);
	session = aes_session(id);
	assert_non_null(session);
	real = weir_cryptoq_create(rig.rt, id, 1, 0, DEVICES_DESCRIPTORS - 1,
				   release_op);
	a.job = weir_crypto_job_create(real, 8);
	for (round = 0; round < 20; round++) {
		for (i = 0; i < 8; i++)
			a.ops[i] = aes_op(ops, mbufs, session);
		assert_int_equal(weir_runtime_block_on(rig.rt, &task, &a, NULL),
				 0);
		for (i = 0; i < 8; i++) {
			assert_memory_equal(
				rte_pktmbuf_mtod(a.ops[i]->sym->m_src, void *),
				secret, 16);
			rte_pktmbuf_free(a.ops[i]->sym->m_src);
			rte_crypto_op_free(a.ops[i]);
		}
	}
	weir_crypto_job_free(a.job);
	weir_cryptoq_free(real);
	rte_cryptodev_sym_session_free(id, session);
	rte_cryptodev_stop(id);
	rte_mempool_free(ops);
	rte_mempool_free(mbufs);
}

#define TEST(name, workers) UNIT_TEST(name, setup, teardown, workers)
#define TESTS(name) TEST(name, 1), TEST(name, 2), TEST(name, 3)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TESTS(operations_are_done_and_their_errors_told),
		TESTS(refused_operation_is_told_and_holds_nobody_up),
		TESTS(refused_last_operation_is_an_event),
		TESTS(operations_come_back_to_their_job),
		TESTS(full_device_keeps_jobs_in_line),
		TESTS(cancelled_job_is_released_when_the_device_is_done),
		TESTS(first_call_takes_the_operations),
		TESTS(alert_leaves_no_job_behind),
		TESTS(close_ends_the_waits_and_free_waits_for_the_device),
		TESTS(shutdown_releases_what_tasks_had),
		TEST(queue_moves_and_workers_go_while_tasks_run, 2),
		TESTS(job_is_of_one_task),
		TEST(bad_arguments_are_refused, 2),
		TESTS(queue_pair_has_one_source),
		TEST(openssl_does_aes, 2),
	};

	return cmocka_run_group_tests(tests, start, finish);
}
