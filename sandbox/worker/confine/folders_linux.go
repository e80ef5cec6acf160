package confine

import (
	"fmt"
	"os"

	"github.com/elastic/go-seccomp-bpf"
	"github.com/landlock-lsm/go-landlock/landlock"
	"golang.org/x/sys/unix"
)

// systemFolders are what programs need of a system to run at all.
var systemFolders = []string{"/usr", "/bin", "/sbin", "/lib", "/lib64", "/etc", "/opt", "/proc", "/sys",
	"/nix/store"}

// Become confines this process to the folders, and turns it into the program: it returns only if that fails. Where the
// kernel knows less than all measures, those that it knows are taken; Offered says whether there are any.
func Become(f Folders, program string, args, environment []string) error {
	rules := []landlock.Rule{
		landlock.RODirs(append(systemFolders, only(f.Read, true)...)...).IgnoreIfMissing(),
		landlock.ROFiles(only(f.Read, false)...).IgnoreIfMissing(),
		landlock.RWDirs(only(f.Write, true)...),
		landlock.RWFiles(only(f.Write, false)...),
		// Of /dev no more: the shared memory of other programs is there too.
		landlock.RWFiles("/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom").IgnoreIfMissing(),
	}
	if err := landlock.V5.BestEffort().RestrictPaths(rules...); err != nil {
		return fmt.Errorf("confine %s to its folders: %w", program, err)
	}
	if !f.Network {
		if err := landlock.V5.BestEffort().RestrictNet(); err != nil {
			return fmt.Errorf("keep %s from the network: %w", program, err)
		}
		if err := noSockets(); err != nil {
			return fmt.Errorf("keep %s from the network: %w", program, err)
		}
	}
	if err := unix.Exec(program, args, environment); err != nil {
		return fmt.Errorf("start %s: %w", program, err)
	}
	return nil
}

// only are the paths of folders, or those of files. One that is not there counts as a folder.
func only(paths []string, folders bool) (chosen []string) {
	for _, path := range paths {
		info, err := os.Stat(path)
		if (err != nil || info.IsDir()) == folders {
			chosen = append(chosen, path)
		}
	}
	return chosen
}

// noSockets refuses sockets of the internet and of raw packets with EACCES: Landlock knows of TCP alone. The sockets of
// this machine's own programs stay, which many libraries need; so does netlink, which lists interfaces. A ring of
// io_uring would make sockets past this filter.
func noSockets() error {
	refused := seccomp.SyscallGroup{Action: seccomp.ActionErrno | seccomp.Action(unix.EACCES)}
	for _, family := range []uint64{unix.AF_INET, unix.AF_INET6, unix.AF_PACKET, unix.AF_VSOCK} {
		refused.NamesWithCondtions = append(refused.NamesWithCondtions, seccomp.NameWithConditions{Name: "socket",
			Conditions: []seccomp.Condition{{Argument: 0, Operation: seccomp.Equal, Value: family}}})
	}
	rings := seccomp.SyscallGroup{Action: seccomp.ActionErrno | seccomp.Action(unix.ENOSYS),
		Names: []string{"io_uring_setup"}}
	return load(seccomp.Policy{DefaultAction: seccomp.ActionAllow, Syscalls: []seccomp.SyscallGroup{refused, rings}})
}
