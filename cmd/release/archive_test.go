package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var sample = []file{{"pawl", []byte("program"), true}, {"completion/pawl.bash", []byte("complete"), false}}

// What is packed is unpacked with its permissions, and twice the same is the same bytes.
func TestPack(t *testing.T) {
	for _, zipped := range []bool{false, true} {
		var first []byte
		for range 2 {
			path, err := pack(t.TempDir(), "pawl_1.0.0_linux_amd64", zipped, sample)
			if err != nil {
				t.Fatal(err)
			}
			content, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if first != nil && !bytes.Equal(first, content) {
				t.Errorf("%s differs from one build to the next", path)
			}
			first = content
		}
		unpack := unpackTar
		if zipped {
			unpack = unpackZip
		}
		want := map[string]string{
			"pawl_1.0.0_linux_amd64/pawl":                 "-rwxr-xr-x program",
			"pawl_1.0.0_linux_amd64/completion/pawl.bash": "-rw-r--r-- complete",
		}
		if diff := cmp.Diff(want, unpack(t, first)); diff != "" {
			t.Errorf("zipped %v: %s", zipped, diff)
		}
	}
}

func unpackTar(t *testing.T, content []byte) map[string]string {
	t.Helper()
	plain, err := gzip.NewReader(bytes.NewReader(content))
	if err != nil {
		t.Fatal(err)
	}
	members := map[string]string{}
	for archive := tar.NewReader(plain); ; {
		header, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return members
		}
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(archive)
		if err != nil {
			t.Fatal(err)
		}
		members[header.Name] = fmt.Sprintf("%s %s", header.FileInfo().Mode(), text)
	}
}

func unpackZip(t *testing.T, content []byte) map[string]string {
	t.Helper()
	archive, err := zip.NewReader(bytes.NewReader(content), int64(len(content)))
	if err != nil {
		t.Fatal(err)
	}
	members := map[string]string{}
	for _, member := range archive.File {
		r, err := member.Open()
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		members[member.Name] = fmt.Sprintf("%s %s", member.Mode(), text)
	}
	return members
}

func TestChecksums(t *testing.T) {
	dir := t.TempDir()
	archive := filepath.Join(dir, "a.zip")
	if err := os.WriteFile(archive, []byte("a"), 0o600); err != nil {
		t.Fatal(err)
	}
	sums := filepath.Join(dir, "SHA256SUMS")
	if err := writeChecksums(sums, []string{archive}); err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(sums)
	if err != nil {
		t.Fatal(err)
	}
	if want := fmt.Sprintf("%x  a.zip\n", sha256.Sum256([]byte("a"))); string(got) != want {
		t.Errorf("%q, want %q", got, want)
	}
}
