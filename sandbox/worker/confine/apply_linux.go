package confine

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"strconv"

	seccomp "github.com/elastic/go-seccomp-bpf"
	"github.com/elastic/go-seccomp-bpf/arch"
	"github.com/landlock-lsm/go-landlock/landlock"
	ll "github.com/landlock-lsm/go-landlock/landlock/syscall"
	"golang.org/x/sys/unix"
)

// threadStack is the stack of a thread that the C library makes after Reexec.
const threadStack = 512 << 10

// Reexec replaces a process that has the C library linked by the same program with small thread
// stacks. It returns only if that is not needed or not possible; arguments, environment and open
// pipes are those of before. Call it before anything else.
func Reexec() error {
	if !cgo || Race {
		return nil
	}
	var stack unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_STACK, &stack); err != nil {
		return fmt.Errorf("read the stack limit: %w", err)
	}
	if stack.Cur <= threadStack {
		return nil // this is the second start
	}
	stack.Cur = threadStack
	if err := unix.Setrlimit(unix.RLIMIT_STACK, &stack); err != nil {
		return fmt.Errorf("lower the stack limit: %w", err)
	}
	if err := unix.Exec("/proc/self/exe", os.Args, os.Environ()); err != nil {
		return fmt.Errorf("start again: %w", err)
	}
	return nil
}

// Apply confines the process.
func Apply(config Config) Report {
	runtime.LockOSThread() // the filter is spread from a thread that may not gain privileges
	defer runtime.UnlockOSThread()
	// Where the system's memory ends, this process is the one to go, and not the engine that has started it. Where it
	// cannot be said it is no hole: what one process may hold is limited all the same.
	_ = os.WriteFile("/proc/self/oom_score_adj", []byte("1000"), 0)
	var m measures
	m.note("inherited descriptors", closeInherited())
	m.note("core files", limit(unix.RLIMIT_CORE, 0))
	m.note("file size", limit(unix.RLIMIT_FSIZE, 0))
	m.note("open files", limit(unix.RLIMIT_NOFILE, 16))
	if config.Data > 0 {
		m.note("private memory", limitData(config.Data))
	}
	m.note("no new privileges", unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
	m.note("not dumpable", unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0))
	m.note("landlock", restrictFiles())
	m.note("system calls", filter())
	if m.held > 0 && !holds(m, "landlock") && !holds(m, "system calls") {
		m.held = 0 // limits alone do not keep a process from a file or a socket
	}
	return m.report()
}

// Offered is the level that this system lets a process of this program reach: Full where the kernel has Landlock and
// filters of system calls.
func Offered() Level {
	if version, err := ll.LandlockGetABIVersion(); err != nil || version < 1 || !seccomp.Supported() || Race {
		return None
	}
	return Full
}

// closeInherited closes what this process was started with beside its standard streams: a file that
// the parent's own parent left open would be out of every later measure's reach.
func closeInherited() error {
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		return err
	}
	for _, e := range entries {
		fd, err := strconv.Atoi(e.Name())
		if err != nil || fd <= 2 {
			continue
		}
		target, err := os.Readlink("/proc/self/fd/" + e.Name())
		if err != nil {
			continue // the folder that was read, closed by now
		}
		switch target {
		case "anon_inode:[eventpoll]", "anon_inode:[eventfd]":
			continue // the runtime's
		}
		if err := unix.Close(fd); err != nil {
			return fmt.Errorf("close %s: %w", target, err)
		}
	}
	return nil
}

func holds(m measures, name string) bool {
	for _, missing := range m.missing {
		if len(missing) > len(name) && missing[:len(name)+1] == name+":" {
			return false
		}
	}
	return true
}

func limit(resource int, value uint64) error {
	return unix.Setrlimit(resource, &unix.Rlimit{Cur: value, Max: value})
}

func limitData(bytes int64) error {
	if Race {
		return errors.New("the race detector is built in")
	}
	if cgo {
		var stack unix.Rlimit
		if err := unix.Getrlimit(unix.RLIMIT_STACK, &stack); err != nil {
			return err
		}
		if stack.Cur > threadStack {
			return errors.New("the C library is linked, and its thread stacks are too large")
		}
	}
	return limit(unix.RLIMIT_DATA, uint64(bytes))
}

