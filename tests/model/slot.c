/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * A slot: no task is lost or had twice, and each comes with what was written before it
 * was put in, whatever its owner does beside who recalls.
 */

#include "kernel.h"
#include "model.h"
#include "rig.h"
#include "task/slot.h"

static struct slot *slot;
static unsigned int made;

static struct task *
make_task(void)
{
	struct task *t = rig_task(made++);

	t->outcome = 1;
	return t;
}

/* Has its turn, which is its last. */
static void
run(struct task *t)
{
	if (t == NULL)
		return;
	model_check(t->outcome == 1);
	t->outcome = 2;
	rig_see(t);
}

static void
begin(void)
{
	slot = model_alloc(sizeof(*slot));
	slot_init(slot, false);
}

static void
begin_full(void)
{
	begin();
	slot_swap_owner(slot, make_task());
}

static void
end(void)
{
	run(slot_take_owner(slot));
	model_join_all();
	run(slot_take_owner(slot));
	model_check(slot_peek_owner(slot) == NULL);
	model_free(slot);
	rig_check_seen(made);
}

static void
recall(void *arg)
{
	(void)arg;
	run(weir__slot_recall(slot));
}

MODEL(slot_recall, "an owner that takes a task beside who recalls it", 3, 3)
{
	begin_full();
	model_thread("rescuer", recall, NULL);
	end();
}

MODEL(slot_recall_first, "a task is recalled that has just been put in", 3, 3)
{
	begin();
	model_thread("rescuer", recall, NULL);
	slot_swap_owner(slot, make_task());
	end();
}

MODEL(slot_recall_other, "the owner puts in another beside who recalls", 3, 3)
{
	begin_full();
	model_thread("rescuer", recall, NULL);
	run(slot_swap_owner(slot, make_task()));
	run(slot_swap_owner(slot, make_task()));
	end();
}

MODEL(slot_recall_again,
      "a task comes again after a turn, beside who recalls it", 3, 3)
{
	struct task *t;

	begin_full();
	model_thread("rescuer", recall, NULL);
	t = slot_take_owner(slot);
	if (t != NULL) {
		model_check(t->outcome == 1);
		t->outcome = 0;
		t->outcome = 1;
		slot_swap_owner(slot, t);
	}
	end();
}

static void
recall_twice(void *arg)
{
	recall(arg);
	recall(arg);
}

MODEL(slot_recall_two, "two recall", 2, 2)
{
	begin_full();
	model_thread("rescuer", recall, NULL);
	model_thread("other rescuer", recall_twice, NULL);
	run(slot_swap_owner(slot, make_task()));
	end();
}

MODEL(slot_recall_refused, "there is no membarrier any more", 3, 3)
{
	kernel_options.membarrier = false;
	begin_full();
	model_thread("rescuer", recall, NULL);
	run(slot_swap_owner(slot, make_task()));
	model_join_all();
	/* Once there was something to recall nobody tries again. */
	model_check(weir__slot_recall(slot) == NULL);
	model_check(!slot_is_full_any(slot) && slot_peek_owner(slot) != NULL);
	end();
}
