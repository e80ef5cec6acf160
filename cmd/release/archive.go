package main

import (
	"archive/tar"
	"archive/zip"
	"compress/gzip"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// file is one member of an archive.
type file struct {
	name       string
	content    []byte
	executable bool
}

// mode is the permissions with which a file is unpacked.
func (f file) mode() os.FileMode {
	if f.executable {
		return 0o755
	}
	return 0o644
}

// epoch is the time of every member, so that the same commit makes the same bytes.
var epoch = time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)

// pack writes files into one archive in the folder dir, all under a folder called name, and returns its path:
// a zip for systems that can unpack one without further tools, else a compressed tar.
func pack(dir, name string, zipped bool, files []file) (path string, err error) {
	path = filepath.Join(dir, name+".tar.gz")
	write := writeTar
	if zipped {
		path, write = filepath.Join(dir, name+".zip"), writeZip
	}
	f, err := os.Create(path)
	if err != nil {
		return "", fmt.Errorf("create an archive: %w", err)
	}
	err = errors.Join(write(f, name, files), f.Close())
	if err != nil {
		return "", fmt.Errorf("write %s: %w", path, err)
	}
	return path, nil
}

func writeTar(to io.Writer, folder string, files []file) error {
	compressed, err := gzip.NewWriterLevel(to, gzip.BestCompression)
	if err != nil {
		return err
	}
	archive := tar.NewWriter(compressed)
	for _, f := range files {
		header := &tar.Header{Name: folder + "/" + f.name, Mode: int64(f.mode()), Size: int64(len(f.content)), ModTime: epoch}
		if err := archive.WriteHeader(header); err != nil {
			return err
		}
		if _, err := archive.Write(f.content); err != nil {
			return err
		}
	}
	return errors.Join(archive.Close(), compressed.Close())
}

func writeZip(to io.Writer, folder string, files []file) error {
	archive := zip.NewWriter(to)
	for _, f := range files {
		header := &zip.FileHeader{Name: folder + "/" + f.name, Method: zip.Deflate, Modified: epoch}
		header.SetMode(f.mode())
		member, err := archive.CreateHeader(header)
		if err != nil {
			return err
		}
		if _, err := member.Write(f.content); err != nil {
			return err
		}
	}
	return archive.Close()
}

// writeChecksums writes one line per archive, as `sha256sum --check` reads them.
func writeChecksums(path string, archives []string) error {
	var lines strings.Builder
	for _, archive := range archives {
		content, err := os.ReadFile(archive)
		if err != nil {
			return fmt.Errorf("read an archive back: %w", err)
		}
		fmt.Fprintf(&lines, "%x  %s\n", sha256.Sum256(content), filepath.Base(archive))
	}
	if err := os.WriteFile(path, []byte(lines.String()), 0o644); err != nil {
		return fmt.Errorf("write the checksums: %w", err)
	}
	return nil
}
