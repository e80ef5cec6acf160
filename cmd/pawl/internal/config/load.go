package config

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"

	"github.com/goccy/go-yaml"

	"github.com/pawl-run/pawl/cmd/pawl/internal/exit"
	"github.com/pawl-run/pawl/engine/schedule"
)

// LoadFile reads one configuration file, with the profile in it that is named, if any. What the file does not set has
// its default. A missing file is an error only where it or the profile was named. The error names the file, the line
// and what is wanted there.
func LoadFile(path string, named bool, profile string) (File, error) {
	c := File{Policies: schedule.Default()}
	text, err := os.ReadFile(path)
	switch {
	case errors.Is(err, fs.ErrNotExist) && !named:
		return c, nil
	case err != nil:
		return c, exit.Misconfigured("correct --config or PAWL_CONFIG", "read configuration: %v", err)
	}
	text = bytes.TrimPrefix(text, []byte("\ufeff"))
	c.Path = path
	written, empty, err := readText(path, text, reflect.TypeFor[File]())
	switch {
	case err != nil:
		return c, err
	case empty && profile == "":
		return c, nil
	}
	if profile != "" {
		if text, err = withProfile(text, profile, written); err != nil {
			return c, err
		}
	}
	if err := yaml.UnmarshalWithOptions(text, &c, yaml.Strict()); err != nil {
		return c, exit.Misconfigured("cmd/pawl/CONFIG.md lists the keys", "%s", configFault(path, err))
	}
	c.text = written
	if err := c.validate(written); err != nil {
		return c, err
	}
	dir, err := filepath.Abs(filepath.Dir(path))
	if err != nil {
		return c, exit.Failed("start pawl in a folder that exists, or give --config an absolute path",
			fmt.Errorf("find the folder of the configuration file: %w", err))
	}
	c.dir = dir
	for _, path := range []*string{&c.Data, &c.TLSCert, &c.TLSKey, &c.Maildir, &c.Files, &c.CSV, &c.ClusterTLSCert,
		&c.ClusterTLSKey, &c.ClusterTLSCA} {
		resolve(path, dir)
	}
	return c, nil
}

// resolve makes a path of the file relative to the file.
func resolve(path *string, dir string) {
	if *path != "" && !filepath.IsAbs(*path) {
		*path = filepath.Join(dir, *path)
	}
}
