/* SPDX-License-Identifier: BSD-3-Clause */

/* Stacks of fibers: sizes, reuse, how deep they were used, and their ends. */

#include "unit.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "rig.h"
#include "sched/scheduler.h"

/* The next maps that fail. */
static struct atomic_u32 failing_maps;

void *
__real_mmap64(void *address, size_t size, int protection, int flags, int fd,
	      off_t offset);
void *
__wrap_mmap64(void *address, size_t size, int protection, int flags, int fd,
	      off_t offset);

void *
__wrap_mmap64(void *address, size_t size, int protection, int flags, int fd,
	      off_t offset)
{
	if (rig_get(&failing_maps) > 0) {
		atomic_u32_fetch_sub(&failing_maps, 1, RELAXED);
		errno = ENOMEM;
		return MAP_FAILED;
	}
	return __real_mmap64(address, size, protection, flags, fd, offset);
}

/* A kernel that has no guards in page tables. */
static bool old_kernel;
/* What the last advice against hugepages was about. */
static struct atomic_ptr small_begin, small_end;

int
__real_madvise(void *address, size_t size, int advice);
int
__wrap_madvise(void *address, size_t size, int advice);

int
__wrap_madvise(void *address, size_t size, int advice)
{
	if (old_kernel && advice != MADV_NOHUGEPAGE) {
		errno = EINVAL;
		return -1;
	}
	if (advice == MADV_NOHUGEPAGE) {
		atomic_ptr_store(&small_begin, address, RELAXED);
		atomic_ptr_store(&small_end, (uint8_t *)address + size,
				 RELAXED);
	}
	return __real_madvise(address, size, advice);
}

struct job {
	struct weir_fiber fiber;
	size_t depth;  /* bytes */
	size_t inside; /* what it found itself; these are the result */
	size_t after;
};

static void
job_drop(void *state)
{
	struct job *j = state;

	weir_fiber_drop(state);
	j->after = weir_fiber_stack_used(&j->fiber);
}

static const struct weir_task_ops job_ops = {
	.name = "deep",
	.state_size = sizeof(struct job),
	.poll = weir_fiber_poll,
	.drop = job_drop,
	.result_offset = offsetof(struct job, inside),
	.result_size = 2 * sizeof(size_t),
};

/* Some hundred bytes a frame, until so much of the stack has been used. */
static __rte_noinline size_t
dig(const char *top, size_t depth)
{
	char local[256];
	size_t below;

	memset(local, (int)depth | 1, sizeof(local));
	__asm__ volatile("" : : "r"(local) : "memory");
	/* Where a sanitizer keeps `local` says nothing. */
	if ((size_t)(top - (char *)__builtin_frame_address(0)) >= depth)
		return 1;
	below = dig(top, depth);
	__asm__ volatile("" : : "r"(local) : "memory");
	return below + 1;
}

static int
dig_run(struct weir_fiber *f, void *state)
{
	struct job *j = state;

	if (j->depth > 0)
		dig(__builtin_frame_address(0), j->depth);
	j->inside = weir_fiber_stack_used(f);
	return weir_fiber_yield(f);
}

static int
run_one(struct job j, size_t used[2])
{
	struct weir_join *join;

	j.fiber.run = dig_run;
	join = weir_task_spawn(rig.rt, &job_ops, &j, NULL);
	assert_non_null(join);
	return rig_join(join, used);
}

static uint64_t
mapped(const struct weir_runtime *rt)
{
	uint64_t n = 0;
	unsigned int i;

	for (i = 0; i < rt->nb_nodes; i++)
		n += atomic_u64_load(&rt->nodes[i]->home.stacks.mapped,
				     RELAXED);
	return n;
}

