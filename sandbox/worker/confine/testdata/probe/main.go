// Command probe confines itself and then tries to get out, every way it knows.
package main

import (
	"encoding/json"
	"fmt"
	"net"
	"os"
	"os/exec"
	"strconv"
	"sync"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/pawl-run/pawl/sandbox/worker/confine"
)

// findings are what came of it: an empty text is a success of the attempt.
type findings struct {
	Report      confine.Report
	Descriptors []string // still open, beside the standard streams
	Attempts    map[string]string
	Works       map[string]string
}

func main() {
	if err := confine.Reexec(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	f := findings{Attempts: make(map[string]string), Works: make(map[string]string)}
	f.Report = confine.Apply(confine.Config{Data: 160 << 20})
	f.Descriptors = descriptors()
	try := func(name string, attempt func() error) {
		f.Attempts[name] = ""
		if err := attempt(); err != nil {
			f.Attempts[name] = err.Error()
		}
	}
	call := func(number uintptr, args ...uintptr) func() error {
		return func() error {
			var a [6]uintptr
			copy(a[:], args)
			if _, _, errno := syscall.Syscall6(number, a[0], a[1], a[2], a[3], a[4], a[5]); errno != 0 {
				return errno
			}
			return nil
		}
	}
	text := func(s string) uintptr { p, _ := syscall.BytePtrFromString(s); return uintptr(unsafe.Pointer(p)) }
	listens := func(network, address string) func() error {
		return func() error { _, err := net.Listen(network, address); return err }
	}
	dials := func(network, address string) func() error {
		return func() error { _, err := net.Dial(network, address); return err }
	}
	socket := func(family, kind int) func() error {
		return func() error { _, err := unix.Socket(family, kind, 0); return err }
	}
	parent := os.Getppid()

	try("open a file", func() error { _, err := os.Open("/etc/hostname"); return err })
	try("open itself", func() error { _, err := os.Open("/proc/self/exe"); return err })
	try("open its memory", func() error { _, err := os.OpenFile("/proc/self/mem", os.O_RDWR, 0); return err })
	try("open /dev/null", func() error { _, err := os.Open("/dev/null"); return err })
	try("create a file", func() error { return os.WriteFile("/tmp/pawl-probe", nil, 0o600) })
	try("read a folder", func() error { _, err := os.ReadDir("/"); return err })
	try("stat a file", func() error { _, err := os.Stat("/etc/passwd"); return err })
	try("read a link", func() error { _, err := os.Readlink("/proc/self/exe"); return err })
	try("remove a file", func() error { return os.Remove("/tmp/pawl-no-such-file") })
	try("change directory", func() error { return os.Chdir("/tmp") })
	try("memory file", func() error { _, err := unix.MemfdCreate("x", 0); return err })
	try("listen on TCP", listens("tcp", "127.0.0.1:0"))
	try("connect TCP", dials("tcp", os.Args[1]))
	try("connect TCP 6", dials("tcp6", "[::1]:9"))
	try("listen on UDP", func() error { _, err := net.ListenPacket("udp", "127.0.0.1:0"); return err })
	try("connect UDP", dials("udp", "127.0.0.1:9"))
	try("listen on Unix", listens("unix", "@pawl-probe"))
	try("connect Unix", dials("unix", "@pawl-probe"))
	try("raw socket", socket(unix.AF_INET, unix.SOCK_RAW))
	try("netlink socket", socket(unix.AF_NETLINK, unix.SOCK_RAW))
	try("multipath TCP", func() error { _, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM, 262); return err })
	try("socket pair", func() error { _, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM, 0); return err })
	try("start a program", func() error { return exec.Command("/bin/true").Run() })
	try("execve", func() error { return unix.Exec("/bin/true", []string{"true"}, nil) })
	try("fork", call(unix.SYS_CLONE, uintptr(unix.SIGCHLD)))
	try("clone3", call(unix.SYS_CLONE3, 0, 0))
	try("signal the parent", func() error { return unix.Kill(parent, 0) })
	try("signal all", func() error { return unix.Kill(-1, 0) })
	try("thread signal to the parent", call(unix.SYS_TGKILL, uintptr(parent), uintptr(parent), 0))
	try("trace the parent", call(unix.SYS_PTRACE, unix.PTRACE_ATTACH, uintptr(parent)))
	try("be traced", call(unix.SYS_PTRACE, unix.PTRACE_TRACEME))
	try("read the parent's memory", call(unix.SYS_PROCESS_VM_READV, uintptr(parent)))
	try("file descriptor of the parent", func() error { _, err := unix.PidfdOpen(parent, 0); return err })
	try("take the owner's signals", call(unix.SYS_FCNTL, 1, unix.F_SETOWN, uintptr(parent)))
	try("mount", call(unix.SYS_MOUNT, text("none"), text("/tmp"), text("tmpfs")))
	try("namespace", call(unix.SYS_UNSHARE, unix.CLONE_NEWUSER))
	try("chroot", call(unix.SYS_CHROOT, text("/tmp")))
	try("become root", call(unix.SYS_SETUID, 0))
	try("io_uring", call(unix.SYS_IO_URING_SETUP, 1, 0))
	try("bpf", call(unix.SYS_BPF, 0, 0, 0))
	try("keyring", call(unix.SYS_KEYCTL, 0))
	try("raise a limit", func() error {
		return unix.Setrlimit(unix.RLIMIT_DATA, &unix.Rlimit{Cur: 1 << 40, Max: 1 << 40})
	})
	try("limit of the parent", call(unix.SYS_PRLIMIT64, uintptr(parent), unix.RLIMIT_CPU, 0))
	try("be dumpable", call(unix.SYS_PRCTL, unix.PR_SET_DUMPABLE, 1))
	try("outlive the parent", call(unix.SYS_PRCTL, unix.PR_SET_PDEATHSIG, 0))
	try("executable memory", func() error {
		_, err := unix.Mmap(-1, 0, 4096, unix.PROT_READ|unix.PROT_EXEC, unix.MAP_PRIVATE|unix.MAP_ANON)
		return err
	})
	try("make memory executable", func() error {
		page, err := unix.Mmap(-1, 0, 4096, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON)
		if err != nil {
			return err
		}
		return unix.Mprotect(page, unix.PROT_READ|unix.PROT_EXEC)
	})
	try("map shared memory", func() error {
		_, err := unix.Mmap(-1, 0, 4096, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED|unix.MAP_ANON)
		return err
	})
	try("map much memory", func() error {
		_, err := unix.Mmap(-1, 0, 512<<20, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON)
		return err
	})

	f.Works["many goroutines and collections"] = computes()
	out, err := json.Marshal(f)
	if err != nil {
		out = []byte(strconv.Quote(err.Error()))
	}
	os.Stdout.Write(out)
}

// computes does what a script's process must still be able to do: threads, memory, collections.
func computes() string {
	var wg sync.WaitGroup
	for range 64 {
		wg.Go(func() {
			var keep [][]byte
			for range 100 {
				keep = append(keep, make([]byte, 4<<10))
			}
			_ = keep
		})
	}
	wg.Wait()
	return ""
}

// descriptors are those that can be read, beside the standard streams. The runtime's own can not:
// they are no files and no pipes.
func descriptors() []string {
	var open []string
	for fd := 3; fd < 1024; fd++ {
		if _, err := unix.Read(fd, nil); err == nil || err != unix.EBADF && err != unix.EINVAL {
			open = append(open, fmt.Sprint(fd, " ", err))
		}
	}
	return open
}
