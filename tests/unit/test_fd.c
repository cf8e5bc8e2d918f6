/* SPDX-License-Identifier: BSD-3-Clause */

/* Sets of fds as sources: drivers/fd. */

#include "unit.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <rte_cycles.h>
#include <rte_errno.h>

#include "base/cycles.h"
#include "fd.h"
#include "kernel.h"
#include "park/source.h"
#include "weir_fd.h"
#include "weir_select.h"
#include "weir_time.h"

static struct weir_fd_set *set;
static struct atomic_u32 waits; /* PENDING, of all tasks */
static struct atomic_u32 goes;	/* waits that ended, of all tasks */

static unsigned int
last_worker(void)
{
	return weir_runtime_nb_workers(rig.rt) - 1;
}

static int
setup_park(void **state, enum weir_park park)
{
	kernel_reset();
	memset(&rig, 0, sizeof(rig));
	rig_set(&waits, 0);
	rig_set(&goes, 0);
	rig.told.log = &rig.log;
	rig.told.go = &rig.go;
	rig.rt = kernel_runtime((unsigned int)(uintptr_t)*state, park);
	set = weir_fd_set_create(rig.rt, last_worker(), 0);
	assert_non_null(set);
	return 0;
}

static int
setup(void **state)
{
	return setup_park(state, WEIR_PARK_INTERRUPT);
}

static int
setup_polling(void **state)
{
	return setup_park(state, WEIR_PARK_POLL);
}

static int
teardown(void **state)
{
	weir_fd_set_free(set);
	return rig_teardown(state);
}

static struct weir_fd *
add_to(struct weir_fd_set *to, int fd, unsigned int flags)
{
	struct weir_fd *f = weir_fd_create(to, fd, flags);

	if (f == NULL)
		fail_msg("weir_fd_create: %s", rte_strerror(rte_errno));
	return f;
}

static struct weir_fd *
add(int fd, unsigned int flags)
{
	return add_to(set, fd, flags);
}

static void
make_pair(int fds[2])
{
	assert_return_code(
		socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, fds),
		errno);
}

static void
close_pair(const int fds[2])
{
	close(fds[0]);
	close(fds[1]);
}

static int
make_eventfd(unsigned int count)
{
	int fd = eventfd(count, EFD_NONBLOCK);

	assert_return_code(fd, errno);
	return fd;
}

static void
raise_fd(int fd)
{
	const uint64_t one = 1;

	assert_int_equal(write(fd, &one, sizeof(one)), sizeof(one));
}

/* Waits `n` times; with `drain`, reads 8 bytes after each. */
struct waiter {
	struct weir_fd *f;
	uint32_t events;
	uint32_t n;
	bool drain;
	int fd;
	uint32_t got; /* the last time */
};

static int
wait_poll(struct weir_context *ctx, void *state)
{
	struct waiter *w = state;
	uint64_t count;
	int rc;

	for (; w->n > 0; w->n--) {
		rc = weir_fd_wait(ctx, w->f, w->events);
		if (rc == WEIR_PENDING)
			rig_add(&waits, 1);
		if (rc < 0)
			return rc;
		w->got = (uint32_t)rc;
		if (w->drain && read(w->fd, &count, sizeof(count)) < 0) {
			if (errno != EAGAIN)
				return -errno;
			w->n++; /* it was for nothing */
			continue;
		}
		rig_add(&goes, 1);
	}
	return WEIR_DONE;
}

static const struct weir_task_ops waiter_ops = {
	.name = "fd waiter",
	.state_size = sizeof(struct waiter),
	.poll = wait_poll,
	.result_offset = offsetof(struct waiter, got),
	.result_size = sizeof(uint32_t),
};

static struct weir_join *
spawn_waiter_of(const struct waiter *w)
{
	struct weir_join *join = weir_task_spawn(rig.rt, &waiter_ops, w, NULL);

	assert_non_null(join);
	return join;
}

static struct weir_join *
spawn_waiter(struct weir_fd *f, uint32_t events)
{
	const struct waiter w = { .f = f, .events = events, .n = 1 };

	return spawn_waiter_of(&w);
}

static void
expect(struct weir_join *join, uint32_t events)
{
	uint32_t got = 0;

	assert_int_equal(rig_join(join, &got), 0);
	assert_int_equal(got, events);
}

static void
await_armed(uint32_t n)
{
	rig_wait_until(rig_get(&weir_fd_set_source(set)->armed) == n);
}

static const unsigned int both[] = { 0, WEIR_FD_EDGE };

static void
fd_that_is_ready_is_told(void **state)
{
	unsigned int i;

	for (i = 0; i < RTE_DIM(both); i++) {
		int fd = make_eventfd(1);
		struct weir_fd *f = add(fd, both[i]);

		expect(spawn_waiter(f, EPOLLIN), EPOLLIN);
		expect(spawn_waiter(f, EPOLLOUT), EPOLLOUT);
		await_armed(0);
		weir_fd_free(f);
		close(fd);
	}
}

static void
waiter_is_woken_when_the_fd_becomes_ready(void **state)
{
	unsigned int i;

	for (i = 0; i < RTE_DIM(both); i++) {
		int fd = make_eventfd(0);
		struct weir_fd *f = add(fd, both[i]);
		struct waiter w = { f, EPOLLIN, 100, true, fd, 0 };
		struct weir_join *join;
		uint32_t k;

		rig_set(&goes, 0);
		join = spawn_waiter_of(&w);
		for (k = 0; k < 100; k++) {
			await_armed(1);
			rig_wait_until(kernel_all_asleep(rig.rt) || k % 2);
			raise_fd(fd);
			rig_wait_until(rig_get(&goes) > k);
		}
		expect(join, EPOLLIN);
		weir_fd_free(f);
		close(fd);
	}
}

/* Level: it is told as long as it is ready. Edge: each time that it becomes so. */
static void
level_and_edge_differ(void **state)
{
	int fd = make_eventfd(1);
	struct weir_fd *f = add(fd, 0);
	struct weir_join *join;

	expect(spawn_waiter(f, EPOLLIN), EPOLLIN);
	expect(spawn_waiter(f, EPOLLIN), EPOLLIN);
	weir_fd_free(f);
	f = add(fd, WEIR_FD_EDGE);
	expect(spawn_waiter(f, EPOLLIN), EPOLLIN);
	join = spawn_waiter(f, EPOLLIN);
	await_armed(1);
	raise_fd(fd);
	expect(join, EPOLLIN);
	weir_fd_free(f);
	close(fd);
}

