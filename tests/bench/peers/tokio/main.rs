// SPDX-License-Identifier: BSD-3-Clause

//! The scenarios of the scheduler on tokio: `tokio-peer SCENARIO WORKERS`
//! prints a sample as ../../sched.c does.

#[path = "../common.rs"]
mod common;

use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering::*};
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

use tokio::runtime::{Builder, Runtime};
use tokio::sync::{mpsc::channel, oneshot, Notify};
use tokio::task::{unconstrained, yield_now};
use tokio::time::{self, sleep_until, Sleep};

use common::{cost_of_spin, cpu_ns, keep, ns_each, rss, spin, Countdown, Lateness};

/// Runs a future as a task, so on a worker, and waits for it here.
fn drive<T, F>(rt: &Runtime, f: F) -> T
where
    F: Future<Output = T> + Send + 'static,
    T: Send + 'static,
{
    rt.block_on(rt.spawn(f)).unwrap()
}

fn spawn_local(rt: &Runtime, _workers: usize) -> Vec<f64> {
    const TASKS: usize = 10_000;
    drive(rt, async {
        let begin = Instant::now();
        let handles: Vec<_> = (0..TASKS).map(|_| tokio::spawn(async {})).collect();
        for handle in handles {
            handle.await.unwrap();
        }
        ns_each(begin, TASKS)
    })
}

fn spawn_remote(rt: &Runtime, _workers: usize) -> Vec<f64> {
    const TASKS: usize = 10_000;
    static LEFT: Countdown = Countdown::new();
    let begin = Instant::now();
    LEFT.begin(TASKS);
    for _ in 0..TASKS {
        rt.spawn(async { LEFT.count() });
    }
    LEFT.wait();
    ns_each(begin, TASKS)
}

fn spawn_join(rt: &Runtime, _workers: usize) -> Vec<f64> {
    const PAIRS: usize = 50_000;
    drive(rt, async {
        let begin = Instant::now();
        for _ in 0..PAIRS {
            tokio::spawn(async {}).await.unwrap();
        }
        ns_each(begin, PAIRS)
    })
}

fn link(left: usize, done: oneshot::Sender<()>) {
    tokio::spawn(async move {
        if left > 1 {
            link(left - 1, done);
        } else {
            done.send(()).unwrap();
        }
    });
}

fn chained_spawn(rt: &Runtime, _workers: usize) -> Vec<f64> {
    const LINKS: usize = 1_000;
    drive(rt, async {
        let (done, all_done) = oneshot::channel();
        let begin = Instant::now();
        link(LINKS, done);
        all_done.await.unwrap();
        ns_each(begin, LINKS)
    })
}

fn yield_many(rt: &Runtime, _workers: usize) -> Vec<f64> {
    const TASKS: usize = 200;
    const YIELDS: usize = 1_000;
    drive(rt, async {
        let begin = Instant::now();
        let yielder = || async {
            for _ in 0..YIELDS {
                yield_now().await;
            }
        };
        let handles: Vec<_> = (0..TASKS).map(|_| tokio::spawn(yielder())).collect();
        for handle in handles {
            handle.await.unwrap();
        }
        ns_each(begin, TASKS * YIELDS)
    })
}

fn ping_pong_oneshot(rt: &Runtime, _workers: usize) -> Vec<f64> {
    const PAIRS: usize = 1_000;
    drive(rt, async {
        let begin = Instant::now();
        let ping = || async {
            let (there, pong) = oneshot::channel();
            let (back, ping) = oneshot::channel();
            tokio::spawn(async move {
                let value: u64 = pong.await.unwrap();
                back.send(value).unwrap();
            });
            there.send(1).unwrap();
            ping.await.unwrap();
        };
        let handles: Vec<_> = (0..PAIRS).map(|_| tokio::spawn(ping())).collect();
        for handle in handles {
            handle.await.unwrap();
        }
        ns_each(begin, PAIRS)
    })
}

fn ping_pong_chan(rt: &Runtime, _workers: usize) -> Vec<f64> {
    const PAIRS: usize = 1_000;
    const TRIPS: usize = 100;
    drive(rt, async {
        let begin = Instant::now();
        let mut handles = Vec::with_capacity(2 * PAIRS);
        for _ in 0..PAIRS {
            let (there, mut pong) = channel::<u64>(1);
            let (back, mut ping) = channel::<u64>(1);
            handles.push(tokio::spawn(async move {
                for i in 0..TRIPS as u64 {
                    there.send(i).await.unwrap();
                    ping.recv().await.unwrap();
                }
            }));
            handles.push(tokio::spawn(async move {
                for _ in 0..TRIPS {
                    back.send(pong.recv().await.unwrap()).await.unwrap();
                }
            }));
        }
        for handle in handles {
            handle.await.unwrap();
        }
        ns_each(begin, PAIRS * TRIPS)
    })
}

/// Its tasks go where they like: none can be bound to a worker.
fn mpsc_channel(rt: &Runtime, _workers: usize) -> Vec<f64> {
    const CAPACITY: usize = 1_024;
    const NUMBERS: usize = 500_000;
    drive(rt, async {
        let begin = Instant::now();
        let (tx, mut rx) = channel::<u64>(CAPACITY);
        for _ in 0..2 {
            let tx = tx.clone();
            tokio::spawn(async move {
                for i in 0..NUMBERS as u64 {
                    tx.send(i).await.unwrap();
                }
            });
        }
        for _ in 0..2 * NUMBERS {
            rx.recv().await.unwrap();
        }
        ns_each(begin, 2 * NUMBERS)
    })
}

