// SPDX-License-Identifier: BSD-3-Clause

//! The scenarios of the scheduler on smol's executor, which so many threads run:
//! `smol-peer SCENARIO WORKERS` prints a sample as ../../sched.c does.

#[path = "../common.rs"]
mod common;

use std::future::{pending, Future};
use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering::*};
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

use smol::channel::{bounded, Sender};
use smol::future::{poll_once, yield_now};
use smol::{block_on, Executor, Timer};

use common::{cost_of_spin, cpu_ns, keep, ns_each, rss, spin, Countdown, Lateness};

static EXECUTOR: Executor = Executor::new();

/// Runs a future as a task, so on a worker, and waits for it here.
fn drive<T, F>(f: F) -> T
where
    F: Future<Output = T> + Send + 'static,
    T: Send + 'static,
{
    block_on(EXECUTOR.spawn(f))
}

fn spawn_local(_workers: usize) -> Vec<f64> {
    const TASKS: usize = 10_000;
    drive(async {
        let begin = Instant::now();
        let tasks: Vec<_> = (0..TASKS).map(|_| EXECUTOR.spawn(async {})).collect();
        for task in tasks {
            task.await;
        }
        ns_each(begin, TASKS)
    })
}

fn spawn_remote(_workers: usize) -> Vec<f64> {
    const TASKS: usize = 10_000;
    static LEFT: Countdown = Countdown::new();
    let begin = Instant::now();
    LEFT.begin(TASKS);
    for _ in 0..TASKS {
        EXECUTOR.spawn(async { LEFT.count() }).detach();
    }
    LEFT.wait();
    ns_each(begin, TASKS)
}

fn spawn_join(_workers: usize) -> Vec<f64> {
    const PAIRS: usize = 50_000;
    drive(async {
        let begin = Instant::now();
        for _ in 0..PAIRS {
            EXECUTOR.spawn(async {}).await;
        }
        ns_each(begin, PAIRS)
    })
}

fn link(left: usize, done: Sender<()>) {
    let next = async move {
        if left > 1 {
            link(left - 1, done);
        } else {
            done.send(()).await.unwrap();
        }
    };
    EXECUTOR.spawn(next).detach();
}

fn chained_spawn(_workers: usize) -> Vec<f64> {
    const LINKS: usize = 1_000;
    drive(async {
        let (done, all_done) = bounded(1);
        let begin = Instant::now();
        link(LINKS, done);
        all_done.recv().await.unwrap();
        ns_each(begin, LINKS)
    })
}

fn yield_many(_workers: usize) -> Vec<f64> {
    const TASKS: usize = 200;
    const YIELDS: usize = 1_000;
    drive(async {
        let begin = Instant::now();
        let yielder = || async {
            for _ in 0..YIELDS {
                yield_now().await;
            }
        };
        let tasks: Vec<_> = (0..TASKS).map(|_| EXECUTOR.spawn(yielder())).collect();
        for task in tasks {
            task.await;
        }
        ns_each(begin, TASKS * YIELDS)
    })
}

fn ping_pong_chan(_workers: usize) -> Vec<f64> {
    const PAIRS: usize = 1_000;
    const TRIPS: usize = 100;
    drive(async {
        let begin = Instant::now();
        let mut tasks = Vec::with_capacity(2 * PAIRS);
        for _ in 0..PAIRS {
            let (there, pong) = bounded::<u64>(1);
            let (back, ping) = bounded::<u64>(1);
            tasks.push(EXECUTOR.spawn(async move {
                for i in 0..TRIPS as u64 {
                    there.send(i).await.unwrap();
                    ping.recv().await.unwrap();
                }
            }));
            tasks.push(EXECUTOR.spawn(async move {
                for _ in 0..TRIPS {
                    back.send(pong.recv().await.unwrap()).await.unwrap();
                }
            }));
        }
        for task in tasks {
            task.await;
        }
        ns_each(begin, PAIRS * TRIPS)
    })
}