/* An edge that came for a task which was cancelled is the next one's. */
static void
edge_outlives_a_waiter_that_was_cancelled(void **state)
{
	int fd = make_eventfd(0);
	struct weir_fd *f = add(fd, WEIR_FD_EDGE);
	struct weir_join *join = spawn_waiter(f, EPOLLIN);

	await_armed(1);
	weir_join_abort(join);
	assert_int_equal(rig_join(join, NULL), -ECANCELED);
	raise_fd(fd);
	await_armed(0);
	expect(spawn_waiter(f, EPOLLIN), EPOLLIN);
	weir_fd_free(f);
	close(fd);
}

static void
cancelled_waiter_gives_its_place_up(void **state)
{
	unsigned int i;

	for (i = 0; i < RTE_DIM(both); i++) {
		int fd = make_eventfd(0);
		struct weir_fd *f = add(fd, both[i]);
		struct weir_join *join = spawn_waiter(f, EPOLLIN);
		uint32_t before = rig_get(&waits);

		await_armed(1);
		weir_join_abort(join);
		assert_int_equal(rig_join(join, NULL), -ECANCELED);
		before = rig_get(&waits);
		join = spawn_waiter(f, EPOLLIN);
		rig_wait_until(rig_get(&waits) > before);
		raise_fd(fd);
		expect(join, EPOLLIN);
		weir_fd_free(f);
		close(fd);
	}
}

/* Waits on both sides for a moment, gives that up, and once more when told to. */
struct fickle {
	struct weir_fd *f;
	struct weir_sleep sleep;
	bool given_up;
};

static struct atomic_u32 given_up; /* times */
static struct atomic_u32 may_go_on;

static int
fickle_poll(struct weir_context *ctx, void *state)
{
	struct fickle *s = state;
	int rc;

	if (!s->given_up) {
		rc = weir_timeout(ctx, &s->sleep, 1000000,
				  weir_fd_wait(ctx, s->f, EPOLLIN | EPOLLOUT));
		if (rc != -ETIMEDOUT)
			return rc < 0 ? rc : -EPROTO;
		weir_fd_cancel(s->f);
		s->given_up = true;
		rig_add(&given_up, 1);
	}
	if (!rig_get(&may_go_on))
		return weir_context_yield(ctx);
	weir_fd_cancel(s->f);
	rig_add(&given_up, 1);
	return WEIR_DONE;
}

static const struct weir_task_ops fickle_ops = {
	.name = "fickle",
	.state_size = sizeof(struct fickle),
	.poll = fickle_poll,
};

/* Others can wait, and none of their waits ends by it. */
static void
wait_that_is_given_up_leaves_its_places(void **state)
{
	unsigned int i;
	char byte = 0;

	for (i = 0; i < RTE_DIM(both); i++) {
		struct weir_join *join, *in, *out;
		struct fickle s = { 0 };
		int fds[2];

		rig_set(&given_up, 0);
		rig_set(&may_go_on, 0);
		make_pair(fds);
		while (write(fds[0], &byte, 1) == 1)
			;
		s.f = add(fds[0], both[i]);
		join = weir_task_spawn(rig.rt, &fickle_ops, &s, NULL);
		assert_non_null(join);
		rig_wait_until(rig_get(&given_up) == 1);
		assert_int_equal(rig_get(&weir_fd_set_source(set)->armed), 0);
		in = spawn_waiter(s.f, EPOLLIN);
		out = spawn_waiter(s.f, EPOLLOUT);
		await_armed(2);
		rig_set(&may_go_on, 1);
		rig_wait_until(rig_get(&given_up) == 2);
		/* Nor is there anything to give up outside of a task. */
		weir_fd_cancel(s.f);
		assert_int_equal(rig_get(&weir_fd_set_source(set)->armed), 2);
		assert_int_equal(rig_join(join, NULL), 0);
		assert_int_equal(write(fds[1], &byte, 1), 1);
		expect(in, EPOLLIN);
		while (read(fds[1], &byte, 1) == 1)
			;
		expect(out, EPOLLOUT);
		await_armed(0);
		weir_fd_free(s.f);
		close_pair(fds);
	}
}

/* Waits to write, and to read for a moment, or until that has come. */
struct duplex {
	struct weir_fd *f;
	struct weir_sleep sleep;
	bool until_told;
	bool given_up;
};

/*
 * WEIR_PENDING: it goes on, or has yet to begin, if the set was just being looked at: only
 * the test knows when it has begun.
 */
static int
duplex_read(struct weir_context *ctx, struct duplex *d)
{
	if (!d->until_told)
		return weir_timeout(ctx, &d->sleep, 1000000,
				    weir_fd_wait(ctx, d->f, EPOLLIN));
	if (rig_get(&may_go_on))
		return -ETIMEDOUT;
	return weir_fd_wait(ctx, d->f, EPOLLIN);
}

static int
duplex_poll(struct weir_context *ctx, void *state)
{
	struct duplex *d = state;
	int rc = weir_fd_wait(ctx, d->f, EPOLLOUT);

	if (rc != WEIR_PENDING)
		return rc < 0 ? rc : d->given_up ? WEIR_DONE : -EPROTO;
	if (d->given_up)
		return WEIR_PENDING;
	rc = duplex_read(ctx, d);
	if (rc != -ETIMEDOUT)
		return rc < 0 ? rc : -EPROTO;
	weir_fd_cancel(d->f);
	d->given_up = true;
	rig_add(&given_up, 1);
	return WEIR_PENDING;
}

static void
wait_on_one_side_outlives_one_that_is_given_up(void **state)
{
	static const struct weir_task_ops ops = {
		.name = "duplex",
		.state_size = sizeof(struct duplex),
		.poll = duplex_poll,
	};
	unsigned int i;
	char byte = 0;

	for (i = 0; i < 2 * RTE_DIM(both); i++) {
		struct duplex d = { .until_told = i % 2 };
		struct weir_join *join;
		int fds[2];

		rig_set(&given_up, 0);
		rig_set(&may_go_on, 0);
		make_pair(fds);
		while (write(fds[0], &byte, 1) == 1)
			;
		d.f = add(fds[0], both[i / 2]);
		join = weir_task_spawn(rig.rt, &ops, &d, NULL);
		assert_non_null(join);
		if (d.until_told) {
			await_armed(2);
			rig_set(&may_go_on, 1);
			assert_int_equal(write(fds[1], &byte, 1), 1);
		}
		rig_wait_until(rig_get(&given_up) == 1);
		await_armed(1);
		while (read(fds[1], &byte, 1) == 1)
			;
		assert_int_equal(rig_join(join, NULL), 0);
		weir_fd_free(d.f);
		close_pair(fds);
	}
}

