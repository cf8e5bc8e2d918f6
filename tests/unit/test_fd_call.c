/* SPDX-License-Identifier: BSD-3-Clause */

/* System calls that wait: drivers/fd/call.c. Sockets are on the loopback. */

#include "unit.h"

#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <rte_errno.h>

#include "rig.h"
#include "weir_fd.h"

static struct weir_fd_set *set;
static struct atomic_u32 waits; /* PENDING, of all tasks */

static struct atomic_u32 no_fd;	      /* left to be had, for a connection */
static struct atomic_u32 interrupted; /* the next connect(2) is, by a signal */

int
__real_connect(int fd, const struct sockaddr *addr, socklen_t len);
int
__wrap_connect(int fd, const struct sockaddr *addr, socklen_t len);

int
__wrap_connect(int fd, const struct sockaddr *addr, socklen_t len)
{
	if (atomic_u32_exchange(&interrupted, 0, ACQ_REL)) {
		errno = EINTR;
		return -1;
	}
	return __real_connect(fd, addr, len);
}

int
__real_accept4(int fd, struct sockaddr *addr, socklen_t *len, int flags);
int
__wrap_accept4(int fd, struct sockaddr *addr, socklen_t *len, int flags);

int
__wrap_accept4(int fd, struct sockaddr *addr, socklen_t *len, int flags)
{
	if (rig_get(&no_fd)) {
		errno = EMFILE;
		return -1;
	}
	return __real_accept4(fd, addr, len, flags);
}

static int
setup(void **state)
{
	int rc = rig_setup(state);

	rig_set(&waits, 0);
	set = weir_fd_set_create(rig.rt, 0, 0);
	assert_non_null(set);
	return rc;
}

static int
teardown(void **state)
{
	weir_fd_set_free(set);
	return rig_teardown(state);
}

static struct weir_fd *
add(int fd, unsigned int flags)
{
	struct weir_fd *f = weir_fd_create(set, fd, flags);

	if (f == NULL)
		fail_msg("weir_fd_create: %s", rte_strerror(rte_errno));
	return f;
}

static const unsigned int both[2] = { 0, WEIR_FD_EDGE };

/* An address that was bound, of a socket of either kind. */
struct address {
	union {
		struct sockaddr any;
		struct sockaddr_in in;
		struct sockaddr_un un;
	};
	socklen_t len;
};

static int
make_socket(int family)
{
	int fd = socket(family, SOCK_STREAM | SOCK_NONBLOCK, 0);

	assert_return_code(fd, errno);
	return fd;
}

/* On a port, or under a name, that the kernel chooses. */
static int
bind_socket(int family, struct address *at)
{
	int fd = make_socket(family);

	memset(at, 0, sizeof(*at));
	at->any.sa_family = (sa_family_t)family;
	at->len = sizeof(sa_family_t);
	if (family == AF_INET) {
		at->in.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
		at->len = sizeof(at->in);
	}
	assert_return_code(bind(fd, &at->any, at->len), errno);
	at->len = sizeof(at->un);
	assert_return_code(getsockname(fd, &at->any, &at->len), errno);
	return fd;
}

static int
listen_socket(int family, int backlog, struct address *at)
{
	int fd = bind_socket(family, at);

	assert_return_code(listen(fd, backlog), errno);
	return fd;
}

static int
take_connection(int listener)
{
	int fd = accept(listener, NULL, NULL);

	assert_return_code(fd, errno);
	return fd;
}

#define CLIENTS 8u
#define BYTES 400000u

static unsigned char
byte_at(size_t i)
{
	return (unsigned char)(i * 7 >> 3);
}

/* Accepts so many, one after the other, and sends to each what is too much at once. */
struct server {
	struct weir_fd *listener;
	unsigned int left;
	int fd; /* of the one that is served, or -1 */
	struct weir_fd *f;
	size_t done;
};

static int
serve(struct weir_context *ctx, struct server *s)
{
	static unsigned char bytes[BYTES];
	struct address from;
	size_t i;
	int rc;

	if (s->f == NULL) {
		from.len = sizeof(from.un);
		rc = weir_fd_accept(ctx, s->listener, &from.any, &from.len,
				    SOCK_NONBLOCK);
		if (rc < 0)
			return rc;
		s->fd = rc;
		s->f = weir_fd_create(set, s->fd, 0);
		s->done = 0;
		if (s->f == NULL || from.any.sa_family != AF_INET)
			return -EPROTO;
		for (i = 0; i < BYTES; i++)
			bytes[i] = byte_at(i);
	}
	rc = weir_fd_write_all(ctx, s->f, bytes, BYTES, &s->done);
	if (rc < 0)
		return rc;
	weir_fd_free(s->f);
	s->f = NULL;
	close(s->fd);
	s->fd = -1;
	s->left--;
	return 0;
}

