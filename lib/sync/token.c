/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Cancellation tokens.
 *
 * The tokens of a tree share a lock for their links and references; each has a
 * line of waiters with a lock of its own. A token knows its children and not its
 * parent: it is an element of some list, its parent's or that of those without
 * one. One whose handles are gone leaves its children in its place in that list,
 * so that a chain of which only the end is in use is no longer than that.
 *
 * A canceller takes the whole subtree apart under the tree's lock, by a list and
 * not by recursion, and wakes those who wait when the lock is free again.
 *
 * Invariants:
 * Y40 When the tree's lock is free, whatever descends from a cancelled token is
 *     cancelled.
 * Y41 A token that is not cancelled is in the list of the nearest ancestor that
 *     has handles, or of the tree. One that is has no children, and is in no
 *     list but its canceller's.
 * Y42 A token goes with its last handle, and the tree with its last token. A
 *     canceller has a handle of each that it is about to wake.
 */

#include <errno.h>

#include "sync/memory.h"
#include "sync/wait.h"
#include "sync/weir_token.h"

struct tree {
	struct lock lock;
	uint32_t nb_tokens;
	struct list_link roots;
};

struct weir_token {
	struct sync sync;
	struct atomic_u32 cancelled;
	/* Under the tree's lock. */
	uint32_t refs;
	struct list_link link;
	struct list_link children;
	/* Written before the token is shared. */
	struct tree *tree;
};

static struct weir_token *
token_of_link(struct list_link *l)
{
	return container_of(l, struct weir_token, link);
}

bool
weir_token_cancelled(const struct weir_token *token)
{
	/*
	 * [token:A1] without it whoever is told to end could miss why, which
	 * the canceller wrote before.
	 */
	return atomic_u32_load(&token->cancelled, ACQUIRE) != 0;
}

static bool
grant(struct sync *sync, struct wait *w)
{
	(void)w;
	return weir_token_cancelled((struct weir_token *)sync);
}

static const struct sync_ops ops = {
	.grant = grant,
};

static struct weir_token *
new_token(void)
{
	struct weir_token *t = sync_alloc("weir_token", sizeof(*t));

	if (t == NULL)
		return NULL;
	weir__sync_init(&t->sync, &ops);
	list_init(&t->children);
	t->refs = 1;
	return t;
}

struct weir_token *
weir_token_create(void)
{
	struct weir_token *t;
	struct tree *tree;

	tree = sync_alloc("weir_tokens", sizeof(*tree));
	if (tree == NULL)
		return NULL;
	t = new_token();
	if (t == NULL) {
		sync_free(tree);
		return NULL;
	}
	lock_init(&tree->lock);
	list_init(&tree->roots);
	tree->nb_tokens = 1;
	list_push_back(&tree->roots, &t->link);
	t->tree = tree;
	return t;
}

struct weir_token *
weir_token_child(struct weir_token *parent)
{
	struct weir_token *t = new_token();
	struct tree *tree = parent->tree;

	if (t == NULL)
		return NULL;
	t->tree = tree;
	lock_acquire(&tree->lock);
	/* Y41 */
	if (weir_token_cancelled(parent))
		atomic_u32_store(&t->cancelled, 1, RELAXED);
	else
		list_push_back(&parent->children, &t->link);
	tree->nb_tokens++;
	lock_release(&tree->lock);
	return t;
}

struct weir_token *
weir_token_clone(struct weir_token *token)
{
	lock_acquire(&token->tree->lock);
	token->refs++;
	lock_release(&token->tree->lock);
	return token;
}

void
weir_token_drop(struct weir_token *token)
{
	struct tree *tree;
	bool last, last_of_tree;

	if (token == NULL)
		return;
	tree = token->tree;
	lock_acquire(&tree->lock);
	last = --token->refs == 0;
	if (last && list_linked(&token->link)) {
		/* Y41 */
		list_move_before(&token->link, &token->children);
		list_remove(&token->link);
	}
	last_of_tree = last && --tree->nb_tokens == 0;
	lock_release(&tree->lock);
	if (last) {
		weir__sync_fini(&token->sync);
		sync_free(token);
	}
	if (last_of_tree)
		sync_free(tree);
}

/* With the lock. Takes the subtree apart, into a list of what is cancelled. */
static void
cancel_subtree(struct weir_token *top, struct list_link *cancelled)
{
	struct list_link left, *l;

	list_init(&left);
	list_remove(&top->link);
	list_push_back(&left, &top->link);
	while ((l = list_pop_front(&left)) != NULL) {
		struct weir_token *t = token_of_link(l);

		list_move_before(&left, &t->children);
		/* [token:A1] */
		atomic_u32_store(&t->cancelled, 1, RELEASE);
		t->refs++;
		list_push_back(cancelled, l);
	}
}

void
weir_token_cancel(struct weir_token *token)
{
	struct list_link cancelled, *l;

	list_init(&cancelled);
	lock_acquire(&token->tree->lock);
	if (!weir_token_cancelled(token))
		cancel_subtree(token, &cancelled);
	lock_release(&token->tree->lock);
	while ((l = list_pop_front(&cancelled)) != NULL) {
		struct weir_token *t = token_of_link(l);

		lock_acquire(&t->sync.lock);
		sync_settle(&t->sync);
		weir_token_drop(t);
	}
}

int
weir_token_wait(struct weir_context *ctx, struct weir_token *token,
		struct weir_wait *wait)
{
	int rc;

	if (!wait_begin(ctx, &token->sync, wait, &rc))
		return rc;
	/* The canceller settles after it has cancelled. */
	if (!weir_token_cancelled(token))
		return weir__wait_join(ctx, &token->sync, wait, 0, NULL, 0);
	lock_release(&token->sync.lock);
	return 0;
}

int
weir_token_bound(struct weir_context *ctx, struct weir_token *token,
		 struct weir_wait *wait, int rc)
{
	if (rc != WEIR_PENDING) {
		weir_wait_cancel(wait);
		return rc;
	}
	/* With an empty budget, too, which the bounded wait may leave each time. */
	if (weir_token_cancelled(token)) {
		weir_wait_cancel(wait);
		return -ECANCELED;
	}
	rc = weir_token_wait(ctx, token, wait);
	return rc == 0 ? -ECANCELED : rc;
}