static void
one_waits_to_read_and_one_to_write(void **state)
{
	unsigned int i;
	char byte = 0;

	for (i = 0; i < RTE_DIM(both); i++) {
		struct weir_join *in, *out;
		struct weir_fd *f;
		int fds[2];

		make_pair(fds);
		while (write(fds[0], &byte, 1) == 1)
			;
		f = add(fds[0], both[i]);
		in = spawn_waiter(f, EPOLLIN | EPOLLRDHUP);
		await_armed(1);
		out = spawn_waiter(f, EPOLLOUT);
		await_armed(2);
		assert_int_equal(rig_join(spawn_waiter(f, EPOLLIN), NULL),
				 -EBUSY);
		assert_int_equal(rig_join(spawn_waiter(f, EPOLLOUT), NULL),
				 -EBUSY);
		assert_int_equal(
			rig_join(spawn_waiter(f, EPOLLIN | EPOLLOUT), NULL),
			-EBUSY);
		assert_int_equal(write(fds[1], &byte, 1), 1);
		expect(in, EPOLLIN);
		while (read(fds[1], &byte, 1) == 1)
			;
		expect(out, EPOLLOUT);
		weir_fd_free(f);
		close_pair(fds);
	}
}

/* E3 */
static void
one_that_waits_for_both_is_in_no_place_after_either(void **state)
{
	unsigned int i;
	char byte = 0;

	for (i = 0; i < RTE_DIM(both); i++) {
		struct weir_join *join;
		struct weir_fd *f;
		int fds[2];

		make_pair(fds);
		while (write(fds[0], &byte, 1) == 1)
			;
		f = add(fds[0], both[i]);
		join = spawn_waiter(f, EPOLLIN | EPOLLOUT);
		await_armed(2);
		assert_int_equal(write(fds[1], &byte, 1), 1);
		expect(join, EPOLLIN);
		await_armed(0);
		weir_fd_free(f);
		close_pair(fds);
	}
}

/* Waits for the first of two waits for one fd. */
struct selecting {
	struct weir_fd *f;
	const struct weir_branch *branches;
	struct weir_select select;
	uint32_t got;
};

static int
wait_in(struct weir_context *ctx, void *state)
{
	return weir_fd_wait(ctx, ((struct selecting *)state)->f, EPOLLIN);
}

static int
wait_hang_up(struct weir_context *ctx, void *state)
{
	return weir_fd_wait(ctx, ((struct selecting *)state)->f, EPOLLRDHUP);
}

static int
wait_in_or_out(struct weir_context *ctx, void *state)
{
	return weir_fd_wait(ctx, ((struct selecting *)state)->f,
			    EPOLLIN | EPOLLOUT);
}

/* It waits no more when what ends the other has come: it would be in its place again. */
static int
read_byte(struct weir_context *ctx, void *state)
{
	char byte;

	if (rig_get(&may_go_on))
		return WEIR_PENDING;
	return weir_fd_read(ctx, ((struct selecting *)state)->f, &byte, 1);
}

static int
select_poll(struct weir_context *ctx, void *state)
{
	struct selecting *s = state;
	int rc, n;

	n = weir_select_first(ctx, &s->select, s->branches, 2, s, &rc);
	if (n == WEIR_PENDING)
		rig_add(&waits, 1);
	if (n < 0)
		return n;
	if (rc < 0)
		return rc;
	s->got = (uint32_t)rc;
	return WEIR_DONE;
}

static const struct weir_task_ops select_ops = {
	.name = "fd select",
	.state_size = sizeof(struct selecting),
	.poll = select_poll,
	.result_offset = offsetof(struct selecting, got),
	.result_size = sizeof(uint32_t),
};

/* Its waits have begun when it returns, or the set was just being looked at. */
static struct weir_join *
spawn_select(struct weir_fd *f, const struct weir_branch *branches)
{
	const struct selecting s = { .f = f, .branches = branches };
	uint32_t before = rig_get(&waits);
	struct weir_join *join = weir_task_spawn(rig.rt, &select_ops, &s, NULL);

	assert_non_null(join);
	rig_wait_until(rig_get(&waits) > before);
	return join;
}

/* The other end sends something, or sends nothing any more. */
static void
end_either(unsigned int flags, const struct weir_branch *branches, bool sends)
{
	struct weir_join *join;
	struct weir_fd *f;
	uint32_t got = 0;
	char byte = 0;
	int fds[2];

	make_pair(fds);
	f = add(fds[0], flags);
	join = spawn_select(f, branches);
	if (sends)
		assert_int_equal(write(fds[1], &byte, 1), 1);
	else
		assert_return_code(shutdown(fds[1], SHUT_WR), errno);
	assert_int_equal(rig_join(join, &got), 0);
	assert_true(got == EPOLLIN || (!sends && got == EPOLLRDHUP));
	weir_fd_free(f);
	close_pair(fds);
}

/* E2 */
static void
either_of_two_waits_for_one_side_ends(void **state)
{
	static const struct weir_branch branches[][2] = {
		{ { wait_in, NULL }, { wait_hang_up, NULL } },
		{ { wait_hang_up, NULL }, { wait_in, NULL } },
	};
	unsigned int i, k;

	for (i = 0; i < RTE_DIM(both); i++)
		for (k = 0; k < RTE_DIM(branches); k++) {
			end_either(both[i], branches[k], true);
			end_either(both[i], branches[k], false);
		}
	await_armed(0);
}

static void
wait_for_both_goes_on_beside_one_to_read(void **state)
{
	static const struct weir_branch branches[] = {
		{ wait_in_or_out, NULL },
		{ read_byte, NULL },
	};
	unsigned int i;
	char byte = 0;

	for (i = 0; i < RTE_DIM(both); i++) {
		struct weir_join *join;
		struct weir_fd *f;
		int fds[2];

		make_pair(fds);
		while (write(fds[0], &byte, 1) == 1)
			;
		f = add(fds[0], both[i]);
		rig_set(&may_go_on, 0);
		join = spawn_select(f, branches);
		await_armed(2);
		rig_set(&may_go_on, 1);
		while (read(fds[1], &byte, 1) == 1)
			;
		expect(join, EPOLLOUT);
		/* E3 */
		await_armed(0);
		weir_fd_free(f);
		close_pair(fds);
	}
}

/* A socket that one can connect to at the address. */
static int
listen_at(struct sockaddr_in *address)
{
	struct sockaddr *at = (struct sockaddr *)address;
	socklen_t len = sizeof(*address);
	int listener = socket(AF_INET, SOCK_STREAM, 0);

	*address = (struct sockaddr_in){
		.sin_family = AF_INET,
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK),
	};
	assert_return_code(bind(listener, at, len), errno);
	assert_return_code(listen(listener, 1), errno);
	assert_return_code(getsockname(listener, at, &len), errno);
	return listener;
}

