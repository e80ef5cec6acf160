package postgrestest

import (
	"context"
	"database/sql"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sync/atomic"
	"testing"

	_ "github.com/jackc/pgx/v5/stdlib" // the driver pgx

	"github.com/pawl-run/pawl/engine/connector/processtest"
)

// User is the server's owner.
const User = "pawl"

// Server is a running server.
type Server struct {
	// Folder is where its socket is.
	Folder string
	// Password is the owner's.
	Password string

	made atomic.Int64
}

// program is the path of one of PostgreSQL's programs, of the newest version that the system has.
func program(t testing.TB, name string) string {
	t.Helper()
	if path, err := exec.LookPath(name); err == nil {
		return path
	}
	var found []string
	for _, pattern := range []string{"/usr/lib/postgresql/*/bin/", "/usr/pgsql-*/bin/",
		"/opt/homebrew/opt/postgresql*/bin/"} {
		paths, err := filepath.Glob(pattern + name)
		if err != nil {
			t.Fatal(err)
		}
		found = append(found, paths...)
	}
	if len(found) == 0 {
		t.Skipf("no PostgreSQL: there is no program %s", name)
	}
	return slices.Max(found)
}

// Start starts a server; it ends with the test. It logs in with the password, as every client has to.
func Start(t testing.TB, password string) *Server {
	t.Helper()
	initdb, postgres := program(t, "initdb"), program(t, "postgres")
	folder := processtest.NewFolder(t, "postgres")
	owned := folder.Path
	secret := filepath.Join(owned, "password")
	if err := os.WriteFile(secret, []byte(password+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	data := filepath.Join(owned, "data")
	made, err := folder.Command(t, initdb, "-D", data, "-U", User, "--pwfile", secret, "--auth",
		"scram-sha-256", "--no-sync", "-E", "UTF8", "--no-locale").CombinedOutput()
	if err != nil {
		t.Fatalf("initdb: %v\n%s", err, made)
	}
	err = folder.Serve(t, "ready to accept connections", "QUIT", postgres, "-D", data, "-k", owned, "-c",
		"listen_addresses=", "-c", "fsync=off", "-c", "full_page_writes=off", "-c", "shared_buffers=16MB", "-c",
		"max_connections=400", "-c", "deadlock_timeout=100ms")
	if err != nil {
		t.Fatal(err)
	}
	return &Server{Folder: owned, Password: password}
}

// URL is that of a database over the socket, without the password.
func (s *Server) URL(database string) string {
	return (&url.URL{Scheme: "postgres", User: url.User(User), Path: "/" + database,
		RawQuery: url.Values{"host": {s.Folder}}.Encode()}).String()
}

// Socket is the path of the socket.
func (s *Server) Socket() string { return filepath.Join(s.Folder, ".s.PGSQL.5432") }

// Database makes a database and opens it for the test's own use.
func (s *Server) Database(t testing.TB) (name string, db *sql.DB) {
	t.Helper()
	name = fmt.Sprintf("test%d", s.made.Add(1))
	admin := s.open(t, "postgres")
	if _, err := admin.ExecContext(context.Background(), "CREATE DATABASE "+name); err != nil {
		t.Fatal(err)
	}
	return name, s.open(t, name)
}

func (s *Server) open(t testing.TB, database string) *sql.DB {
	t.Helper()
	u, err := url.Parse(s.URL(database))
	if err != nil {
		t.Fatal(err)
	}
	u.User = url.UserPassword(User, s.Password)
	db, err := sql.Open("pgx", u.String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	return db
}