static void
sizes_have_their_bounds(void **state)
{
	struct job j = { .depth = 0 };

	j.fiber.stack_size = WEIR_FIBER_STACK_MAX + 1;
	assert_int_equal(run_one(j, NULL), -EINVAL);
	j.fiber.stack_size = UINT32_MAX;
	assert_int_equal(run_one(j, NULL), -EINVAL);
	assert_int_equal(mapped(rig.rt), 0);
	j.fiber.stack_size = 1;
	assert_int_equal(run_one(j, NULL), 0);
	j.fiber.stack_size = WEIR_FIBER_STACK_MIN;
	assert_int_equal(run_one(j, NULL), 0);
	/* Both were of the same size. */
	assert_int_equal(mapped(rig.rt), 1);
	j.fiber.stack_size = WEIR_FIBER_STACK_MAX;
	j.depth = WEIR_FIBER_STACK_MAX - WEIR_FIBER_STACK_MIN;
	assert_int_equal(run_one(j, NULL), 0);
	assert_int_equal(mapped(rig.rt), 2);
	/* Nearly all of it may be used. */
	j.fiber.stack_size = 0;
	j.depth = WEIR_FIBER_STACK_DEFAULT - 16384;
	assert_int_equal(run_one(j, NULL), 0);
	assert_int_equal(mapped(rig.rt), 3);
}

static void
stacks_are_used_again(void **state)
{
	struct job j = { .depth = 4096 };
	unsigned int i;

	for (i = 0; i < 50; i++)
		assert_int_equal(run_one(j, NULL), 0);
	assert_int_equal(mapped(rig.rt), 1);
}

/* S2: the kernel is told so of all of it, whatever its size. */
static void
stacks_are_in_small_pages(void **state)
{
	struct stack_pool pool;
	const uint8_t *begin, *end;
	struct stack *s;
	unsigned int i;

	weir__stack_pool_init(&pool, 0);
	for (i = 0; i < STACK_CLASSES; i++) {
		atomic_ptr_store(&small_begin, NULL, RELAXED);
		atomic_ptr_store(&small_end, NULL, RELAXED);
		s = weir__stack_get(&pool, stack_class_size(i));
		assert_non_null(s);
		begin = atomic_ptr_load(&small_begin, RELAXED);
		end = atomic_ptr_load(&small_end, RELAXED);
		weir__stack_put(s);
		assert_non_null(begin);
		assert_true(begin <= s->low);
		assert_true(end >= (const uint8_t *)(s + 1));
	}
	weir__stack_pool_fini(&pool);
}

#define SEVERAL 5u

/* Several, of two sizes by turns. */
static void
get_several(struct stack_pool *pool, struct stack *stacks[SEVERAL])
{
	unsigned int i;

	for (i = 0; i < SEVERAL; i++) {
		stacks[i] = weir__stack_get(pool, STACK_MIN_SIZE << i % 2);
		assert_non_null(stacks[i]);
	}
}

static void
put_several(struct stack *const stacks[SEVERAL])
{
	unsigned int i;

	for (i = 0; i < SEVERAL; i++)
		weir__stack_put(stacks[i]);
}

/* S3 */
static void
last_stack_given_back_is_the_first_to_be_taken(void **state)
{
	/* Not that in which they were made, nor its reverse. */
	const unsigned int order[SEVERAL] = { 2, 3, 0, 1, 4 };
	struct stack *stacks[SEVERAL], *s;
	struct stack_pool pool;
	unsigned int i;

	weir__stack_pool_init(&pool, 0);
	get_several(&pool, stacks);
	for (i = 0; i < SEVERAL; i++)
		weir__stack_put(stacks[order[i]]);
	for (i = SEVERAL; i-- > 0;) {
		s = weir__stack_get(&pool, STACK_MIN_SIZE << order[i] % 2);
		assert_ptr_equal(s, stacks[order[i]]);
	}
	assert_int_equal(atomic_u64_load(&pool.mapped, RELAXED), SEVERAL);
	put_several(stacks);
	weir__stack_pool_fini(&pool);
}

static size_t
room_of(const struct stack *s)
{
	return (size_t)((const uint8_t *)s - s->low);
}

/* With a number that is not 0. */
static void
expect_filled(const struct stack *s)
{
	const size_t room = room_of(s);
	size_t i;

	assert_int_not_equal(s->low[0], 0);
	for (i = 0; i < room; i++)
		assert_int_equal(s->low[i], s->low[0]);
}

/* S3: while it is free, and when it is taken again. */
static void
free_stack_keeps_what_is_in_it(void **state)
{
	struct stack *stacks[SEVERAL];
	struct stack_pool pool;
	unsigned int i;

	weir__stack_pool_init(&pool, 0);
	get_several(&pool, stacks);
	for (i = 0; i < SEVERAL; i++)
		memset(stacks[i]->low, (int)i + 1, room_of(stacks[i]));
	put_several(stacks);
	for (i = 0; i < SEVERAL; i++)
		expect_filled(stacks[i]);
	get_several(&pool, stacks);
	for (i = 0; i < SEVERAL; i++)
		expect_filled(stacks[i]);
	put_several(stacks);
	weir__stack_pool_fini(&pool);
}