static int
server_poll(struct weir_context *ctx, void *state)
{
	struct server *s = state;
	int rc;

	while (s->left > 0) {
		rc = serve(ctx, s);
		if (rc == WEIR_PENDING)
			rig_add(&waits, 1);
		if (rc < 0)
			return rc;
	}
	return WEIR_DONE;
}

static void
server_drop(void *state)
{
	struct server *s = state;

	weir_fd_free(s->f);
	if (s->fd >= 0)
		close(s->fd);
}

static const struct weir_task_ops server_ops = {
	.name = "server",
	.state_size = sizeof(struct server),
	.poll = server_poll,
	.drop = server_drop,
};

/* Connects, and reads so many bytes, behind which there are no more. */
struct client {
	struct weir_fd *f;
	struct address to;
	size_t bytes;
	size_t done;
	bool connected;
	bool twice; /* in each poll */
	unsigned char got[BYTES + 1];
};

static int
client_run(struct weir_context *ctx, struct client *c)
{
	size_t i;
	int rc;

	if (!c->connected) {
		rc = weir_fd_connect(ctx, c->f, &c->to.any, c->to.len);
		if (rc == WEIR_PENDING && c->twice)
			rc = weir_fd_connect(ctx, c->f, &c->to.any, c->to.len);
		if (rc < 0 || c->bytes == 0)
			return rc;
		c->connected = true;
	}
	if (c->done < c->bytes) {
		rc = weir_fd_read_all(ctx, c->f, c->got, c->bytes, &c->done);
		if (rc < 0)
			return rc;
	}
	/* One more that there is not. */
	rc = weir_fd_read_all(ctx, c->f, c->got, c->bytes + 1, &c->done);
	if (rc != -ENODATA)
		return rc == 0 ? -EPROTO : rc;
	for (i = 0; i < c->bytes; i++)
		if (c->got[i] != byte_at(i))
			return -EBADMSG;
	return c->done == c->bytes ? 0 : -EPROTO;
}

static int
client_poll(struct weir_context *ctx, void *state)
{
	int rc = client_run(ctx, *(struct client **)state);

	if (rc == WEIR_PENDING)
		rig_add(&waits, 1);
	return rc;
}

static const struct weir_task_ops client_ops = {
	.name = "client",
	.state_size = sizeof(struct client *),
	.poll = client_poll,
};

static struct weir_join *
spawn_client(struct client *c, struct weir_fd *f, const struct address *to,
	     size_t bytes)
{
	struct weir_join *join;

	c->f = f;
	c->to = *to;
	c->bytes = bytes;
	c->done = 0;
	c->connected = false;
	join = weir_task_spawn(rig.rt, &client_ops, &c, NULL);
	assert_non_null(join);
	return join;
}

/* Connects, and says what came of it. */
static int
connect_to(int fd, unsigned int flags, const struct address *to)
{
	static struct client c;
	struct weir_fd *f = add(fd, flags);
	int rc = rig_join(spawn_client(&c, f, to, 0), NULL);

	weir_fd_free(f);
	return rc;
}

static void
connections_are_made_and_accepted(void **state)
{
	static struct client clients[CLIENTS];
	struct weir_join *server, *joins[CLIENTS];
	struct weir_fd *f[CLIENTS];
	struct address at;
	unsigned int i, k;
	int fds[CLIENTS];

	for (k = 0; k < 2; k++) {
		const int fd = listen_socket(AF_INET, CLIENTS, &at);
		const struct server s = {
			.listener = add(fd, both[k]),
			.left = CLIENTS,
			.fd = -1,
		};

		server = weir_task_spawn(rig.rt, &server_ops, &s, NULL);
		/* It waits for a connection. */
		rig_wait_until(rig_get(&waits) > 0);
		for (i = 0; i < CLIENTS; i++) {
			fds[i] = make_socket(AF_INET);
			f[i] = add(fds[i], both[i % 2]);
			joins[i] = spawn_client(&clients[i], f[i], &at, BYTES);
		}
		for (i = 0; i < CLIENTS; i++) {
			assert_int_equal(rig_join(joins[i], NULL), 0);
			weir_fd_free(f[i]);
			close(fds[i]);
		}
		assert_int_equal(rig_join(server, NULL), 0);
		weir_fd_free(s.listener);
		close(fd);
		rig_set(&waits, 0);
	}
}