/* Connected; the first does not block. */
static void
make_tcp_pair(int fds[2])
{
	struct sockaddr_in here;
	int listener = listen_at(&here);

	fds[0] = socket(AF_INET, SOCK_STREAM, 0);
	assert_return_code(
		connect(fds[0], (struct sockaddr *)&here, sizeof(here)), errno);
	assert_return_code(fcntl(fds[0], F_SETFL, O_NONBLOCK), errno);
	fds[1] = accept(listener, NULL, NULL);
	assert_return_code(fds[1], errno);
	close(listener);
}

/* Beside one of the usual kind, which ends no wait for it. */
static void
urgent_byte_is_an_event_of_its_own(void **state)
{
	unsigned int i;
	char byte = 0;

	for (i = 0; i < RTE_DIM(both); i++) {
		int fds[2], other = make_eventfd(0);
		struct weir_fd *f, *g = add(other, 0);
		struct weir_join *join;

		make_tcp_pair(fds);
		f = add(fds[0], both[i]);
		join = spawn_waiter(f, EPOLLPRI);
		await_armed(1);
		assert_int_equal(send(fds[1], &byte, 1, 0), 1);
		/* When this is told, what came before was looked at. */
		raise_fd(other);
		expect(spawn_waiter(g, EPOLLIN), EPOLLIN);
		assert_int_equal(rig_get(&weir_fd_set_source(set)->armed), 1);
		assert_int_equal(send(fds[1], &byte, 1, MSG_OOB), 1);
		expect(join, EPOLLPRI);
		expect(spawn_waiter(f, EPOLLIN), EPOLLIN);
		weir_fd_free(f);
		weir_fd_free(g);
		close_pair(fds);
		close(other);
	}
}

/* E1: a socket that is not connected yet is hung up, whatever it is asked. */
static void
hang_up_from_before_a_wait_is_not_told(void **state)
{
	struct sockaddr_in here;
	socklen_t len = sizeof(here);
	int listener = listen_at(&here);
	char byte = 0;
	unsigned int i;

	for (i = 0; i < RTE_DIM(both); i++) {
		int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
		int other = make_eventfd(1), peer;
		struct weir_fd *f = add(fd, both[i]), *g = add(other, 0);
		struct weir_join *in;

		/* Found together with the hang-up, which nobody waits for. */
		expect(spawn_waiter(g, EPOLLIN), EPOLLIN);
		if (connect(fd, (struct sockaddr *)&here, len) < 0)
			assert_int_equal(errno, EINPROGRESS);
		in = spawn_waiter(f, EPOLLIN);
		expect(spawn_waiter(f, EPOLLOUT), EPOLLOUT);
		peer = accept(listener, NULL, NULL);
		assert_return_code(peer, errno);
		assert_int_equal(write(peer, &byte, 1), 1);
		expect(in, EPOLLIN);
		weir_fd_free(g);
		weir_fd_free(f);
		close(peer);
		close(other);
		close(fd);
	}
	close(listener);
}

static int
udp_socket(struct sockaddr_in *here)
{
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_NONBLOCK, 0);
	socklen_t len = sizeof(*here);

	assert_return_code(fd, errno);
	*here = (struct sockaddr_in){
		.sin_family = AF_INET,
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK),
	};
	assert_return_code(bind(fd, (struct sockaddr *)here, len), errno);
	assert_return_code(getsockname(fd, (struct sockaddr *)here, &len),
			   errno);
	return fd;
}

static void
connect_udp(int fd, const struct sockaddr_in *to)
{
	assert_return_code(
		connect(fd, (const struct sockaddr *)to, sizeof(*to)), errno);
}

static int
read_poll(struct weir_context *ctx, void *state)
{
	struct weir_fd *f = *(struct weir_fd **)state;
	char byte;
	int rc = weir_fd_read(ctx, f, &byte, 1);

	return rc < 0 ? rc : WEIR_DONE;
}

/* E1: nor is an error that a call has taken, though a waiter was told of it. */
static void
error_that_a_call_has_given_is_over(void **state)
{
	static const struct weir_task_ops ops = {
		.name = "fd reader",
		.state_size = sizeof(struct weir_fd *),
		.poll = read_poll,
	};
	struct sockaddr_in ours, theirs;
	char byte = 0;
	unsigned int i;

	for (i = 0; i < RTE_DIM(both); i++) {
		int fd = udp_socket(&ours), peer = udp_socket(&theirs);
		struct weir_fd *f = add(fd, both[i]);
		struct weir_join *join;

		/* It takes nothing from others. */
		connect_udp(peer, &theirs);
		connect_udp(fd, &theirs);
		join = weir_task_spawn(rig.rt, &ops, &f, NULL);
		assert_non_null(join);
		await_armed(1);
		assert_int_equal(send(fd, &byte, 1, 0), 1);
		assert_int_equal(rig_join(join, NULL), -ECONNREFUSED);
		join = spawn_waiter(f, EPOLLIN);
		connect_udp(peer, &ours);
		assert_int_equal(send(peer, &byte, 1, 0), 1);
		expect(join, EPOLLIN);
		weir_fd_free(f);
		close(fd);
		close(peer);
	}
}

static void
hang_up_is_told_to_both_sides(void **state)
{
	unsigned int i;
	char byte = 0;

	for (i = 0; i < RTE_DIM(both); i++) {
		struct weir_join *in, *out;
		struct weir_fd *f;
		uint32_t got = 0;
		int fds[2];

		make_pair(fds);
		while (write(fds[0], &byte, 1) == 1)
			;
		f = add(fds[0], both[i]);
		in = spawn_waiter(f, EPOLLIN);
		out = spawn_waiter(f, EPOLLOUT);
		await_armed(2);
		close(fds[1]);
		assert_int_equal(rig_join(in, &got), 0);
		assert_true(got & EPOLLHUP);
		assert_int_equal(rig_join(out, &got), 0);
		assert_true(got & EPOLLHUP);
		weir_fd_free(f);
		close(fds[0]);
	}
}

static void
close_wakes_the_waiters_with_its_error(void **state)
{
	unsigned int i;
	char byte = 0;

	for (i = 0; i < RTE_DIM(both); i++) {
		struct weir_join *in, *out;
		struct weir_fd *f;
		int fds[2];

		make_pair(fds);
		while (write(fds[0], &byte, 1) == 1)
			;
		f = add(fds[0], both[i]);
		in = spawn_waiter(f, EPOLLIN);
		out = spawn_waiter(f, EPOLLOUT);
		await_armed(2);
		weir_fd_close(f, ENODEV);
		weir_fd_close(f, EIO);
		assert_int_equal(rig_join(in, NULL), -ENODEV);
		assert_int_equal(rig_join(out, NULL), -ENODEV);
		assert_int_equal(rig_join(spawn_waiter(f, EPOLLIN), NULL),
				 -ENODEV);
		await_armed(0);
		/* It may come back. */
		weir_fd_free(add(fds[0], 0));
		weir_fd_free(f);
		close_pair(fds);
	}
}