/* S4: no line of a page has many, and none is smaller for that. */
static void
stacks_begin_in_different_lines(void **state)
{
	unsigned int lines[4096 / WEIR_CACHE_LINE] = { 0 }, i;
	struct stack *stacks[RTE_DIM(lines)];
	struct stack_pool pool;
	const uint8_t *end;

	weir__stack_pool_init(&pool, 0);
	for (i = 0; i < RTE_DIM(stacks); i++) {
		stacks[i] = weir__stack_get(&pool, STACK_MIN_SIZE);
		assert_non_null(stacks[i]);
		end = (const uint8_t *)(stacks[i] + 1);
		assert_int_equal(end - stacks[i]->low, stacks[i]->size);
		assert_true(stacks[i]->size >= STACK_MIN_SIZE);
		memset(stacks[i]->low, 0xff, STACK_MIN_SIZE - sizeof(**stacks));
		lines[(uintptr_t)stacks[i] / WEIR_CACHE_LINE %
		      RTE_DIM(lines)]++;
	}
	for (i = 0; i < RTE_DIM(lines); i++)
		assert_true(lines[i] <= 2);
	for (i = 0; i < RTE_DIM(stacks); i++)
		weir__stack_put(stacks[i]);
	weir__stack_pool_fini(&pool);
}

static void
without_memory_it_fails(void **state)
{
	struct job j = { .depth = 0 };

	rig_set(&failing_maps, 1);
	assert_int_equal(run_one(j, NULL), -ENOMEM);
	assert_int_equal(rig_get(&failing_maps), 0);
	assert_int_equal(mapped(rig.rt), 0);
	assert_int_equal(run_one(j, NULL), 0);
}

static void
depth_is_told(void **state)
{
	struct job j = { .fiber = { .stack_measure = true } };
	size_t none[2], used[2];

	assert_int_equal(run_one(j, none), 0);
	assert_uint_in_range(none[0], 200, 16384);
	assert_true(none[1] >= none[0]);
	j.depth = 30000;
	assert_int_equal(run_one(j, used), 0);
	assert_uint_in_range(used[0], 30000, 30000 + 16384);
	assert_uint_in_range(used[1], used[0], 30000 + 16384);
	/* On the same stack: what the last one did is not counted. */
	j.depth = 0;
	assert_int_equal(run_one(j, used), 0);
	assert_true(used[0] < 20000);
	j.fiber.stack_measure = false;
	assert_int_equal(run_one(j, used), 0);
	assert_int_equal(used[0], 0);
	assert_int_equal(used[1], 0);
	assert_int_equal(mapped(rig.rt), 1);
}

/*
 * What another process of this program says and how it ends, which overflows a
 * stack or does something of the kind: see child().
 */
static int
run_child(const char *what, char *output, size_t size)
{
	size_t n = 0;
	ssize_t got;
	int fds[2], status;
	pid_t pid;

	assert_int_equal(pipe(fds), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		dup2(fds[1], STDERR_FILENO);
		dup2(fds[1], STDOUT_FILENO);
		execl("/proc/self/exe", "child", what, NULL);
		_exit(99);
	}
	close(fds[1]);
	while ((got = read(fds[0], output + n, size - 1 - n)) > 0)
		n += (size_t)got;
	output[n] = '\0';
	close(fds[0]);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return status;
}

static char output[65536];

/* A sanitizer has a handler of its own, which says so and exits. */
#ifdef WEIR_ASAN
#define SANITIZER_LINE "AddressSanitizer:DEADLYSIGNAL\n"
#elif defined(WEIR_TSAN)
#define SANITIZER_LINE "ThreadSanitizer:DEADLYSIGNAL\n"
#endif

/* Of a fault, and of nothing else, such as that there is no such child. */
static bool
died(int status)
{
#ifdef SANITIZER_LINE
	if (WIFEXITED(status))
		return WEXITSTATUS(status) != 0 &&
		       strstr(output, SANITIZER_LINE) != NULL;
#endif
	return WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV;
}

#define LINE "weir: fiber deep ("
#define ONCE "once\n"
#define NAME_20 "twenty-characters-or"

