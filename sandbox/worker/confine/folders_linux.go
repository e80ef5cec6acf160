package confine

import (
	"fmt"

	"github.com/landlock-lsm/go-landlock/landlock"
	"golang.org/x/sys/unix"
)

// systemFolders are what programs need of a system to run at all.
var systemFolders = []string{"/usr", "/bin", "/sbin", "/lib", "/lib64", "/etc", "/opt", "/proc", "/sys", "/dev",
	"/nix/store"}

// Become confines this process to the folders, and turns it into the program: it returns only if that fails. Where the
// kernel knows less than all measures, those that it knows are taken; Offered says whether there are any.
func Become(f Folders, program string, args, environment []string) error {
	rules := []landlock.Rule{
		landlock.RODirs(append(systemFolders, f.Read...)...).IgnoreIfMissing(),
		landlock.RWDirs(f.Write...),
		landlock.RWFiles("/dev/null", "/dev/zero", "/dev/random", "/dev/urandom").IgnoreIfMissing(),
	}
	if err := landlock.V5.BestEffort().RestrictPaths(rules...); err != nil {
		return fmt.Errorf("confine %s to its folders: %w", program, err)
	}
	if !f.Network {
		if err := landlock.V5.BestEffort().RestrictNet(); err != nil {
			return fmt.Errorf("keep %s from the network: %w", program, err)
		}
	}
	if err := unix.Exec(program, args, environment); err != nil {
		return fmt.Errorf("start %s: %w", program, err)
	}
	return nil
}