static void
close_with_no_errno_counts_as_einval(void **state)
{
	static const int wrong[] = { 0, -EIO };
	unsigned int i;

	for (i = 0; i < RTE_DIM(wrong); i++) {
		struct weir_fd *f;
		int fds[2];

		make_pair(fds);
		f = add(fds[0], 0);
		weir_fd_close(f, wrong[i]);
		assert_int_equal(rig_join(spawn_waiter(f, EPOLLIN), NULL),
				 -EINVAL);
		weir_fd_free(f);
		close_pair(fds);
	}
}

static void
close_of_the_set_wakes_all(void **state)
{
	struct weir_join *joins[20];
	struct weir_fd *f[20];
	int fds[20];
	unsigned int i;

	for (i = 0; i < 20; i++) {
		fds[i] = make_eventfd(0);
		f[i] = add(fds[i], both[i % 2]);
		joins[i] = spawn_waiter(f[i], EPOLLIN);
	}
	await_armed(20);
	weir_source_alert(weir_fd_set_source(set), ENETDOWN);
	/* One is told, the others wait again. */
	await_armed(19);
	weir_source_close(weir_fd_set_source(set), ENODEV);
	for (i = 0; i < 20; i++) {
		int rc = rig_join(joins[i], NULL);

		assert_true(rc == -ENODEV || rc == -ENETDOWN);
		assert_int_equal(rig_join(spawn_waiter(f[i], EPOLLIN), NULL),
				 -ENODEV);
		weir_fd_free(f[i]);
		close(fds[i]);
	}
	await_armed(0);
}

static void
shutdown_ends_the_waiters(void **state)
{
	int fd = make_eventfd(0);
	struct weir_fd *f = add(fd, 0);
	struct weir_join *join = spawn_waiter(f, EPOLLIN);

	await_armed(1);
	assert_int_equal(weir_runtime_shutdown(rig.rt, UINT64_MAX, NULL), 0);
	assert_int_equal(rig_join(join, NULL), -ECANCELED);
	weir_fd_free(f);
	close(fd);
	rte_errno = 0;
	assert_null(weir_fd_set_create(rig.rt, 0, 0));
	assert_int_equal(rte_errno, ESHUTDOWN);
}

#define MANY 1000u
#define TURNS 8u
#define FDS (MANY + 200u) /* with all others of the process */

/* Can it have so many? A shell's limit is often 1024, which a process may raise. */
static bool
have_many_fds(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) != 0)
		return false;
	if (limit.rlim_cur >= FDS)
		return true;
	if (limit.rlim_max < FDS)
		return false;
	limit.rlim_cur = FDS;
	return setrlimit(RLIMIT_NOFILE, &limit) == 0;
}

static int many_fds[MANY];
static struct atomic_u32 raiser;

/* Each raises its share of the fds, by turns. */
static void *
raise_many(void *arg)
{
	uint32_t self = atomic_u32_fetch_add(&raiser, 1, RELAXED), i, k;

	for (k = 0; k < TURNS; k++)
		for (i = self; i < MANY; i += 3)
			raise_fd(many_fds[i]);
	return NULL;
}

struct counter {
	struct weir_fd *f;
	uint64_t count;
	uint64_t wanted;
};

static int
count_poll(struct weir_context *ctx, void *state)
{
	struct counter *c = state;
	uint64_t value;
	int n;

	while (c->count < c->wanted) {
		n = weir_fd_read(ctx, c->f, &value, sizeof(value));
		if (n < 0)
			return n;
		if (n != sizeof(value))
			return -EPROTO;
		c->count += value;
	}
	return WEIR_DONE;
}

static const struct weir_task_ops counter_ops = {
	.name = "fd counter",
	.state_size = sizeof(struct counter),
	.poll = count_poll,
	.result_offset = offsetof(struct counter, count),
	.result_size = sizeof(uint64_t),
};

static struct weir_join *
spawn_counter(struct weir_fd *f, uint64_t wanted)
{
	const struct counter c = { f, 0, wanted };
	struct weir_join *join =
		weir_task_spawn(rig.rt, &counter_ops, &c, NULL);

	assert_non_null(join);
	return join;
}

static void
thousand_fds_lose_nothing(void **state)
{
	static struct weir_join *joins[MANY];
	static struct weir_fd *f[MANY];
	uint64_t count;
	unsigned int i;

	if (!have_many_fds())
		unit_skip("needs more than a thousand fds: see ulimit -Hn");
	rig_set(&raiser, 0);
	for (i = 0; i < MANY; i++) {
		many_fds[i] = make_eventfd(0);
		f[i] = add(many_fds[i], both[i % 2]);
		joins[i] = spawn_counter(f[i], TURNS);
	}
	rig_threads(3, raise_many, NULL);
	for (i = 0; i < MANY; i++) {
		assert_int_equal(rig_join(joins[i], &count), 0);
		assert_int_equal(count, TURNS);
		weir_fd_free(f[i]);
		close(many_fds[i]);
	}
}

/* Waiters come and go beside whoever closes. */
static void *
close_some(void *arg)
{
	struct weir_fd **f = arg;
	uint32_t self = atomic_u32_fetch_add(&raiser, 1, RELAXED), i;

	for (i = self; i < 60; i += 3)
		weir_fd_close(f[i], ESTALE);
	return NULL;
}

static void
close_beside_waits_and_events_wakes_everyone(void **state)
{
	struct weir_join *joins[60];
	struct weir_fd *f[60];
	unsigned int i, round;
	int fds[60], rc;

	for (round = 0; round < 20; round++) {
		rig_set(&raiser, 0);
		for (i = 0; i < 60; i++) {
			fds[i] = make_eventfd(0);
			f[i] = add(fds[i], both[i % 2]);
			joins[i] = spawn_counter(f[i], 1 + i % 2);
			raise_fd(fds[i]);
		}
		rig_threads(3, close_some, f);
		for (i = 0; i < 60; i++) {
			rc = rig_join(joins[i], NULL);
			assert_true(rc == -ESTALE || (rc == 0 && i % 2 == 0));
			weir_fd_free(f[i]);
			close(fds[i]);
		}
	}
	await_armed(0);
}

/* Both ways over a stream, more than it holds. */
#define STREAM 400000u