static void
overflow_is_reported(void **state)
{
	int status = run_child("overflow", output, sizeof(output));

	if (!died(status) || strstr(output, LINE) == NULL ||
	    strstr(output, ") has overflowed its stack of 65536 bytes\n") ==
		    NULL)
		fail_msg("status %x: %s", status, output);
}

/* As much of its name as leaves room for the rest. */
static void
overflow_is_reported_whole(void **state)
{
	int status = run_child("named", output, sizeof(output));

	if (!died(status) ||
	    strstr(output, "weir: fiber " NAME_20 NAME_20) == NULL ||
	    strstr(output, ") has overflowed its stack of 65536 bytes\n") ==
		    NULL)
		fail_msg("status %x: %s", status, output);
}

static void
old_kernels_guard_too(void **state)
{
	int status = run_child("old", output, sizeof(output));

	if (!died(status) || strstr(output, LINE) == NULL)
		fail_msg("status %x: %s", status, output);
}

static void
overflow_after_a_wait_elsewhere_is_reported(void **state)
{
	int status = run_child("moved", output, sizeof(output));

	if (!died(status) || strstr(output, LINE) == NULL)
		fail_msg("status %x: %s", status, output);
}

/*
 * Nothing that the fiber does goes deeper than where it waits; but the thread sanitizer
 * does, which is told of the wait there and cannot have a fault itself.
 */
#ifndef WEIR_TSAN
static void
overflow_inside_a_switch_is_reported(void **state)
{
	int status = run_child("waits", output, sizeof(output));

	if (!died(status) || strstr(output, LINE) == NULL)
		fail_msg("status %x: %s", status, output);
}
#endif

static void
nothing_is_said_unless_asked_for(void **state)
{
	int status = run_child("silent", output, sizeof(output));

	if (!died(status) || strstr(output, LINE) != NULL)
		fail_msg("status %x: %s", status, output);
}

static void
other_faults_are_not_the_stacks(void **state)
{
	int status = run_child("null", output, sizeof(output));

	if (!died(status) || strstr(output, LINE) != NULL)
		fail_msg("status %x: %s", status, output);
}

static void
handler_that_was_there_comes_next(void **state)
{
	int status = run_child("handler", output, sizeof(output));

	if (!WIFEXITED(status) || WEXITSTATUS(status) != 42 ||
	    strstr(output, LINE) == NULL)
		fail_msg("status %x: %s", status, output);
}

/* The first one, which the handler takes. */
static void
signal_that_is_sent_ends_the_process(void **state)
{
	int status = run_child("sent", output, sizeof(output));

	if (!died(status) || strstr(output, LINE) != NULL)
		fail_msg("status %x: %s", status, output);
}

/* Nor does it end the report. */
static void
signal_that_is_sent_stays_ignored(void **state)
{
	int status = run_child("ignored", output, sizeof(output));

	if (!died(status) || strstr(output, LINE) == NULL)
		fail_msg("status %x: %s", status, output);
}

/* A handler that is there for one fault: the next ends the process. */
static void
handler_that_is_reset_is_called_once(void **state)
{
	int status = run_child("once", output, sizeof(output));
	const char *said = strstr(output, ONCE);

	if (!died(status) || strstr(output, LINE) == NULL || said == NULL ||
	    strstr(said + 1, ONCE) != NULL)
		fail_msg("status %x: %s", status, output);
}

static int
overflow_run(struct weir_fiber *f, void *state)
{
	unsigned int i;

	for (i = 0; i < ((struct job *)state)->depth; i++)
		weir_fiber_yield(f);
	/* More than there is. */
	return dig(__builtin_frame_address(0), WEIR_FIBER_STACK_MAX) == 0 ?
		       -EIO :
		       0;
}

/* Calls that with so many bytes of the stack taken, and does nothing below. */
static __rte_noinline int
with_taken(size_t bytes, int (*call)(void *arg), void *arg)
{
	uint8_t *taken = __builtin_alloca(bytes);

	__asm__("" : : "r"(taken) : "memory");
	return call(arg);
}

static int
suspend(void *arg)
{
	return weir_fiber_suspend(arg);
}

/* Somewhat deeper each time. */
static int
waits_run(struct weir_fiber *f, void *state)
{
	size_t taken;

	for (taken = 16; taken < WEIR_FIBER_STACK_MAX; taken += 16) {
		weir_context_yield(weir_fiber_context(f));
		with_taken(taken, suspend, f);
	}
	return 0;
}

