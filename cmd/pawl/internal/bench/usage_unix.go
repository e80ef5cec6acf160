//go:build unix

package bench

import (
	"bufio"
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// processCPU is the processor time of this process and of its live children but one: the workers of scripts belong to
// the engine, the other process of the measurement does not.
func processCPU(except int) time.Duration {
	var sum time.Duration
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) == nil {
		sum += time.Duration(u.Utime.Nano() + u.Stime.Nano())
	}
	for _, pid := range children(except) {
		b, err := os.ReadFile("/proc/" + pid + "/stat")
		if err != nil {
			continue
		}
		// The name in parentheses may hold anything; utime and stime are the 12th and 13th after it.
		fields := strings.Fields(string(b[bytes.LastIndexByte(b, ')')+1:]))
		if len(fields) > 12 {
			const tick = 10 * time.Millisecond
			for _, field := range fields[11:13] {
				ticks, _ := strconv.ParseInt(field, 10, 64)
				sum += time.Duration(ticks) * tick
			}
		}
	}
	return sum
}

// children lists the processes that this one has started, but one.
func children(except int) []string {
	var pids []string
	lists, _ := filepath.Glob("/proc/self/task/*/children")
	for _, list := range lists {
		b, err := os.ReadFile(list)
		if err != nil {
			continue
		}
		for pid := range strings.FieldsSeq(string(b)) {
			if pid != strconv.Itoa(except) {
				pids = append(pids, pid)
			}
		}
	}
	return pids
}

func allocated(info os.FileInfo) int64 {
	if s, ok := info.Sys().(*syscall.Stat_t); ok {
		return s.Blocks * 512
	}
	return info.Size()
}

// proportionalMemory sums the shares of memory (PSS) of this process and its live children but one,
// in bytes; 0 where the system does not say.
func proportionalMemory(except int) int64 {
	sum := int64(0)
	for _, pid := range append(children(except), "self") {
		b, err := os.ReadFile("/proc/" + pid + "/smaps_rollup")
		if err != nil {
			continue
		}
		lines := bufio.NewScanner(bytes.NewReader(b))
		for lines.Scan() {
			if rest, ok := strings.CutPrefix(lines.Text(), "Pss:"); ok {
				kb, _ := strconv.ParseInt(strings.TrimSuffix(strings.TrimSpace(rest), " kB"), 10, 64)
				sum += kb << 10
				break
			}
		}
	}
	return sum
}