struct stream {
	struct weir_fd *f;
	bool writes;
	bool messages; /* by sendmsg and recvmsg */
	uint32_t done;
};

static int
transfer(struct weir_context *ctx, const struct stream *s, unsigned char *bytes,
	 size_t size)
{
	struct iovec iov = { bytes, size };
	struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1 };

	if (s->messages)
		return s->writes ? weir_fd_sendmsg(ctx, s->f, &msg, 0) :
				   weir_fd_recvmsg(ctx, s->f, &msg, 0);
	return s->writes ? weir_fd_write(ctx, s->f, bytes, size) :
			   weir_fd_read(ctx, s->f, bytes, size);
}

static int
stream_poll(struct weir_context *ctx, void *state)
{
	struct stream *s = state;
	unsigned char bytes[1000];
	int n, i;

	while (s->done < STREAM) {
		for (i = 0; i < 1000; i++)
			bytes[i] =
				(unsigned char)((s->done + (uint32_t)i) * 7 >>
						3);
		n = transfer(ctx, s, bytes, 1000);
		if (n == WEIR_PENDING)
			rig_add(&waits, 1);
		if (n < 0)
			return n;
		for (i = 0; i < n; i++)
			if (bytes[i] !=
			    (unsigned char)((s->done + (uint32_t)i) * 7 >> 3))
				return -EPROTO;
		s->done += (uint32_t)n;
	}
	return WEIR_DONE;
}

static const struct weir_task_ops stream_ops = {
	.name = "stream",
	.state_size = sizeof(struct stream),
	.poll = stream_poll,
};

static void
streams_go_both_ways(void **state)
{
	struct weir_join *joins[4];
	struct weir_fd *f[2];
	int fds[2];
	unsigned int i, k;

	for (i = 0; i < 4; i++) {
		make_pair(fds);
		f[0] = add(fds[0], both[i % 2]);
		f[1] = add(fds[1], both[i % 2]);
		for (k = 0; k < 4; k++) {
			const struct stream s = { f[k / 2], k % 2, i / 2, 0 };

			joins[k] =
				weir_task_spawn(rig.rt, &stream_ops, &s, NULL);
		}
		for (k = 0; k < 4; k++)
			assert_int_equal(rig_join(joins[k], NULL), 0);
		weir_fd_free(f[0]);
		weir_fd_free(f[1]);
		close_pair(fds);
	}
	assert_int_not_equal(rig_get(&waits), 0);
}

static void
errors_of_calls_are_told(void **state)
{
	int fd = make_eventfd(1);
	struct weir_fd *f = add(fd, 0);
	struct stream s = { f, true, true, 0 };

	/* Not a socket. */
	assert_int_equal(weir_runtime_block_on(rig.rt, &stream_ops, &s, NULL),
			 -ENOTSOCK);
	weir_fd_close(f, EPIPE);
	assert_int_equal(weir_runtime_block_on(rig.rt, &stream_ops, &s, NULL),
			 -EPIPE);
	weir_fd_free(f);
	close(fd);
}

static void
timer_signal_and_event_fds_are_read(void **state)
{
	const struct itimerspec soon = { .it_value.tv_nsec = 1000000 };
	struct signalfd_siginfo info;
	struct weir_join *join;
	struct weir_fd *f;
	uint64_t count;
	sigset_t mask;
	int fd;

	fd = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK);
	f = add(fd, 0);
	join = spawn_counter(f, 1);
	assert_return_code(timerfd_settime(fd, 0, &soon, NULL), errno);
	assert_int_equal(rig_join(join, &count), 0);
	assert_int_equal(count, 1);
	weir_fd_free(f);
	close(fd);
	sigemptyset(&mask);
	sigaddset(&mask, SIGUSR2);
	fd = signalfd(-1, &mask, SFD_NONBLOCK);
	f = add(fd, WEIR_FD_EDGE);
	join = spawn_waiter(f, EPOLLIN);
	await_armed(1);
	assert_return_code(kill(getpid(), SIGUSR2), errno);
	expect(join, EPOLLIN);
	assert_int_equal(read(fd, &info, sizeof(info)), sizeof(info));
	assert_int_equal(info.ssi_signo, SIGUSR2);
	weir_fd_free(f);
	close(fd);
}

static void
neighbour_looks_for_a_worker_that_is_stuck(void **state)
{
	int fd = make_eventfd(0);
	struct weir_fd *f = add(fd, 0);
	struct weir_join *join = spawn_waiter(f, EPOLLIN);
	struct weir_source_stats stats;
	struct rig_blockers b;

	await_armed(1);
	/* One that sleeps long has no end here to its sleep. */
	assert_int_equal(weir_worker_park_set(rig.rt, 0, WEIR_PARK_POLL), 0);
	rig_block_some(&b, rig.rt, 1u << last_worker());
	raise_fd(fd);
	expect(join, EPOLLIN);
	weir_source_stats_get(weir_fd_set_source(set), &stats);
	assert_int_equal(stats.rescues, 1);
	rig_unblock(&b);
	weir_fd_free(f);
	close(fd);
}

/* The set goes with its worker, and all fds with the set. */
static void
set_moves_with_its_fds(void **state)
{
	struct weir_source *source = weir_fd_set_source(set);
	struct weir_join *joins[10];
	struct weir_fd *f[10];
	unsigned int i, k;
	int fds[10];

	for (i = 0; i < 10; i++) {
		fds[i] = make_eventfd(0);
		f[i] = add(fds[i], both[i % 2]);
	}
	for (k = 0; k < 20; k++) {
		for (i = 0; i < 10; i++) {
			struct waiter w = { f[i], EPOLLIN, 1, true, fds[i], 0 };

			joins[i] = spawn_waiter_of(&w);
		}
		await_armed(10);
		rig_wait_until(kernel_all_asleep(rig.rt) || k % 2);
		assert_int_equal(weir_source_move(source, rig.rt, k % 2), 0);
		for (i = 0; i < 10; i++)
			raise_fd(fds[i]);
		for (i = 0; i < 10; i++)
			expect(joins[i], EPOLLIN);
	}
	joins[0] = spawn_waiter(f[0], EPOLLIN);
	await_armed(1);
	assert_int_equal(weir_worker_retire(rig.rt, weir_source_worker(source),
					    !weir_source_worker(source)),
			 0);
	raise_fd(fds[0]);
	expect(joins[0], EPOLLIN);
	for (i = 0; i < 10; i++) {
		weir_fd_free(f[i]);
		close(fds[i]);
	}
}