static int
null_run(struct weir_fiber *f, void *state)
{
	*(int *)(uintptr_t)((struct job *)state)->depth = 1;
	return 0;
}

static void
end_here(int number)
{
	_exit(42);
}

static void
say_once(int number)
{
	if (write(STDERR_FILENO, ONCE, strlen(ONCE)) < 0)
		_exit(3);
}

/* For SIGSEGV, before there is a report. */
static void
install(const char *what)
{
	struct sigaction action = { .sa_flags = SA_ONSTACK };

	if (strcmp(what, "handler") == 0) {
		action.sa_handler = end_here;
	} else if (strcmp(what, "once") == 0) {
		action.sa_handler = say_once;
		action.sa_flags |= SA_RESETHAND;
	} else if (strcmp(what, "ignored") == 0) {
		/* A flag that says nothing here. */
		action.sa_handler = SIG_IGN;
		action.sa_flags |= SA_SIGINFO;
	} else {
		return;
	}
	sigaction(SIGSEGV, &action, NULL);
}

static int
child(const char *what)
{
	struct weir_task_ops ops = job_ops;
	const struct rlimit none = { 0, 0 };
	struct job j = { .fiber = { .run = overflow_run } };
	unsigned int i;

	old_kernel = strcmp(what, "old") == 0;
	setrlimit(RLIMIT_CORE, &none);
	unit_eal_init(NULL);
	install(what);
	if (strcmp(what, "silent") != 0 &&
	    weir_fiber_overflow_report(STDERR_FILENO) != 0)
		return 3;
	if (strcmp(what, "sent") == 0)
		return kill(getpid(), SIGSEGV);
	if (strcmp(what, "ignored") == 0 && kill(getpid(), SIGSEGV) != 0)
		return 3;
	if (strcmp(what, "null") == 0) {
		j.fiber.run = null_run;
		/* Near to it: the sanitizer of undefined behaviour knows NULL. */
		j.depth = 64;
	}
	if (strcmp(what, "waits") == 0)
		j.fiber.run = waits_run;
	rig.rt = rig_runtime(3);
	for (i = 0; strcmp(what, "moved") == 0 && i < 100; i++) {
		j.depth = 1000 + i;
		weir_join_detach(weir_task_spawn(rig.rt, &job_ops, &j, NULL));
	}
	if (strcmp(what, "named") == 0)
		ops.name = NAME_20 NAME_20 NAME_20 NAME_20 NAME_20 NAME_20;
	weir_runtime_block_on(rig.rt, &ops, &j, NULL);
	/* It should not have come to this. */
	return 0;
}

static void
report_needs_a_file(void **state)
{
	assert_int_equal(weir_fiber_overflow_report(-2), -EINVAL);
}

int
main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		RIG_TESTS(sizes_have_their_bounds),
		RIG_TESTS(stacks_are_used_again),
		cmocka_unit_test(stacks_are_in_small_pages),
		cmocka_unit_test(
			last_stack_given_back_is_the_first_to_be_taken),
		cmocka_unit_test(free_stack_keeps_what_is_in_it),
		cmocka_unit_test(stacks_begin_in_different_lines),
		RIG_TEST(without_memory_it_fails, 1),
		RIG_TEST(depth_is_told, 1),
		cmocka_unit_test(overflow_is_reported),
		cmocka_unit_test(overflow_is_reported_whole),
		cmocka_unit_test(old_kernels_guard_too),
		cmocka_unit_test(overflow_after_a_wait_elsewhere_is_reported),
#ifndef WEIR_TSAN
		cmocka_unit_test(overflow_inside_a_switch_is_reported),
#endif
		cmocka_unit_test(nothing_is_said_unless_asked_for),
		cmocka_unit_test(other_faults_are_not_the_stacks),
		cmocka_unit_test(handler_that_was_there_comes_next),
		cmocka_unit_test(signal_that_is_sent_ends_the_process),
		cmocka_unit_test(signal_that_is_sent_stays_ignored),
		cmocka_unit_test(handler_that_is_reset_is_called_once),
		cmocka_unit_test(report_needs_a_file),
	};

	if (argc > 1)
		return child(argv[1]);
	return cmocka_run_group_tests(tests, unit_eal_setup, unit_eal_teardown);
}
