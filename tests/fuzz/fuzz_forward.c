/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Packets of any form through the forwarding modes, and with them through the
 * receive and transmit queues below. An input picks a mode and is then read by
 * the port that receives for frames, by the port that sends for how much it
 * takes, and by a task that runs beside the stream for what happens to the link.
 *
 * The data of each segment is in memory of exactly its size.
 */

#include "fuzz.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <rte_dev.h>
#include <rte_ethdev.h>

#include "forward.h"
#include "packet.h"
#include "stream.h"
#include "weir.h"

#define FRAMES_MAX 1024
#define SEGMENTS_MAX 3
#define BURST_MAX 40
/* Too few for a burst, now and then. */
#define OWN_MBUFS 63
#define OWN_BUFFER (RTE_PKTMBUF_HEADROOM + 128)
#define FOR_EVER_US 100000000
/* By a NIC, and of one. */
#define FLAGS_FOUND (RTE_MBUF_F_RX_VLAN | RTE_MBUF_F_RX_IP_CKSUM_GOOD)
#define FLAGS_ASKED (RTE_MBUF_F_TX_VLAN | RTE_MBUF_F_TX_IP_CKSUM)

static int
eager_poll(struct weir_context *ctx, void *state);

/* One of ours, which sends while packets are held back already. */
static const struct forward_mode mode_eager = {
	.name = "eager",
	.receives = true,
	.sends = true,
	.task = FORWARD_TASK("eager", eager_poll),
};

static const struct forward_mode *const modes[] = {
	&forward_mode_io,     &forward_mode_mac,    &forward_mode_macswap,
	&forward_mode_rxonly, &forward_mode_txonly, &mode_eager,
};

/* What was received, in order; its number is in the mbuf. */
struct frame {
	uint8_t *data; /* of the first segment, as it came */
	uint16_t length;
	bool sent;
};

/* A segment's data with what DPDK wants behind it. */
struct segment {
	struct rte_mbuf_ext_shared_info shared;
	uint8_t *data;
};

static struct fuzz_input in;
static struct frame frames[FRAMES_MAX];
static unsigned int nb_frames, nb_sent, next_to_send, segments_left;
static const struct forward_mode *mode;
static struct stream stream;

static struct weir_runtime *rt;
static struct rte_mempool *rx_pool, *own_pool;
static uint16_t port;

static void
free_segment(void *addr, void *arg)
{
	struct segment *seg = arg;

	segments_left--;
	free(seg->data);
	free(seg);
}

/* Short ones more often than not. */
static uint16_t
take_length(void)
{
	uint8_t length = fuzz_u8(&in);

	return length < 192 ? length % 24 : length;
}

static struct rte_mbuf *
make_segment(void)
{
	struct rte_mbuf *m = rte_pktmbuf_alloc(rx_pool);
	struct segment *seg = malloc(sizeof(*seg));
	uint16_t length = take_length(), i;

	fuzz_check(m != NULL && seg != NULL);
	seg->data = malloc(length);
	for (i = 0; i < length; i++)
		seg->data[i] = fuzz_u8(&in);
	seg->shared = (struct rte_mbuf_ext_shared_info){
		.free_cb = free_segment,
		.fcb_opaque = seg,
		.refcnt = 1,
	};
	rte_pktmbuf_attach_extbuf(m, seg->data, 0, length, &seg->shared);
	m->data_off = 0;
	m->data_len = length;
	segments_left++;
	return m;
}

/* Nothing but the length of the first segment need be right. */
static struct rte_mbuf *
make_frame(void)
{
	unsigned int segments = 1 + fuzz_below(&in, SEGMENTS_MAX);
	struct rte_mbuf *first = make_segment(), *last = first;
	struct frame *f = &frames[nb_frames];

	while (--segments > 0) {
		last->next = make_segment();
		last = last->next;
	}
	first->pkt_len = fuzz_u8(&in);
	first->nb_segs = fuzz_u8(&in);
	first->dynfield1[0] = nb_frames++;
	first->ol_flags |= FLAGS_FOUND | FLAGS_ASKED;
	f->length = first->data_len;
	f->sent = false;
	f->data = malloc(f->length);
	memcpy(f->data, rte_pktmbuf_mtod(first, uint8_t *), f->length);
	return first;
}

static uint16_t
rx(void *queue, struct rte_mbuf **pkts, uint16_t n)
{
	uint16_t wanted = RTE_MIN(fuzz_u8(&in) % BURST_MAX, n), i;

	for (i = 0; i < wanted; i++) {
		if (in.left == 0 || nb_frames == FRAMES_MAX)
			break;
		pkts[i] = make_frame();
	}
	return i;
}

