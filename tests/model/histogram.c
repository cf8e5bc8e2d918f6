/* SPDX-License-Identifier: BSD-3-Clause */

/* A histogram that is read while it is written: H2. */

#include "metrics/histogram.h"
#include "model.h"

static struct histogram *h;

static void
record(void *arg)
{
	(void)arg;
	histogram_record(h, 1);
	histogram_record(h, 3);
}

MODEL(histogram_read, "a reader beside the writer, and behind it", 3, 3)
{
	struct weir_histogram out;

	h = model_alloc(weir__histogram_size(1, 3));
	weir__histogram_init(h, 1, 3);
	model_thread("writer", record, NULL);
	weir__histogram_read(h, &out);
	model_check(out.count <= 2 && out.buckets[1] <= 1 &&
		    out.buckets[3] <= 1);
	model_check(out.buckets[3] == 0 || out.max == 3);
	model_join_all();
	weir__histogram_read(h, &out);
	model_check(out.count == 2 && out.buckets[1] == 1 &&
		    out.buckets[3] == 1 && out.max == 3);
	model_free(h);
}
