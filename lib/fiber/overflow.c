/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Says which fiber it was whose stack was too small.
 *
 * The handler runs on a signal stack, since the fiber's is what has ended. It
 * reads only what its own thread has written, and puts its line together by
 * hand: functions that print may not be called from there.
 */

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "fiber/fiber.h"

#define SIGNAL_STACK_SIZE ((size_t)64 << 10)

struct atomic_u32 weir__overflow_fd;
static struct sigaction before;
static bool installed;
static pthread_key_t signal_stack;
static bool have_key;
static __thread bool thread_ready;

/* Of a task's name, so that all the rest finds room. */
#define NAME_MOST 80

struct line {
	char text[160];
	size_t n;
};

static void
add_some(struct line *l, const char *text, size_t most)
{
	size_t n = RTE_MIN(strnlen(text, most), sizeof(l->text) - l->n);

	memcpy(l->text + l->n, text, n);
	l->n += n;
}

static void
add(struct line *l, const char *text)
{
	add_some(l, text, sizeof(l->text));
}

static void
add_number(struct line *l, uint64_t number, unsigned int base)
{
	char digits[24], *d = digits + sizeof(digits);

	*--d = '\0';
	do {
		*--d = "0123456789abcdef"[number % base];
		number /= base;
	} while (number != 0);
	add(l, d);
}

static void
report(const struct fiber *f, int fd)
{
	const struct task *t = fiber_task(f);
	struct line l = { .n = 0 };
	ssize_t n;

	add(&l, "weir: fiber ");
	add_some(&l, task_ops(t)->name, NAME_MOST);
	add(&l, " (");
	add_number(&l, task_id(t), 16);
	add(&l, ") has overflowed its stack of ");
	add_number(&l, stack_class_size(f->stack->size_class), 10);
	add(&l, " bytes\n");
	n = write(fd, l.text, l.n);
	RTE_SET_USED(n);
}

/* As if this handler were not there. */
static void
hand_on(int number, siginfo_t *info, void *context)
{
	const struct sigaction action = before;
	/* Beside these flags say nothing. */
	const struct sigaction bare = { .sa_handler = action.sa_handler };

	if (bare.sa_handler == SIG_DFL || bare.sa_handler == SIG_IGN) {
		if (bare.sa_handler == SIG_IGN && info->si_code <= 0)
			return;
		sigaction(number, &bare, NULL);
		/* A fault comes again when this returns, what was sent not. */
		if (info->si_code <= 0)
			raise(number);
		return;
	}
	/* As the kernel would have, which has ours. */
	if (action.sa_flags & SA_RESETHAND)
		before.sa_handler = SIG_DFL;
	if (action.sa_flags & SA_SIGINFO)
		action.sa_sigaction(number, info, context);
	else
		action.sa_handler(number);
}

static void
on_fault(int number, siginfo_t *info, void *context)
{
	uint32_t fd = atomic_u32_load(&weir__overflow_fd, RELAXED);
	const struct fiber *f = weir__fiber;
	int error = errno;

	if (fd != 0 && f != NULL && weir__stack_guards(f->stack, info->si_addr))
		report(f, (int)(fd - 1));
	errno = error;
	hand_on(number, info, context);
}

/* When a thread ends. */
static void
free_signal_stack(void *memory)
{
	const stack_t off = { .ss_flags = SS_DISABLE };

	sigaltstack(&off, NULL);
	munmap(memory, SIGNAL_STACK_SIZE);
}

static void
make_key(void)
{
	have_key = pthread_key_create(&signal_stack, free_signal_stack) == 0;
}

/* Without memory for it there is no line. */
static void
prepare_thread(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	stack_t s;

	thread_ready = true;
	pthread_once(&once, make_key);
	if (!have_key)
		return;
	if (sigaltstack(NULL, &s) < 0 || !(s.ss_flags & SS_DISABLE))
		return;
	s.ss_flags = 0;
	s.ss_size = SIGNAL_STACK_SIZE;
	s.ss_sp = mmap(NULL, s.ss_size, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (s.ss_sp == MAP_FAILED)
		return;
	if (pthread_setspecific(signal_stack, s.ss_sp) == 0) {
		if (sigaltstack(&s, NULL) == 0)
			return;
		pthread_setspecific(signal_stack, NULL);
	}
	munmap(s.ss_sp, s.ss_size);
}

void
weir__overflow_prepare(void)
{
	if (overflow_is_reported() && !thread_ready)
		prepare_thread();
}

int
weir_fiber_overflow_report(int fd)
{
	const struct sigaction action = {
		.sa_sigaction = on_fault,
		.sa_flags = SA_SIGINFO | SA_ONSTACK,
	};

	if (fd < -1)
		return -EINVAL;
	/* Before ours can be called. */
	if (!installed && (sigaction(SIGSEGV, NULL, &before) < 0 ||
			   sigaction(SIGSEGV, &action, NULL) < 0))
		return -errno;
	installed = true;
	atomic_u32_store(&weir__overflow_fd, (uint32_t)fd + 1, RELAXED);
	return 0;
}
