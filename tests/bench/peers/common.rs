// SPDX-License-Identifier: BSD-3-Clause

//! What the programs in Rust have in common: the work of tasks, what is
//! measured of the process, and the rounds of a sample.

use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering::*};
use std::sync::Mutex;
use std::thread::{self, Thread};
use std::time::{Duration, Instant};

const WARM_UP: Duration = Duration::from_millis(100);
const MEASURE: Duration = Duration::from_millis(400);

pub fn ns_each(begin: Instant, n: usize) -> Vec<f64> {
    vec![begin.elapsed().as_nanos() as f64 / n as f64]
}

pub fn spin(mut x: u64, steps: u32) -> u64 {
    for _ in 0..steps {
        x ^= x << 13;
        x ^= x >> 7;
        x ^= x << 17;
    }
    x
}

/// So that the compiler cannot leave out what made the value.
pub fn keep(x: u64) {
    let mut kept = 0;
    unsafe { std::ptr::write_volatile(&mut kept, x) };
}

/// How long so many steps take here, in seconds.
pub fn cost_of_spin(steps: u32) -> f64 {
    const SPINS: u32 = 2_000;
    let begin = Instant::now();
    let mut x = begin.elapsed().as_nanos() as u64 | 1;
    for _ in 0..SPINS {
        x = spin(x, steps);
    }
    keep(x);
    begin.elapsed().as_secs_f64() / f64::from(SPINS)
}

pub fn cpu_ns() -> f64 {
    let mut t = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    unsafe { libc::clock_gettime(libc::CLOCK_PROCESS_CPUTIME_ID, &mut t) };
    t.tv_sec as f64 * 1e9 + t.tv_nsec as f64
}

/// Bytes of memory that are resident.
pub fn rss() -> f64 {
    let statm = std::fs::read_to_string("/proc/self/statm").unwrap();
    let pages: f64 = statm.split_whitespace().nth(1).unwrap().parse().unwrap();
    pages * unsafe { libc::sysconf(libc::_SC_PAGESIZE) } as f64
}

/// What timers were late, in ns and in the order in which they came.
pub struct Lateness {
    ns: Vec<AtomicU32>,
    noted: AtomicUsize,
}

impl Lateness {
    pub fn new(n: usize) -> Self {
        let ns = (0..n).map(|_| AtomicU32::new(0)).collect();
        Lateness { ns, noted: AtomicUsize::new(0) }
    }

    pub fn note(&self, late: Duration) {
        self.ns[self.noted.fetch_add(1, Relaxed)].store(late.as_nanos() as u32, Relaxed);
    }

    /// The figures of the scenario `timers`.
    pub fn figures(&self, cpu_ns: f64) -> Vec<f64> {
        let mut late: Vec<u32> = self.ns.iter().map(|ns| ns.load(Relaxed)).collect();
        late.sort_unstable();
        let n = late.len();
        let us = |i: usize| f64::from(late[i]) / 1e3;
        vec![cpu_ns / n as f64, us(n / 2), us(n / 100 * 99)]
    }
}

/// What tasks count down, for a thread that blocks until nothing is left. As a
/// static it costs them no references.
pub struct Countdown {
    left: AtomicUsize,
    waiter: Mutex<Option<Thread>>,
}

impl Countdown {
    pub const fn new() -> Self {
        Countdown { left: AtomicUsize::new(0), waiter: Mutex::new(None) }
    }

    pub fn begin(&self, n: usize) {
        *self.waiter.lock().unwrap() = Some(thread::current());
        self.left.store(n, Relaxed);
    }

    pub fn count(&self) {
        if self.left.fetch_sub(1, AcqRel) == 1 {
            self.waiter.lock().unwrap().as_ref().unwrap().unpark();
        }
    }

    pub fn wait(&self) {
        while self.left.load(Acquire) > 0 {
            thread::park();
        }
    }
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_unstable_by(f64::total_cmp);
    values[values.len() / 2]
}

/// Repeats a round for a while, after a warm-up, and prints the medians. `once`:
/// what it asks for stays, so one round is all.
pub fn sample(once: bool, round: impl Fn() -> Vec<f64>) {
    let rounds = |least: Duration| {
        let begin = Instant::now();
        let mut rounds = vec![round()];
        while !once && begin.elapsed() < least {
            rounds.push(round());
        }
        rounds
    };
    if !once {
        rounds(WARM_UP);
    }
    let rounds = rounds(MEASURE);
    print!("figures");
    for i in 0..rounds[0].len() {
        print!(" {:.4}", median(rounds.iter().map(|r| r[i]).collect()));
    }
    println!();
}
