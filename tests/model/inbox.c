/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * A worker's inbox: what is sent is taken once and in order, also while a task comes
 * back, beside others that take it, and beside the close.
 */

#include "model.h"
#include "queue/inbox.h"
#include "rig.h"

static struct inbox *inbox;
static struct task_chain taken;
/* Tasks of sender s are numbered from s * TASKS_EACH. */
#define TASKS_EACH 8
/* Of each sender: the next it makes, and the next that is to be taken. */
static unsigned int next_of[2], due_of[2];

static void
begin(void)
{
	unsigned int s;

	inbox = model_alloc(sizeof(*inbox));
	weir__inbox_init(inbox);
	task_chain_init(&taken);
	for (s = 0; s < 2; s++)
		next_of[s] = due_of[s] = s * TASKS_EACH;
}

/* It is the sender's again if it is refused. */
static bool
send_one(unsigned int s)
{
	struct task *t = rig_task(next_of[s]++);

	if (weir__inbox_send(inbox, t))
		return true;
	rig_see(t);
	return false;
}

static void
send(void *arg)
{
	send_one((unsigned int)(uintptr_t)arg);
}

static void
send_two(void *arg)
{
	send_one((unsigned int)(uintptr_t)arg);
	send_one((unsigned int)(uintptr_t)arg);
}

/* Tasks of one sender come in their order. */
static void
see_all(struct task_chain *c, bool in_order)
{
	struct task *t;
	unsigned int s;

	while ((t = task_chain_pop(c)) != NULL) {
		s = (unsigned int)task_id(t) / TASKS_EACH;
		model_check(!in_order || task_id(t) == due_of[s]++);
		rig_see(t);
	}
}

static void
take(bool in_order)
{
	weir__inbox_take_owner(inbox, &taken);
	see_all(&taken, in_order);
}

/* B4: it takes a step a call. */
static void
take_rest(bool in_order)
{
	while (inbox_pending(inbox))
		take(in_order);
}

static void
take_elsewhere(void *arg)
{
	struct task_chain c;

	(void)arg;
	task_chain_init(&c);
	weir__inbox_take_any(inbox, &c);
	see_all(&c, false);
}

static void
end(void)
{
	unsigned int s;

	model_check(weir__inbox_len(inbox) == 0);
	for (s = 0; s < 2; s++)
		rig_check_seen_from(s * TASKS_EACH, next_of[s]);
	model_free(inbox);
}

MODEL(inbox_order, "what senders send is taken in their order", 3, 3)
{
	begin();
	model_thread("sender", send_two, (void *)0);
	model_thread("other", send, (void *)1);
	take(true);
	take(true);
	model_join_all();
	take_rest(true);
	end();
}

/* As forwarders do, whose worker has come back. */
MODEL(inbox_takers, "the worker and others take from an inbox", 3, 3)
{
	begin();
	send_one(0);
	model_thread("sender", send, (void *)1);
	model_thread("other", take_elsewhere, NULL);
	take(false);
	model_join_all();
	take_rest(false);
	end();
}

MODEL(inbox_turns, "what is sent is taken while a list is turned round", 3, 3)
{
	begin();
	send_one(0);
	send_one(0);
	model_thread("sender", send, (void *)0);
	model_thread("other", take_elsewhere, NULL);
	take(false);
	take(false);
	model_join_all();
	take_rest(false);
	end();
}

MODEL(inbox_close, "what is sent beside the close is taken, dropped or refused",
      3, 3)
{
	begin();
	send_one(0);
	send_one(0);
	take(false);
	model_thread("sender", send_two, (void *)0);
	model_thread("other", send, (void *)1);
	weir__inbox_close(inbox);
	model_join_all();
	model_check(!send_one(1));
	end();
}
