/* SPDX-License-Identifier: BSD-3-Clause */

#ifndef BASE_LIST_H
#define BASE_LIST_H

/*
 * Doubly linked circular list with the links in the elements. Not safe for
 * threads: the user's lock guards it.
 */

#include <stdbool.h>
#include <stddef.h>

struct list_link {
	struct list_link *next;
	struct list_link *prev;
};

static inline void
list_init(struct list_link *head)
{
	head->next = head;
	head->prev = head;
}

static inline bool
list_empty(const struct list_link *head)
{
	return head->next == head;
}

/* A list of one; the head may hold anything. */
static inline void
list_init_one(struct list_link *head, struct list_link *l)
{
	l->next = head;
	l->prev = head;
	head->next = l;
	head->prev = l;
}

static inline void
list_push_back(struct list_link *head, struct list_link *l)
{
	l->next = head;
	l->prev = head->prev;
	head->prev->next = l;
	head->prev = l;
}

static inline void
list_push_front(struct list_link *head, struct list_link *l)
{
	list_push_back(head->next, l);
}

/* Its links become NULL, as if it had never been in; no other is touched. */
static inline void
list_forget(struct list_link *l)
{
	l->next = NULL;
	l->prev = NULL;
}

/* The element's links become NULL: see list_linked(). */
static inline void
list_remove(struct list_link *l)
{
	l->next->prev = l->prev;
	l->prev->next = l->next;
	list_forget(l);
}

/* Of an element: is it the only one of its list? */
static inline bool
list_alone(const struct list_link *l)
{
	return l->next == l->prev;
}

static inline bool
list_linked(const struct list_link *l)
{
	return l->next != NULL;
}

/* Moves all of a list, which is empty then, before an element or a head. */
static inline void
list_move_before(struct list_link *l, struct list_link *head)
{
	if (list_empty(head))
		return;
	head->next->prev = l->prev;
	head->prev->next = l;
	l->prev->next = head->next;
	l->prev = head->prev;
	list_init(head);
}

static inline struct list_link *
list_pop_front(struct list_link *head)
{
	struct list_link *l = head->next;

	if (l == head)
		return NULL;
	list_remove(l);
	return l;
}

#endif