/* Nobody listens there. */
static void
connection_that_is_refused_says_so(void **state)
{
	struct address at;
	const int bound = bind_socket(AF_INET, &at);
	unsigned int k;
	int fd;

	for (k = 0; k < 2; k++) {
		fd = make_socket(AF_INET);
		assert_int_equal(connect_to(fd, both[k], &at), -ECONNREFUSED);
		/* The same socket may try again. */
		assert_int_equal(connect_to(fd, both[k], &at), -ECONNREFUSED);
		close(fd);
	}
	close(bound);
}

/*
 * A connection that the listener has no room for: the kernel has dropped its first
 * packet, and sends another a second later.
 */
static struct {
	struct address at;
	int listener, first, fd;
	struct weir_fd *f;
	struct client client;
	struct weir_join *join;
} late;

static void
begin_late(unsigned int flags)
{
	struct pollfd ready = { .events = POLLIN };

	late.listener = listen_socket(AF_INET, 0, &late.at);
	ready.fd = late.listener;
	late.first = make_socket(AF_INET);
	assert_int_equal(connect_to(late.first, 0, &late.at), 0);
	/* The listener has it, and so no more room. */
	assert_int_equal(poll(&ready, 1, -1), 1);
	rig_set(&waits, 0);
	late.fd = make_socket(AF_INET);
	late.f = add(late.fd, flags);
	late.client.twice = true;
	late.join = spawn_client(&late.client, late.f, &late.at, 0);
	rig_wait_until(rig_get(&waits) > 0);
	assert_false(weir_join_ended(late.join));
}

static void
end_late(int outcome)
{
	assert_int_equal(rig_join(late.join, NULL), outcome);
	weir_fd_free(late.f);
	close(late.fd);
	close(late.first);
	close(late.listener);
}

static void
connection_under_way_can_be_given_up(void **state)
{
	unsigned int k;

	for (k = 0; k < 2; k++) {
		begin_late(both[k]);
		weir_fd_close(late.f, ESTALE);
		end_late(-ESTALE);
		begin_late(both[k]);
		weir_join_abort(late.join);
		end_late(-ECANCELED);
	}
}

static void
connection_under_way_is_waited_for(void **state)
{
	int fd;

	begin_late(0);
	fd = take_connection(late.listener);
	end_late(0);
	close(fd);
}

static void
unix_listener_without_room_says_so(void **state)
{
	struct address at;
	const int listener = listen_socket(AF_UNIX, 0, &at);
	int fds[2], fd;

	fds[0] = make_socket(AF_UNIX);
	fds[1] = make_socket(AF_UNIX);
	rig_set(&interrupted, 1);
	assert_int_equal(connect_to(fds[0], 0, &at), 0);
	assert_int_equal(rig_get(&interrupted), 0);
	assert_int_equal(connect_to(fds[1], 0, &at), -EAGAIN);
	close(take_connection(listener));
	assert_int_equal(connect_to(fds[1], 0, &at), 0);
	fd = take_connection(listener);
	assert_int_equal(connect_to(fds[1], 0, &at), -EISCONN);
	close(fd);
	close(fds[0]);
	close(fds[1]);
	close(listener);
}

static int
accept_one(struct weir_context *ctx, void *state)
{
	return weir_fd_accept(ctx, *(struct weir_fd **)state, NULL, NULL, 0);
}

static const struct weir_task_ops accept_ops = {
	.name = "accept",
	.state_size = sizeof(struct weir_fd *),
	.poll = accept_one,
};

/* For errors: a task has no fd for an outcome. */
static int
accept_error(struct weir_fd *listener)
{
	return weir_runtime_block_on(rig.rt, &accept_ops, &listener, NULL);
}

