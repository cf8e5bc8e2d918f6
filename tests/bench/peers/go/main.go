// SPDX-License-Identifier: BSD-3-Clause

// The scenarios of the scheduler on goroutines: `go SCENARIO WORKERS` prints a
// sample as ../../sched.c does. GOMAXPROCS is the number of workers.
package main

import (
	"fmt"
	"os"
	"runtime"
	"sort"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

const (
	warmUp  = 100 * time.Millisecond
	measure = 400 * time.Millisecond
)

type round func(workers int) []float64

func nsEach(begin time.Time, n int) []float64 {
	return []float64{float64(time.Since(begin).Nanoseconds()) / float64(n)}
}

func spin(x uint64, steps int) uint64 {
	for i := 0; i < steps; i++ {
		x ^= x << 13
		x ^= x >> 7
		x ^= x << 17
	}
	return x
}

func spawnLocal(int) []float64 {
	const tasks = 10000
	var group sync.WaitGroup
	begin := time.Now()
	group.Add(tasks)
	for i := 0; i < tasks; i++ {
		go group.Done()
	}
	group.Wait()
	return nsEach(begin, tasks)
}

func spawnJoin(int) []float64 {
	const pairs = 50000
	done := make(chan struct{})
	begin := time.Now()
	for i := 0; i < pairs; i++ {
		go func() { done <- struct{}{} }()
		<-done
	}
	return nsEach(begin, pairs)
}

func link(left int, done chan struct{}) {
	if left > 1 {
		go link(left-1, done)
	} else {
		done <- struct{}{}
	}
}

func chainedSpawn(int) []float64 {
	const links = 1000
	done := make(chan struct{})
	begin := time.Now()
	go link(links, done)
	<-done
	return nsEach(begin, links)
}

func yieldMany(int) []float64 {
	const tasks, yields = 200, 1000
	var group sync.WaitGroup
	begin := time.Now()
	group.Add(tasks)
	for i := 0; i < tasks; i++ {
		go func() {
			for i := 0; i < yields; i++ {
				runtime.Gosched()
			}
			group.Done()
		}()
	}
	group.Wait()
	return nsEach(begin, tasks*yields)
}

var kept uint64

// Goroutines go where they like: none can be bound to a worker.
func mpsc(int) []float64 {
	const capacity, numbers = 1024, 500000
	begin := time.Now()
	values := make(chan uint64, capacity)
	for i := 0; i < 2; i++ {
		go func() {
			for i := uint64(0); i < numbers; i++ {
				values <- i
			}
		}()
	}
	for i := 0; i < 2*numbers; i++ {
		<-values
	}
	return nsEach(begin, 2*numbers)
}

func fanOutSteal(workers int) []float64 {
	const tasks, steps, spins = 100000, 470, 2000
	var group sync.WaitGroup
	begin := time.Now()
	x := uint64(1)
	for i := 0; i < spins; i++ {
		x = spin(x, steps)
	}
	atomic.StoreUint64(&kept, x)
	cost := time.Since(begin).Seconds() / spins
	begin = time.Now()
	group.Add(tasks)
	for i := uint64(1); i <= tasks; i++ {
		go func(i uint64) {
			if spin(i, steps) == 0 {
				atomic.StoreUint64(&kept, 1)
			}
			group.Done()
		}(i)
	}
	group.Wait()
	return []float64{tasks * cost / float64(workers) / time.Since(begin).Seconds()}
}

func cpuNs() float64 {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		panic(err)
	}
	return float64(usage.Utime.Nano() + usage.Stime.Nano())
}

func timers(int) []float64 {
	const n, leastNs, rangeNs, burst = 100000, 100000000, 900000000, 64
	var group sync.WaitGroup
	late := make([]float64, n)
	var noted atomic.Uint64
	x := uint64(88172645463325252)
	before := cpuNs()
	group.Add(n)
	for i := 0; i < n; i++ {
		// The sleepers begin to sleep meanwhile.
		if i%burst == 0 {
			runtime.Gosched()
		}
		x = spin(x, 1)
		go func(d time.Duration) {
			deadline := time.Now().Add(d)
			time.Sleep(d)
			late[noted.Add(1)-1] = float64(time.Since(deadline).Nanoseconds()) / 1e3
			group.Done()
		}(time.Duration(leastNs + x%rangeNs))
	}
	group.Wait()
	cpu := (cpuNs() - before) / n
	sort.Float64s(late)
	return []float64{cpu, late[n/2], late[n/100*99]}
}

func timerReset(int) []float64 {
	const n, idle = 100000, 30 * time.Second
	timers := make([]*time.Timer, n)
	for i := range timers {
		timers[i] = time.NewTimer(idle)
	}
	x := uint64(88172645463325252)
	begin := time.Now()
	for i := 0; i < n; i++ {
		x = spin(x, 1)
		timers[x%n].Reset(idle)
	}
	took := nsEach(begin, n)
	for _, timer := range timers {
		timer.Stop()
	}
	return took
}

func rss() float64 {
	statm, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		panic(err)
	}
	pages, err := strconv.Atoi(strings.Fields(string(statm))[1])
	if err != nil {
		panic(err)
	}
	return float64(pages * os.Getpagesize())
}

func memory(int) []float64 {
	const tasks = 1000000
	var running sync.WaitGroup
	never := make(chan struct{})
	before := rss()
	running.Add(tasks)
	for i := 0; i < tasks; i++ {
		go func() {
			running.Done()
			<-never
		}()
	}
	running.Wait()
	return []float64{(rss() - before) / tasks}
}

func rounds(r round, workers int, least time.Duration, once bool) [][]float64 {
	begin := time.Now()
	all := [][]float64{r(workers)}
	for !once && time.Since(begin) < least {
		all = append(all, r(workers))
	}
	return all
}

func main() {
	scenarios := map[string]round{
		"spawn_local":   spawnLocal,
		"spawn_join":    spawnJoin,
		"chained_spawn": chainedSpawn,
		"yield_many":    yieldMany,
		"mpsc":          mpsc,
		"fan_out_steal": fanOutSteal,
		"timers":        timers,
		"timer_reset":   timerReset,
		"memory":        memory,
	}
	if len(os.Args) != 3 || scenarios[os.Args[1]] == nil {
		os.Exit(2)
	}
	r := scenarios[os.Args[1]]
	workers, err := strconv.Atoi(os.Args[2])
	if err != nil {
		os.Exit(2)
	}
	runtime.GOMAXPROCS(workers)
	// What waits for ever stays: once is all.
	once := os.Args[1] == "memory"
	if !once {
		rounds(r, workers, warmUp, once)
	}
	all := rounds(r, workers, measure, once)
	fmt.Print("figures")
	for i := range all[0] {
		values := make([]float64, len(all))
		for j := range all {
			values[j] = all[j][i]
		}
		sort.Float64s(values)
		fmt.Printf(" %.4f", values[len(values)/2])
	}
	fmt.Println()
}