/* Long sleeps have no end here: nothing but the fd ends one. */
static void
fd_wakes_a_worker_that_sleeps(void **state)
{
	int fd = make_eventfd(0);
	struct weir_fd *f = add(fd, 0);
	struct waiter w = { f, EPOLLIN, 50, true, fd, 0 };
	struct weir_join *join;
	uint32_t k;

	weir_fd_set_source(set)->trusted = true;
	join = spawn_waiter_of(&w);
	for (k = 0; k < 50; k++) {
		await_armed(1);
		rig_wait_until(kernel_all_asleep(rig.rt));
		raise_fd(fd);
		rig_wait_until(rig_get(&goes) > k);
	}
	expect(join, EPOLLIN);
	assert_int_equal(atomic_u64_load(&weir_fd_set_source(set)->polled_until,
					 RELAXED),
			 0);
	weir_fd_free(f);
	close(fd);
}

/* D2. Counted by the wrap at the end of this file. */
static struct atomic_u32 looks;

/*
 * As many as there can be in so many cycles: one at once, and one behind each gap,
 * of 1, 2, 4 ... us, which for an idle worker are a 16th of the longest at most.
 */
static uint32_t
most_looks(uint64_t cycles)
{
	const uint64_t longest = cycles_of_us(WEIR_FD_GAP_MAX_US) / 16;
	uint64_t gap = cycles_of_us(1);
	uint32_t n;

	for (n = 1; cycles >= gap; n++) {
		cycles -= gap;
		gap = RTE_MIN(2 * gap, longest);
	}
	return n;
}

static void
looks_become_rare_while_nothing_comes(void **state)
{
	struct weir_worker_stats before, after;
	int fd = make_eventfd(0);
	struct weir_fd_set *rare =
		weir_fd_set_create(rig.rt, 0, WEIR_FD_GAP_MAX_US);
	struct weir_fd *f = add_to(rare, fd, 0);
	struct weir_join *join;
	uint64_t since;
	uint32_t n;

	since = rte_rdtsc();
	rig_set(&looks, 0);
	join = spawn_waiter(f, EPOLLIN);
	rig_wait_until(rig_get(&weir_fd_set_source(rare)->armed));
	weir_worker_stats_get(rig.rt, 0, &before);
	rig_wait_until((weir_worker_stats_get(rig.rt, 0, &after),
			after.source_polls > before.source_polls + 20000));
	n = rig_get(&looks);
	assert_uint_in_range(n, 1, most_looks(rte_rdtsc() - since));
	/* A wait of any fd of the set begins anew. */
	weir_fd_close(f, ECANCELED);
	assert_int_equal(rig_join(join, NULL), -ECANCELED);
	weir_fd_free(f);
	raise_fd(fd);
	f = add_to(rare, fd, 0);
	expect(spawn_waiter(f, EPOLLIN), EPOLLIN);
	weir_fd_free(f);
	weir_fd_set_free(rare);
	close(fd);
}

static bool
gap_is_longest(struct weir_fd_set *of)
{
	bool is;

	weir_source_lock(of);
	is = of->gap == of->max_gap;
	weir_source_unlock(of);
	return is;
}

static void
idle_worker_looks_sooner_than_a_busy_one(void **state)
{
	struct weir_fd_set *seldom = weir_fd_set_create(rig.rt, 0, 16);
	struct weir_source *source = weir_fd_set_source(seldom);
	int fd = make_eventfd(0);
	struct weir_fd *f = add_to(seldom, fd, 0);
	struct weir_join *join = spawn_waiter(f, EPOLLIN);
	uint64_t busy, idle;

	rig_wait_until(gap_is_longest(seldom));
	weir_source_lock(seldom);
	busy = atomic_u64_load(&source->not_before, RELAXED);
	idle = atomic_u64_load(&source->idle_not_before, RELAXED);
	assert_int_equal(busy - idle, seldom->gap - seldom->gap / 16);
	/* What a new waiter waits for may be there. */
	fd_set_look_soon(seldom);
	assert_int_equal(atomic_u64_load(&source->not_before, RELAXED), 0);
	assert_int_equal(atomic_u64_load(&source->idle_not_before, RELAXED), 0);
	weir_source_unlock(seldom);
	raise_fd(fd);
	expect(join, EPOLLIN);
	weir_fd_free(f);
	weir_fd_set_free(seldom);
	close(fd);
}

/* With one unit of budget left, which a call that has to wait does not spend. */
static int
read_sparingly(struct weir_context *ctx, void *state)
{
	struct weir_fd *f = *(struct weir_fd **)state;
	struct weir_options o;
	uint64_t count;
	int n;

	rig_options(&o, 1);
	weir_context_spend(ctx, o.budget - 1);
	n = weir_fd_read(ctx, f, &count, sizeof(count));
	return n < 0 ? n : WEIR_DONE;
}

static const struct weir_task_ops sparing_ops = {
	.name = "sparing",
	.state_size = sizeof(struct weir_fd *),
	.poll = read_sparingly,
};

static void
wait_needs_no_budget(void **state)
{
	int fd = make_eventfd(0);
	struct weir_fd *f = add(fd, 0);
	struct weir_join *join =
		weir_task_spawn(rig.rt, &sparing_ops, &f, NULL);

	assert_non_null(join);
	await_armed(1);
	raise_fd(fd);
	assert_int_equal(rig_join(join, NULL), 0);
	assert_int_equal(rig_stats(rig.rt).forced_yields, 0);
	weir_fd_free(f);
	close(fd);
}

static void *
make_set(void)
{
	return weir_fd_set_create(rig.rt, 0, 0);
}

static void
set_that_is_refused_leaves_no_fd(void **state)
{
	const unsigned int before = rig_open_fds();

	kernel_expect_none_without_fds(make_set);
	assert_null(weir_fd_set_create(rig.rt, last_worker() + 1, 0));
	assert_int_equal(rte_errno, EINVAL);
	assert_int_equal(rig_open_fds(), before);
	weir_fd_set_free(weir_fd_set_create(rig.rt, 0, 0));
	assert_int_equal(rig_open_fds(), before);
}

/* The user has as many in epoll sets as the kernel allows. */
static void
fd_that_the_kernel_has_no_room_for_is_refused(void **state)
{
	const size_t before = rig_heap_in_use();
	int fd = make_eventfd(0);
	unsigned int i;

	for (i = 0; i < RTE_DIM(both); i++) {
		kernel.no_watches = true;
		rte_errno = 0;
		assert_null(weir_fd_create(set, fd, both[i]));
		kernel.no_watches = false;
		assert_int_equal(rte_errno, ENOSPC);
		assert_int_equal(rig_heap_in_use(), before);
		weir_fd_free(add(fd, both[i]));
	}
	close(fd);
}