static void
accept_says_what_is_wrong(void **state)
{
	struct address at;
	const int listener = listen_socket(AF_UNIX, 1, &at);
	struct weir_fd *f = add(listener, 0);
	int fd = make_socket(AF_UNIX), rc;

	assert_int_equal(connect_to(fd, 0, &at), 0);
	rig_set(&no_fd, 1);
	rc = accept_error(f);
	rig_set(&no_fd, 0);
	assert_int_equal(rc, -EMFILE);
	weir_fd_free(f);
	/* One that does not listen. */
	f = add(fd, 0);
	assert_int_equal(accept_error(f), -EINVAL);
	weir_fd_free(f);
	close(fd);
	close(listener);
}

static void
make_pair(int fds[2])
{
	assert_return_code(
		socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, fds),
		errno);
}

/* Reads or writes all of a buffer. */
struct all {
	struct weir_fd *f;
	bool writes;
	unsigned char *bytes;
	size_t size;
	size_t *done;
};

static int
all_poll(struct weir_context *ctx, void *state)
{
	struct all *a = state;
	int rc;

	rc = a->writes ?
		     weir_fd_write_all(ctx, a->f, a->bytes, a->size, a->done) :
		     weir_fd_read_all(ctx, a->f, a->bytes, a->size, a->done);
	if (rc == WEIR_PENDING)
		rig_add(&waits, 1);
	return rc;
}

static const struct weir_task_ops all_ops = {
	.name = "all",
	.state_size = sizeof(struct all),
	.poll = all_poll,
};

static void
what_went_before_an_error_is_told(void **state)
{
	static unsigned char bytes[BYTES], got[BYTES];
	size_t done = 0, n = 0;
	struct all a = { .bytes = got, .size = 8, .done = &done };
	const int room = BYTES / 8;
	struct weir_join *join;
	ssize_t rc;
	int fds[2];

	make_pair(fds);
	a.f = add(fds[0], 0);
	/* Three of eight bytes, and then the end of what comes. */
	assert_int_equal(write(fds[1], "abc", 3), 3);
	join = weir_task_spawn(rig.rt, &all_ops, &a, NULL);
	rig_wait_until(rig_get(&waits) > 0);
	assert_return_code(shutdown(fds[1], SHUT_WR), errno);
	assert_int_equal(rig_join(join, NULL), -ENODATA);
	assert_int_equal(done, 3);
	assert_memory_equal(got, "abc", 3);

	/* More than there is room for. */
	assert_return_code(
		setsockopt(fds[0], SOL_SOCKET, SO_SNDBUF, &room, sizeof(room)),
		errno);
	rig_set(&waits, 0);
	done = 0;
	a.writes = true;
	a.bytes = bytes;
	a.size = sizeof(bytes);
	join = weir_task_spawn(rig.rt, &all_ops, &a, NULL);
	rig_wait_until(rig_get(&waits) > 0);
	weir_fd_close(a.f, ESTALE);
	assert_int_equal(rig_join(join, NULL), -ESTALE);
	while ((rc = read(fds[1], got, sizeof(got))) > 0)
		n += (size_t)rc;
	assert_int_equal(done, n);
	assert_uint_in_range(done, 1, BYTES - 1);
	weir_fd_free(a.f);
	close(fds[0]);
	close(fds[1]);
}

static void
nothing_at_all_is_done_at_once(void **state)
{
	size_t done = 0;
	struct all a = { .done = &done };
	int fds[2];

	make_pair(fds);
	a.f = add(fds[0], 0);
	assert_int_equal(weir_runtime_block_on(rig.rt, &all_ops, &a, NULL), 0);
	a.writes = true;
	assert_int_equal(weir_runtime_block_on(rig.rt, &all_ops, &a, NULL), 0);
	assert_int_equal(rig_get(&waits), 0);
	weir_fd_free(a.f);
	close(fds[0]);
	close(fds[1]);
}

#define TEST(name, workers) UNIT_TEST(name, setup, teardown, workers)
#define TESTS(name) TEST(name, 1), TEST(name, 2), TEST(name, 3)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TESTS(connections_are_made_and_accepted),
		TESTS(connection_that_is_refused_says_so),
		TEST(connection_under_way_can_be_given_up, 2),
		TEST(connection_under_way_is_waited_for, 2),
		TEST(unix_listener_without_room_says_so, 2),
		TEST(accept_says_what_is_wrong, 2),
		TESTS(what_went_before_an_error_is_told),
		TEST(nothing_at_all_is_done_at_once, 1),
	};

	return cmocka_run_group_tests(tests, unit_eal_setup, unit_eal_teardown);
}