/// A task cannot be bound to a worker here; to a runtime of one thread it can.
fn cross_wake(_rt: &Runtime, _workers: usize) -> Vec<f64> {
    const TRIPS: usize = 10_000;
    let (mine, theirs) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
    let (their_mine, their_theirs) = (theirs.clone(), mine.clone());
    let current = || Builder::new_current_thread().build().unwrap();
    let other = std::thread::spawn(move || {
        current().block_on(async move {
            for _ in 0..TRIPS {
                their_mine.notified().await;
                their_theirs.notify_one();
            }
        })
    });
    let figures = current().block_on(async move {
        let begin = Instant::now();
        for _ in 0..TRIPS {
            theirs.notify_one();
            mine.notified().await;
        }
        ns_each(begin, TRIPS)
    });
    other.join().unwrap();
    figures
}

fn fan_out_steal(rt: &Runtime, workers: usize) -> Vec<f64> {
    const TASKS: usize = 100_000;
    const STEPS: u32 = 470;
    drive(rt, async move {
        let cost = cost_of_spin(STEPS);
        let begin = Instant::now();
        let handles: Vec<_> = (0..TASKS as u64)
            .map(|i| {
                tokio::spawn(async move {
                    keep(spin(i + 1, STEPS));
                })
            })
            .collect();
        for handle in handles {
            handle.await.unwrap();
        }
        vec![TASKS as f64 * cost / workers as f64 / begin.elapsed().as_secs_f64()]
    })
}

fn timers(rt: &Runtime, _workers: usize) -> Vec<f64> {
    const TIMERS: usize = 100_000;
    const LEAST_NS: u64 = 100_000_000;
    const RANGE_NS: u64 = 900_000_000;
    const BURST: usize = 64;
    let late = Arc::new(Lateness::new(TIMERS));
    let noted = late.clone();
    let before = cpu_ns();
    drive(rt, async move {
        let mut x = 88172645463325252;
        let mut handles = Vec::with_capacity(TIMERS);
        for i in 0..TIMERS {
            // The sleepers begin to sleep meanwhile.
            if i % BURST == 0 {
                tokio::task::yield_now().await;
            }
            x = spin(x, 1);
            let ns = LEAST_NS + x % RANGE_NS;
            let late = noted.clone();
            handles.push(tokio::spawn(async move {
                let deadline = tokio::time::Instant::now() + Duration::from_nanos(ns);
                sleep_until(deadline).await;
                late.note(deadline.elapsed());
            }));
        }
        for handle in handles {
            handle.await.unwrap();
        }
    });
    let cpu = cpu_ns() - before;
    late.figures(cpu)
}

/// Polls each sleep once, so that it is in the wheel.
struct Begin<'a>(&'a mut [Pin<Box<Sleep>>]);

impl Future for Begin<'_> {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        for sleep in self.0.iter_mut() {
            assert!(sleep.as_mut().poll(cx).is_pending());
        }
        Poll::Ready(())
    }
}

fn timer_reset(rt: &Runtime, _workers: usize) -> Vec<f64> {
    const TIMERS: usize = 100_000;
    const IDLE: Duration = Duration::from_secs(30);
    drive(rt, async {
        let mut sleeps: Vec<_> = (0..TIMERS).map(|_| Box::pin(time::sleep(IDLE))).collect();
        unconstrained(Begin(&mut sleeps)).await;
        let mut x = 88172645463325252;
        let begin = Instant::now();
        for _ in 0..TIMERS {
            x = spin(x, 1);
            let deadline = time::Instant::now() + IDLE;
            sleeps[x as usize % TIMERS].as_mut().reset(deadline);
        }
        ns_each(begin, TIMERS)
    })
}

static WAITING: AtomicUsize = AtomicUsize::new(0);

/// Keeps its waker and waits for ever.
struct Waiter(Option<Waker>);

impl Future for Waiter {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        self.0 = Some(cx.waker().clone());
        WAITING.fetch_add(1, Relaxed);
        Poll::Pending
    }
}

fn memory(rt: &Runtime, _workers: usize) -> Vec<f64> {
    const TASKS: usize = 1_000_000;
    let before = rss();
    drive(rt, async {
        for _ in 0..TASKS {
            tokio::spawn(Waiter(None));
        }
        while WAITING.load(Relaxed) < TASKS {
            yield_now().await;
        }
    });
    vec![(rss() - before) / TASKS as f64]
}

type Round = fn(&Runtime, usize) -> Vec<f64>;

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    let scenarios: [(&str, Round); 13] = [
        ("spawn_local", spawn_local),
        ("spawn_remote", spawn_remote),
        ("spawn_join", spawn_join),
        ("chained_spawn", chained_spawn),
        ("yield_many", yield_many),
        ("ping_pong_oneshot", ping_pong_oneshot),
        ("ping_pong_chan", ping_pong_chan),
        ("cross_wake", cross_wake),
        ("fan_out_steal", fan_out_steal),
        ("mpsc", mpsc_channel),
        ("timers", timers),
        ("timer_reset", timer_reset),
        ("memory", memory),
    ];
    let round = scenarios.iter().find(|s| s.0 == arguments[1]).unwrap().1;
    let workers = arguments[2].parse().unwrap();
    let rt = Builder::new_multi_thread()
        .worker_threads(workers)
        .enable_time()
        .build()
        .unwrap();
    // What waits for ever stays: once is all.
    common::sample(arguments[1] == "memory", || round(&rt, workers));
}
