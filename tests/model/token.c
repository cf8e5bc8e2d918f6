/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Cancellation tokens: whatever descends from a cancelled one is cancelled, who
 * waits is told, and each goes with its last handle.
 */

#include <errno.h>

#include "rig.h"
#include "waiter.h"
#include "weir_token.h"

/* A chain of three, of which the last one's end is looked at. */
static struct weir_token *root, *middle, *leaf;
static unsigned int letter, told;

static void
begin(void)
{
	told = 0;
	waiter_drops = 0;
	root = weir_token_create();
	middle = weir_token_child(root);
	leaf = weir_token_child(middle);
	model_check(!weir_token_cancelled(leaf));
}

static void
drop(void *token)
{
	weir_token_drop(token);
}

static void
cancel(void *token)
{
	weir_token_cancel(token);
	model_check(weir_token_cancelled(leaf));
}

static void
write_and_cancel(void *token)
{
	letter = 1;
	weir_token_cancel(token);
}

MODEL(token_letter, "what is written before a cancellation is read after it", 3,
      3)
{
	letter = 0;
	begin();
	model_thread("canceller", write_and_cancel, root);
	while (!weir_token_cancelled(leaf))
		atomic_pause();
	model_check(letter == 1);
	model_join_all();
	weir_token_drop(leaf);
	weir_token_drop(middle);
	weir_token_drop(root);
}

MODEL(token_drop, "a cancellation beside the end of the token in between", 3, 2)
{
	begin();
	model_thread("dropper", drop, middle);
	weir_token_cancel(root);
	model_check(weir_token_cancelled(leaf));
	weir_token_drop(root);
	weir_token_drop(leaf);
	model_join_all();
}

MODEL(token_heir, "an only child outlives those before it", 2, 1)
{
	begin();
	model_thread("first", drop, root);
	model_thread("second", drop, middle);
	weir_token_cancel(leaf);
	model_check(weir_token_cancelled(leaf));
	weir_token_drop(leaf);
	model_join_all();
}

static struct weir_token *born;

static void
bear(void *token)
{
	born = weir_token_child(token);
}

MODEL(token_child, "a token is cancelled while it is given a child", 3, 3)
{
	begin();
	model_thread("parent", bear, leaf);
	weir_token_cancel(root);
	model_join_all();
	model_check(weir_token_cancelled(born));
	weir_token_drop(root);
	weir_token_drop(middle);
	weir_token_drop(leaf);
	weir_token_drop(born);
}

MODEL(token_two, "parent and child are cancelled beside each other", 3, 3)
{
	begin();
	model_thread("canceller", cancel, middle);
	cancel(root);
	model_join_all();
	weir_token_drop(root);
	weir_token_drop(middle);
	weir_token_drop(leaf);
}

/* Waits, and has a handle as long as it does. */
struct holder {
	struct weir_token *token;
	struct weir_wait wait;
};

static int
holder_poll(struct weir_context *ctx, void *state)
{
	struct holder *h = state;
	int rc = weir_token_wait(ctx, h->token, &h->wait);

	if (rc == WEIR_PENDING)
		return rc;
	model_check(rc == 0);
	rig_count(&told);
	return WEIR_DONE;
}

static void
holder_drop(void *state)
{
	struct holder *h = state;

	weir_wait_cancel(&h->wait);
	weir_token_drop(h->token);
	rig_count(&waiter_drops);
}

static const struct weir_task_ops holder_ops = {
	.name = "holder",
	.state_size = sizeof(struct holder),
	.poll = holder_poll,
	.drop = holder_drop,
};

/* Of a tree of two, so that these have fewer steps. */
static struct weir_join *
spawn_holder(void)
{
	struct holder h = { .wait = { { 0 } } };

	told = 0;
	waiter_drops = 0;
	scheduler_start(1);
	root = weir_token_create();
	h.token = weir_token_child(root);
	return scheduler_spawn(&holder_ops, &h);
}

MODEL(token_wait, "a task waits while its token's parent is cancelled", 2, 2)
{
	weir_join_detach(spawn_holder());
	weir_token_cancel(root);
	weir_token_drop(root);
	scheduler_end();
	model_check(told == 1 && waiter_drops == 1);
}

MODEL(token_abort, "one that waits is aborted beside the cancellation", 2, 1)
{
	model_thread("aborter", waiter_abort, spawn_holder());
	weir_token_cancel(root);
	weir_token_drop(root);
	scheduler_end();
	model_check(told <= 1 && waiter_drops == 1);
}

static void
wait_and_drop(void *token)
{
	model_check(weir_token_wait(NULL, token, NULL) == 0);
	rig_count(&told);
	weir_token_drop(token);
}

MODEL(token_thread, "plain threads wait for a token and its parent", 1, 1)
{
	begin();
	model_thread("first", wait_and_drop, weir_token_clone(middle));
	model_thread("second", wait_and_drop, leaf);
	weir_token_cancel(middle);
	weir_token_drop(middle);
	model_check(!weir_token_cancelled(root));
	weir_token_drop(root);
	model_join_all();
	model_check(told == 2);
}
