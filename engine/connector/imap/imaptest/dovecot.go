package imaptest

import (
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pawl-run/pawl/engine/connector/processtest"
)

// dovecotConfig lets all of Dovecot run as one user without privileges, in one folder.
const dovecotConfig = `base_dir = FOLDER/run
state_dir = FOLDER/run
log_path = /dev/stderr
protocols = imap
listen = 127.0.0.1
ssl = yes
ssl_cert = <FOLDER/cert.pem
ssl_key = <FOLDER/key.pem
disable_plaintext_auth = no
default_internal_user = USER
default_internal_group = GROUP
default_login_user = USER
mail_location = maildir:FOLDER/mails
passdb {
  driver = passwd-file
  args = scheme=PLAIN FOLDER/users
}
userdb {
  driver = static
  args = uid=UID gid=GID home=FOLDER
}
first_valid_uid = 1
first_valid_gid = 1
service anvil {
  chroot =
}
service imap-login {
  chroot =
  inet_listener imap {
    port = PLAIN
  }
  inet_listener imaps {
    port = IMPLICIT
  }
}
`

// StartDovecot runs Dovecot. The password has no colon.
func StartDovecot(t testing.TB, password string) *Server {
	t.Helper()
	dovecot, err := exec.LookPath("dovecot")
	if err != nil {
		for _, path := range []string{"/usr/sbin/dovecot", "/opt/homebrew/sbin/dovecot"} {
			if _, err := os.Stat(path); err == nil {
				dovecot = path
			}
		}
	}
	if dovecot == "" {
		t.Skip("no Dovecot: there is no program dovecot")
	}
	for range 5 { // another program may take a port before Dovecot does
		var s *Server
		if s, err = startDovecot(t, dovecot, password); err == nil {
			return s
		}
	}
	t.Fatal(err)
	return nil
}

func startDovecot(t testing.TB, dovecot, password string) (*Server, error) {
	t.Helper()
	folder := processtest.NewFolder(t, "nobody")
	owner := folder.Owner(t)
	certificate, roots := certified()
	key, err := x509.MarshalPKCS8PrivateKey(certificate.PrivateKey)
	if err != nil {
		t.Fatal(err)
	}
	plain, implicit := freePort(t), freePort(t)
	config := strings.NewReplacer("FOLDER", folder.Path, "USER", owner.User, "GROUP", owner.Group, "UID", owner.UID, "GID",
		owner.GID, "IMPLICIT", implicit, "port = PLAIN", "port = "+plain).Replace(dovecotConfig)
	for name, content := range map[string]string{
		"dovecot.conf": config, "users": Username + ":" + password + "\n",
		"cert.pem": string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: certificate.Certificate[0]})),
		"key.pem":  string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: key})),
	} {
		if err := os.WriteFile(filepath.Join(folder.Path, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := folder.Serve(t, "starting up for", "TERM", dovecot, "-F", "-c",
		filepath.Join(folder.Path, "dovecot.conf")); err != nil {
		return nil, fmt.Errorf("start Dovecot: %w", err)
	}
	return &Server{Address: "127.0.0.1:" + plain, Implicit: "127.0.0.1:" + implicit, Password: password, Roots: roots}, nil
}

// freePort is a port that nothing listens on now.
func freePort(t testing.TB) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	_, port, err := net.SplitHostPort(listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	return port
}