/* A frame as it has to leave. */
static void
change(struct frame *f)
{
	uint8_t swapped[2 * RTE_ETHER_ADDR_LEN];

	if (f->length < 2 * RTE_ETHER_ADDR_LEN)
		return;
	if (mode == &forward_mode_mac) {
		memcpy(f->data, &stream.dst, RTE_ETHER_ADDR_LEN);
		memcpy(f->data + RTE_ETHER_ADDR_LEN, &stream.src,
		       RTE_ETHER_ADDR_LEN);
	} else if (mode == &forward_mode_macswap) {
		memcpy(swapped, f->data + RTE_ETHER_ADDR_LEN,
		       RTE_ETHER_ADDR_LEN);
		memcpy(swapped + RTE_ETHER_ADDR_LEN, f->data,
		       RTE_ETHER_ADDR_LEN);
		memcpy(f->data, swapped, sizeof(swapped));
	}
}

/* A frame that is changed leaves with no wishes; others are as they came. */
static void
check_flags(const struct rte_mbuf *m)
{
	uint64_t flags = RTE_MBUF_F_EXTERNAL;

	if (mode != &forward_mode_mac && mode != &forward_mode_macswap) {
		fuzz_check(m->ol_flags == (flags | FLAGS_FOUND | FLAGS_ASKED));
		return;
	}
	fuzz_check(m->ol_flags == flags);
	fuzz_check(m->l2_len == sizeof(struct rte_ether_hdr));
	fuzz_check(m->l3_len == sizeof(struct rte_ipv4_hdr));
}

static void
check_frame(const struct rte_mbuf *m)
{
	unsigned int number = m->dynfield1[0];
	struct frame *f = &frames[number];

	/* X2, Y1; those between were dropped. */
	fuzz_check(number >= next_to_send && number < nb_frames);
	next_to_send = number + 1;
	f->sent = true;
	change(f);
	check_flags(m);
	fuzz_check(m->data_len == f->length);
	fuzz_check(memcmp(rte_pktmbuf_mtod(m, uint8_t *), f->data, f->length) ==
		   0);
}

/* One that the stream has made. */
static void
check_own(const struct rte_mbuf *m)
{
	const struct packet *p = rte_pktmbuf_mtod(m, const struct packet *);
	struct rte_ipv4_hdr ip = p->ip;

	fuzz_check(m->data_len == PACKET_BYTES && m->pkt_len == PACKET_BYTES);
	fuzz_check(rte_is_same_ether_addr(&p->ether.src_addr, &stream.src));
	fuzz_check(rte_is_same_ether_addr(&p->ether.dst_addr, &stream.dst));
	ip.hdr_checksum = 0;
	fuzz_check(rte_ipv4_cksum(&ip) == p->ip.hdr_checksum);
}

/* Takes all from the end of the input on, so that there is one. */
static uint16_t
tx(void *queue, struct rte_mbuf **pkts, uint16_t n)
{
	uint16_t taken = n, i;

	if (in.left > 0)
		taken = RTE_MIN(fuzz_u8(&in) % BURST_MAX, n);
	for (i = 0; i < taken; i++) {
		if (mode->receives)
			check_frame(pkts[i]);
		else
			check_own(pkts[i]);
		rte_pktmbuf_free(pkts[i]);
	}
	nb_sent += taken;
	return taken;
}

static int
eager_poll(struct weir_context *ctx, void *state)
{
	struct rte_mbuf *pkts[BURST_MAX];
	struct stream *s = &stream;
	int n;

	for (;;) {
		if (fuzz_below(&in, 4) == 0) {
			n = weir_txq_ready(ctx, s->forward.txq);
			if (n < 0)
				return n;
		}
		n = weir_rxq_recv(
			ctx, s->forward.rxq, pkts,
			(uint16_t)(1 + fuzz_below(&in, s->forward.burst)));
		if (n < 0 && n != -ENETDOWN)
			return n;
		if (n < 0) {
			s->forward.link_downs++;
			continue;
		}
		s->forward.received += (unsigned int)n;
		weir_txq_send(s->forward.txq, pkts, (uint16_t)n);
	}
}

/* What happens beside the stream; at last, that it is told to end. */
struct beside {
	struct weir_join *join;
	bool abort; /* instead of an end in good order */
	bool over;
	bool finished;
	unsigned int most; /* frames that there may be in the end */
	int outcome;
	unsigned int links_down;
};

static void
tell_end(struct beside *b)
{
	b->over = true;
	if (mode->receives && !b->abort)
		weir_source_close(weir_rxq_source(stream.forward.rxq),
				  ESHUTDOWN);
	else
		weir_join_abort(b->join);
}

/* X5 */
static void
finish(struct beside *b)
{
	unsigned int most = fuzz_u8(&in);

	if (!mode->receives)
		return;
	weir_rxq_finish(stream.forward.rxq, ESHUTDOWN, most);
	if (!b->finished)
		b->most = nb_frames + most + 7;
	b->finished = true;
}

static int
beside_poll(struct weir_context *ctx, void *state)
{
	struct beside *b = *(struct beside **)state;

	b->outcome = weir_join_try(b->join, NULL);
	if (b->outcome != WEIR_PENDING)
		return WEIR_DONE;
	if (in.left == 0 && !b->over)
		tell_end(b);
	switch (fuzz_u8(&in)) {
	case 1:
	case 2:
		weir_port_link(port, false);
		b->links_down++;
		break;
	case 3:
		weir_port_link(port, true);
		break;
	case 4:
		weir_port_gone(port);
		break;
	case 5:
		finish(b);
		break;
	}
	return weir_context_yield(ctx);
}

