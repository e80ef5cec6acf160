package confine

import (
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// becoming tells the test binary, in its environment, to become a program without the network; that is itself, and
// tries what is left.
const becoming, trying = "PAWL_TEST_BECOMING", "PAWL_TEST_TRYING"

func init() {
	switch {
	case os.Getenv(trying) != "":
		for _, family := range []int{unix.AF_INET, unix.AF_INET6} {
			for _, kind := range []int{unix.SOCK_STREAM, unix.SOCK_DGRAM} {
				_, err := unix.Socket(family, kind, 0)
				fmt.Println(family, kind, errors.Is(err, unix.EACCES))
			}
		}
		left, right, err := pair()
		fmt.Println("pair", left != nil && right != nil, err)
		os.Exit(0)
	case os.Getenv(becoming) != "":
		self := os.Args[0]
		fmt.Println(Become(Folders{Read: []string{self}, Network: os.Getenv(becoming) == "open"}, self, []string{self},
			append(os.Environ(), trying+"=1")))
		os.Exit(1)
	}
}

// pair is how programs of one machine talk to each other.
func pair() (net.Conn, net.Conn, error) {
	ends, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM, 0)
	if err != nil {
		return nil, nil, err
	}
	var made [2]net.Conn
	for i, end := range ends {
		if made[i], err = net.FileConn(os.NewFile(uintptr(end), "pair")); err != nil {
			return nil, nil, err
		}
	}
	return made[0], made[1], nil
}

// A program without the network makes no socket of the internet, of TCP or UDP, and keeps those of the machine.
func TestProgramWithoutNetwork(t *testing.T) {
	t.Parallel()
	if Offered() == None {
		t.Skip("this kernel offers no measures")
	}
	for way, refused := range map[string]string{"closed": "true", "open": "false"} {
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), becoming+"="+way)
		out, err := cmd.CombinedOutput()
		want := fmt.Sprintf("2 1 %[1]s\n2 2 %[1]s\n10 1 %[1]s\n10 2 %[1]s\npair true <nil>\n", refused)
		if err != nil || !strings.HasSuffix(string(out), want) {
			t.Errorf("%s: %v, it says\n%s, want\n%s", way, err, out, want)
		}
	}
}
