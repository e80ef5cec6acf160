//go:build unix

package jslog_test

import (
	"fmt"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/pawl-run/pawl/embeddednats"
	"github.com/pawl-run/pawl/embeddednats/natstest"
	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/eventlog/jslog"
	"github.com/pawl-run/pawl/eventlog/logtest"
)

// BenchmarkAppend measures durable appends: a server in the process that syncs every write, and
// so many workflows, each appending one transition of about 500 bytes after the other.
func BenchmarkAppend(b *testing.B) {
	for _, workflows := range []int{1, 4, 8, 12, 16, 24, 64, 256} {
		for _, from := range []int{2, 6, 12, 1000} {
			if workflows < from && from != 1000 || workflows > 64 && from < 12 {
				continue
			}
			b.Run(fmt.Sprintf("workflows=%d/from=%d", workflows, from), func(b *testing.B) {
				benchmarkAppend(b, workflows, jslog.Config{BatchFrom: from}, false)
			})
		}
	}
}

// BenchmarkAppendBarrier is BenchmarkAppend where every fourth entry is a barrier.
func BenchmarkAppendBarrier(b *testing.B) {
	for _, workflows := range []int{1, 64, 256} {
		b.Run(fmt.Sprintf("workflows=%d", workflows), func(b *testing.B) {
			benchmarkAppend(b, workflows, jslog.Config{EmbeddedSync: true}, true)
		})
	}
}

// BenchmarkAppendStaging compares where the server stages batches: in files of its own, or in memory. The
// numbers in the documentation of embeddednats come from it.
func BenchmarkAppendStaging(b *testing.B) {
	for _, workflows := range []int{8, 24, 64, 256} {
		for _, in := range []string{"files", "memory"} {
			b.Run(fmt.Sprintf("workflows=%d/in=%s", workflows, in), func(b *testing.B) {
				s := natstest.NewServer(b)
				var cfg jslog.Config
				if in == "memory" {
					cfg.Stage = s.StageInMemory
				}
				benchmarkAppendTo(b, s, workflows, cfg, false)
			})
		}
	}
}

// BenchmarkAppendUnsynced shows the cost in processor time without the disk.
func BenchmarkAppendUnsynced(b *testing.B) {
	for _, workflows := range []int{1, 64, 256} {
		b.Run(fmt.Sprintf("workflows=%d", workflows), func(b *testing.B) {
			benchmarkAppend(b, workflows, jslog.Config{}, false, natstest.Fast)
		})
	}
}

func benchmarkAppend(b *testing.B, workflows int, cfg jslog.Config, barriers bool,
	options ...func(*embeddednats.Config)) {
	benchmarkAppendTo(b, natstest.NewServer(b, options...), workflows, cfg, barriers)
}

func benchmarkAppendTo(b *testing.B, s *embeddednats.Server, workflows int, cfg jslog.Config, barriers bool) {
	cfg.Mark = filepath.Join(b.TempDir(), "mark")
	l := mustOpen(b, natstest.Connect(b, s), cfg)
	latencies := make([][]time.Duration, workflows)
	var left atomic.Int64
	left.Store(int64(b.N))
	before, cpu := l.Stats(), cpuTime(b)
	b.ResetTimer()
	var all sync.WaitGroup
	for i := range workflows {
		w := eventlog.WorkflowName(fmt.Sprintf("w%d", i))
		all.Go(func() {
			head := eventlog.Head{}
			for n := 0; left.Add(-1) >= 0; n++ {
				e := logtest.PaddedEntry(b, w, head, 250)
				e.Barrier = barriers && n%4 == 3
				start := time.Now()
				var err error
				if head, err = logtest.Head(l.Append(b.Context(), e)); err != nil {
					b.Error(err)
					return
				}
				latencies[i] = append(latencies[i], time.Since(start))
			}
		})
	}
	all.Wait()
	b.StopTimer()
	used, after := cpuTime(b)-cpu, l.Stats()
	sorted := slices.Sorted(slices.Values(slices.Concat(latencies...)))
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "appends/s")
	b.ReportMetric(float64(used.Microseconds())/float64(b.N), "cpu-µs/append")
	b.ReportMetric(float64(sorted[len(sorted)/2].Microseconds()), "p50-µs")
	b.ReportMetric(float64(sorted[len(sorted)*99/100].Microseconds()), "p99-µs")
	if n := after.Batches - before.Batches; n > 0 {
		b.ReportMetric(float64(after.BatchedMessages-before.BatchedMessages)/float64(n), "per-batch")
	}
}

func cpuTime(b *testing.B) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// BenchmarkRead measures reading a partition from its start, decoding included.
func BenchmarkRead(b *testing.B) {
	s := natstest.NewServer(b, natstest.Fast)
	l := mustOpen(b, natstest.Connect(b, s), jslog.Config{})
	const records = 100_000
	var all sync.WaitGroup
	for i := range 500 {
		all.Go(func() {
			head := eventlog.Head{}
			for range records / 500 {
				var err error
				if head, err = logtest.Head(l.Append(b.Context(),
					logtest.PaddedEntry(b, eventlog.WorkflowName(fmt.Sprintf("w%d", i)), head, 250))); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	all.Wait()
	cpu, total := cpuTime(b), 0
	for b.Loop() {
		var chain eventlog.Chain
		for r, err := range l.Read(b.Context(), 0, 1) {
			if err == nil {
				err = chain.Check(r)
			}
			if err != nil {
				b.Fatal(err)
			}
			total++
		}
	}
	if total != b.N*records {
		b.Errorf("%d records, want %d", total, b.N*records)
	}
	b.ReportMetric(float64(total)/b.Elapsed().Seconds(), "records/s")
	b.ReportMetric(float64((cpuTime(b)-cpu).Nanoseconds())/float64(total)/1000, "cpu-µs/record")
}