/* Closed behind the set's back, and its number is one's that is not in the set. */
static void
wait_for_a_number_that_was_given_to_another_is_refused(void **state)
{
	int fd = make_eventfd(0), other = make_eventfd(1);
	struct weir_fd *f = add(fd, 0);

	assert_return_code(dup2(other, fd), errno);
	assert_int_equal(rig_join(spawn_waiter(f, EPOLLIN), NULL), -ENOENT);
	await_armed(0);
	weir_fd_free(f);
	weir_fd_free(add(fd, 0));
	close(fd);
	close(other);
}

static void
bad_fds_are_refused(void **state)
{
	int fd = make_eventfd(0), blocking = eventfd(0, 0);
	struct weir_fd *f = add(fd, 0);
	int file = memfd_create("file", 0);
	const struct {
		int fd;
		unsigned int flags;
		int error;
	} rows[] = {
		{ fd, 0, EEXIST },     { fd, WEIR_FD_EDGE, EEXIST },
		{ file, 0, EPERM },    { -1, 0, EBADF },
		{ 1000000, 0, EBADF }, { blocking, 0, EINVAL },
		{ fd, 2, EINVAL },
	};
	unsigned int i;

	assert_return_code(file, errno);
	for (i = 0; i < RTE_DIM(rows); i++) {
		rte_errno = 0;
		assert_null(weir_fd_create(set, rows[i].fd, rows[i].flags));
		assert_int_equal(rte_errno, rows[i].error);
	}
	weir_fd_free(NULL);
	/* Refused is not in it. */
	assert_return_code(fcntl(blocking, F_SETFL, O_NONBLOCK), errno);
	weir_fd_free(add(blocking, 0));
	weir_fd_free(f);
	close(fd);
	close(blocking);
	close(file);
}

static void
bad_sets_and_waits_are_refused(void **state)
{
	int fd = make_eventfd(0);
	struct weir_fd *f = add(fd, 0);

	rte_errno = 0;
	assert_null(weir_fd_set_create(rig.rt, last_worker() + 1, 0));
	assert_int_equal(rte_errno, EINVAL);
	rte_errno = 0;
	assert_null(weir_fd_set_create(rig.rt, 0, WEIR_FD_GAP_MAX_US + 1));
	assert_int_equal(rte_errno, EINVAL);
	weir_fd_set_free(NULL);
	assert_int_equal(rig_join(spawn_waiter(f, 0), NULL), -EINVAL);
	assert_int_equal(rig_join(spawn_waiter(f, EPOLLET), NULL), -EINVAL);
	assert_int_equal(rig_join(spawn_waiter(f, EPOLLIN | EPOLLHUP), NULL),
			 -EINVAL);
	/* Closed behind the set's back: a level wait notices. */
	close(fd);
	assert_int_equal(rig_join(spawn_waiter(f, EPOLLIN), NULL), -EBADF);
	await_armed(0);
	weir_fd_free(f);
}

int
__real_epoll_wait(int epfd, struct epoll_event *events, int n, int timeout);
int
__wrap_epoll_wait(int epfd, struct epoll_event *events, int n, int timeout);

int
__wrap_epoll_wait(int epfd, struct epoll_event *events, int n, int timeout)
{
	if (timeout == 0)
		rig_add(&looks, 1);
	return __real_epoll_wait(epfd, events, n, timeout);
}

int
__real_epoll_ctl(int epfd, int op, int fd, struct epoll_event *event);
int
__wrap_epoll_ctl(int epfd, int op, int fd, struct epoll_event *event);

int
__wrap_epoll_ctl(int epfd, int op, int fd, struct epoll_event *event)
{
	if (op != EPOLL_CTL_ADD || !kernel.no_watches)
		return __real_epoll_ctl(epfd, op, fd, event);
	errno = ENOSPC;
	return -1;
}

#define TEST_WITH(setup_, name, workers) \
	UNIT_TEST(name, setup_, teardown, workers)
#define TEST(name, workers) TEST_WITH(setup, name, workers)
#define TESTS(name) TEST(name, 1), TEST(name, 2), TEST(name, 3)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TESTS(fd_that_is_ready_is_told),
		TESTS(waiter_is_woken_when_the_fd_becomes_ready),
		TESTS(level_and_edge_differ),
		TESTS(edge_outlives_a_waiter_that_was_cancelled),
		TESTS(cancelled_waiter_gives_its_place_up),
		TEST_WITH(setup_polling,
			  wait_that_is_given_up_leaves_its_places, 1),
		TEST_WITH(setup_polling,
			  wait_that_is_given_up_leaves_its_places, 3),
		TESTS(wait_on_one_side_outlives_one_that_is_given_up),
		TESTS(one_waits_to_read_and_one_to_write),
		TESTS(one_that_waits_for_both_is_in_no_place_after_either),
		TESTS(either_of_two_waits_for_one_side_ends),
		TESTS(wait_for_both_goes_on_beside_one_to_read),
		TESTS(hang_up_from_before_a_wait_is_not_told),
		TESTS(error_that_a_call_has_given_is_over),
		TESTS(hang_up_is_told_to_both_sides),
		TESTS(urgent_byte_is_an_event_of_its_own),
		TESTS(close_wakes_the_waiters_with_its_error),
		TESTS(close_with_no_errno_counts_as_einval),
		TESTS(close_of_the_set_wakes_all),
		TESTS(shutdown_ends_the_waiters),
		TESTS(thousand_fds_lose_nothing),
		TESTS(close_beside_waits_and_events_wakes_everyone),
		TESTS(streams_go_both_ways),
		TEST(errors_of_calls_are_told, 2),
		TEST(timer_signal_and_event_fds_are_read, 2),
		TEST(neighbour_looks_for_a_worker_that_is_stuck, 2),
		TEST(set_moves_with_its_fds, 2),
		TESTS(fd_wakes_a_worker_that_sleeps),
		TEST_WITH(setup_polling, looks_become_rare_while_nothing_comes,
			  1),
		TEST_WITH(setup_polling,
			  idle_worker_looks_sooner_than_a_busy_one, 1),
		TEST(wait_needs_no_budget, 1),
		TESTS(set_that_is_refused_leaves_no_fd),
		TEST(fd_that_the_kernel_has_no_room_for_is_refused, 2),
		TEST(wait_for_a_number_that_was_given_to_another_is_refused, 2),
		TEST(bad_fds_are_refused, 2),
		TEST(bad_sets_and_waits_are_refused, 2),
	};

	sigset_t mask;

	/* Before there are other threads: for the signalfd, none may take it. */
	sigemptyset(&mask);
	sigaddset(&mask, SIGUSR2);
	pthread_sigmask(SIG_BLOCK, &mask, NULL);
	return cmocka_run_group_tests(tests, unit_eal_setup, unit_eal_teardown);
}