static void
begin(struct beside *b)
{
	struct rte_ether_addr src = { { 2, 0, 0, 0, 0, 1 } };
	struct rte_ether_addr dst = { { 2, 0, 0, 0, 0, 2 } };
	uint8_t how = fuzz_u8(&in);

	mode = modes[how % RTE_DIM(modes)];
	b->abort = how & 0x40 || !mode->receives;
	nb_frames = 0;
	nb_sent = 0;
	next_to_send = 0;
	memset(&stream, 0, sizeof(stream));
	stream.forward.burst = 1 + fuzz_below(&in, BURST_MAX);
	stream.forward.change = mode->change;
	stream.forward.arg = &stream;
	stream.pool = own_pool;
	stream.src = src;
	stream.dst = dst;
	if (mode->receives) {
		stream.forward.rxq =
			weir_rxq_create(rt, port, 0, 0, stream.forward.burst);
		fuzz_check(stream.forward.rxq != NULL);
	}
	if (mode->sends) {
		stream.forward.txq =
			weir_txq_create(port, 0, how & 0x80 ? FOR_EVER_US : 0);
		fuzz_check(stream.forward.txq != NULL);
	}
}

static void
run(struct beside *b)
{
	static const struct weir_task_ops ops = {
		.name = "beside",
		.state_size = sizeof(struct beside *),
		.poll = beside_poll,
	};
	struct stream *s = &stream;

	b->join = weir_task_spawn(rt, &mode->task, &s, NULL);
	fuzz_check(b->join != NULL);
	fuzz_check(weir_runtime_block_on(rt, &ops, &b, NULL) == 0);
}

/* Each packet is accounted for, and each mbuf is back. */
static void
check_account(const struct beside *b)
{
	uint64_t lost = stream.tx.dropped;

	/* Who is aborted leaves some behind, which go with the queue. */
	fuzz_check(stream.forward.received == nb_frames ||
		   (b->abort && stream.forward.received < nb_frames));
	fuzz_check(stream.tx.sent == nb_sent);
	fuzz_check(stream.forward.received + stream.generated ==
		   stream.consumed + nb_sent + lost);
	fuzz_check(stream.forward.link_downs <= b->links_down);
	fuzz_check(b->outcome == (b->abort ? -ECANCELED : -ESHUTDOWN) ||
		   (b->finished && b->outcome == -ESHUTDOWN) ||
		   (mode->receives && b->outcome == -ENODEV));
	fuzz_check(!b->finished || nb_frames <= b->most);
	fuzz_check(segments_left == 0);
	fuzz_check(rte_mempool_in_use_count(rx_pool) == 0);
	fuzz_check(rte_mempool_in_use_count(own_pool) == 0);
}

/* The packets go past its driver, which is there for all the rest. */
static void
start_port(void)
{
	const struct rte_eth_conf conf = { 0 };

	fuzz_check(rte_eal_hotplug_add("vdev", "net_null0", "") == 0);
	fuzz_check(rte_eth_dev_get_port_by_name("net_null0", &port) == 0);
	fuzz_check(rte_eth_dev_configure(port, 1, 1, &conf) == 0);
	fuzz_check(rte_eth_rx_queue_setup(port, 0, 64, 0, NULL, own_pool) == 0);
	fuzz_check(rte_eth_tx_queue_setup(port, 0, 64, 0, NULL) == 0);
	fuzz_check(rte_eth_dev_start(port) == 0);
	rte_eth_fp_ops[port].rx_pkt_burst = rx;
	rte_eth_fp_ops[port].tx_pkt_burst = tx;
}

static void
stop(void)
{
	weir_runtime_free(rt);
	rte_eth_dev_stop(port);
	rte_eth_dev_close(port);
}

int
LLVMFuzzerInitialize(int *argc, char ***argv)
{
	struct weir_options o;

	fuzz_eal_init();
	rx_pool = rte_pktmbuf_pool_create("rx", FRAMES_MAX * SEGMENTS_MAX, 0, 0,
					  0, 0);
	own_pool =
		rte_pktmbuf_pool_create("own", OWN_MBUFS, 0, 0, OWN_BUFFER, 0);
	fuzz_check(rx_pool != NULL && own_pool != NULL);
	start_port();
	weir_options_init(&o);
	o.current_thread = true;
	rt = weir_runtime_create(&o);
	fuzz_check(rt != NULL);
	atexit(stop);
	return 0;
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct beside b = { 0 };
	unsigned int i;

	in = (struct fuzz_input){ data, size };
	begin(&b);
	run(&b);
	weir_rxq_free(stream.forward.rxq);
	check_account(&b);
	for (i = 0; i < nb_frames; i++)
		free(frames[i].data);
	return 0;
}