// restrictFiles allows no path, no TCP port and no signal to others, as far as the kernel knows of
// these. System calls are filtered besides: Landlock alone lets UDP and multipath TCP through.
func restrictFiles() error {
	version, err := ll.LandlockGetABIVersion()
	if err != nil {
		return err
	}
	if version < 1 {
		return errors.New("not enabled in this kernel")
	}
	return landlock.V11.BestEffort().Restrict()
}

// needed are the system calls of a Go program that computes, and reads and writes open pipes.
var needed = []string{
	"read", "write", "close",
	"futex", "futex_time64", "nanosleep", "clock_nanosleep", "clock_gettime", "gettimeofday", "restart_syscall",
	"getrandom", "munmap", "madvise", "mincore", "brk", "mremap",
	"sched_yield", "sched_getaffinity", "getpid", "gettid", "getrusage",
	"rt_sigaction", "rt_sigprocmask", "rt_sigreturn", "sigaltstack",
	"epoll_create1", "epoll_ctl", "epoll_pwait", "epoll_wait", "eventfd2",
	"exit", "exit_group", "set_robust_list", "rseq",
}

// filter refuses every other system call with EPERM. It does not kill: a library that tries
// something and lives without it should live.
func filter() error {
	table, err := arch.GetInfo("")
	if err != nil {
		return err
	}
	known := func(name string) bool { _, ok := table.SyscallNames[name]; return ok }
	var names []string
	for _, name := range needed {
		if known(name) {
			names = append(names, name)
		}
	}
	on := func(name string, conditions ...seccomp.Condition) seccomp.NameWithConditions {
		return seccomp.NameWithConditions{Name: name, Conditions: conditions}
	}
	allowed := seccomp.SyscallGroup{
		Action: seccomp.ActionAllow, Names: names,
		NamesWithCondtions: []seccomp.NameWithConditions{
			// No new executable memory: what runs is what was there at the start. No shared memory: neither the limit
			// of private memory nor a look from outside counts it.
			on("mmap", seccomp.Condition{Argument: 2, Operation: seccomp.BitsNotSet, Value: unix.PROT_EXEC},
				seccomp.Condition{Argument: 3, Operation: seccomp.BitsNotSet, Value: unix.MAP_SHARED}),
			on("mprotect", seccomp.Condition{Argument: 2, Operation: seccomp.BitsNotSet, Value: unix.PROT_EXEC}),
			// The scheduler of Go interrupts its own threads by signals.
			on("tgkill", seccomp.Condition{Argument: 0, Operation: seccomp.Equal, Value: uint64(unix.Getpid())}),
			// Threads of the own process; without the flag, clone makes another one.
			on("clone", seccomp.Condition{Argument: 0, Operation: seccomp.BitsSet, Value: unix.CLONE_THREAD}),
		},
	}
	if known("clone3") {
		// Its flags lie in memory, where no filter can look. "Not implemented" makes the C library
		// use clone. This filter stands alone because the last group of one filter decides, and of
		// two filters the stricter answer counts: the second must let clone3 through to this one.
		refused := seccomp.SyscallGroup{Action: seccomp.ActionErrno | seccomp.Action(unix.ENOSYS),
			Names: []string{"clone3"}}
		if err := load(seccomp.Policy{DefaultAction: seccomp.ActionAllow,
			Syscalls: []seccomp.SyscallGroup{refused}}); err != nil {
			return err
		}
		allowed.Names = append(allowed.Names, "clone3")
	}
	return load(seccomp.Policy{DefaultAction: seccomp.ActionErrno, Syscalls: []seccomp.SyscallGroup{allowed}})
}

// load installs a filter for all threads.
func load(policy seccomp.Policy) error {
	return seccomp.LoadFilter(seccomp.Filter{NoNewPrivs: true, Flag: seccomp.FilterFlagTSync, Policy: policy})
}