/// Its tasks go where they like: none can be bound to a worker.
fn mpsc_channel(_workers: usize) -> Vec<f64> {
    const CAPACITY: usize = 1_024;
    const NUMBERS: usize = 500_000;
    drive(async {
        let begin = Instant::now();
        let (tx, rx) = bounded::<u64>(CAPACITY);
        for _ in 0..2 {
            let tx = tx.clone();
            let send = async move {
                for i in 0..NUMBERS as u64 {
                    tx.send(i).await.unwrap();
                }
            };
            EXECUTOR.spawn(send).detach();
        }
        for _ in 0..2 * NUMBERS {
            rx.recv().await.unwrap();
        }
        ns_each(begin, 2 * NUMBERS)
    })
}

fn fan_out_steal(workers: usize) -> Vec<f64> {
    const TASKS: usize = 100_000;
    const STEPS: u32 = 470;
    drive(async move {
        let cost = cost_of_spin(STEPS);
        let begin = Instant::now();
        let tasks: Vec<_> = (0..TASKS as u64)
            .map(|i| EXECUTOR.spawn(async move { keep(spin(i + 1, STEPS)) }))
            .collect();
        for task in tasks {
            task.await;
        }
        vec![TASKS as f64 * cost / workers as f64 / begin.elapsed().as_secs_f64()]
    })
}

fn timers(_workers: usize) -> Vec<f64> {
    const TIMERS: usize = 100_000;
    const LEAST_NS: u64 = 100_000_000;
    const RANGE_NS: u64 = 900_000_000;
    const BURST: usize = 64;
    let late = Arc::new(Lateness::new(TIMERS));
    let noted = late.clone();
    let before = cpu_ns();
    drive(async move {
        let mut x = 88172645463325252;
        let mut tasks = Vec::with_capacity(TIMERS);
        for i in 0..TIMERS {
            // The sleepers begin to sleep meanwhile.
            if i % BURST == 0 {
                smol::future::yield_now().await;
            }
            x = spin(x, 1);
            let ns = LEAST_NS + x % RANGE_NS;
            let late = noted.clone();
            tasks.push(EXECUTOR.spawn(async move {
                let deadline = Instant::now() + Duration::from_nanos(ns);
                Timer::at(deadline).await;
                late.note(deadline.elapsed());
            }));
        }
        for task in tasks {
            task.await;
        }
    });
    let cpu = cpu_ns() - before;
    late.figures(cpu)
}

fn timer_reset(_workers: usize) -> Vec<f64> {
    const TIMERS: usize = 100_000;
    const IDLE: Duration = Duration::from_secs(30);
    drive(async {
        let mut timers: Vec<_> = (0..TIMERS).map(|_| Timer::after(IDLE)).collect();
        // Polled once, so that it is among the reactor's.
        for timer in &mut timers {
            assert!(poll_once(timer).await.is_none());
        }
        let mut x = 88172645463325252;
        let begin = Instant::now();
        for _ in 0..TIMERS {
            x = spin(x, 1);
            timers[x as usize % TIMERS].set_after(IDLE);
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

fn memory(_workers: usize) -> Vec<f64> {
    const TASKS: usize = 1_000_000;
    let before = rss();
    drive(async {
        for _ in 0..TASKS {
            EXECUTOR.spawn(Waiter(None)).detach();
        }
        while WAITING.load(Relaxed) < TASKS {
            yield_now().await;
        }
    });
    vec![(rss() - before) / TASKS as f64]
}

type Round = fn(usize) -> Vec<f64>;

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    let scenarios: [(&str, Round); 11] = [
        ("spawn_local", spawn_local),
        ("spawn_remote", spawn_remote),
        ("spawn_join", spawn_join),
        ("chained_spawn", chained_spawn),
        ("yield_many", yield_many),
        ("ping_pong_chan", ping_pong_chan),
        ("fan_out_steal", fan_out_steal),
        ("mpsc", mpsc_channel),
        ("timers", timers),
        ("timer_reset", timer_reset),
        ("memory", memory),
    ];
    let round = scenarios.iter().find(|s| s.0 == arguments[1]).unwrap().1;
    let workers: usize = arguments[2].parse().unwrap();
    for _ in 0..workers {
        std::thread::spawn(|| block_on(EXECUTOR.run(pending::<()>())));
    }
    // What waits for ever stays: once is all.
    common::sample(arguments[1] == "memory", || round(workers));
}
