package connector

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"strings"
)

// maxSecretFile bounds a secret's file: a wrong path must not fill the memory.
const maxSecretFile = 64 << 10

// Secrets replaces ${env:NAME} and ${file:PATH} in configuration strings, so that secrets stand in
// no configuration file. `$${` stands for a literal `${`. Errors name what is missing, never a value.
// The zero value reads the process's environment and takes paths relative to the working directory.
type Secrets struct {
	// Dir is where relative paths start, the folder of the configuration file; empty means the
	// working directory.
	Dir string
	// LookupEnv finds environment variables; nil means os.LookupEnv.
	LookupEnv func(name string) (string, bool)
	// Found is called with each value that is filled in; nil means that none is reported.
	Found func(value string)
}

// Expand replaces every reference in s. A file's last line break is not part of the secret.
// An unset variable, an empty one, an unreadable file and an unknown kind of reference are errors.
func (s Secrets) Expand(text string) (string, error) {
	if !strings.Contains(text, "${") {
		return text, nil
	}
	var out strings.Builder
	for {
		at := strings.Index(text, "${")
		if at < 0 {
			out.WriteString(text)
			return out.String(), nil
		}
		if at > 0 && text[at-1] == '$' {
			out.WriteString(text[:at-1] + "${")
			text = text[at+2:]
			continue
		}
		end := strings.IndexByte(text[at:], '}')
		if end < 0 {
			return "", errors.New("expand secret: ${ without }; write $${ for a literal ${")
		}
		value, err := s.resolve(text[at+2 : at+end])
		if err != nil {
			return "", err
		}
		if s.Found != nil {
			s.Found(value)
		}
		out.WriteString(text[:at] + value)
		text = text[at+end+1:]
	}
}

func (s Secrets) resolve(reference string) (string, error) {
	kind, name, _ := strings.Cut(reference, ":")
	switch {
	case kind == "env" && name != "":
		lookup := s.LookupEnv
		if lookup == nil {
			lookup = os.LookupEnv
		}
		value, set := lookup(name)
		if !set {
			return "", fmt.Errorf("expand ${env:%s}: the environment variable %s is not set", name, name)
		}
		if value == "" {
			return "", fmt.Errorf("expand ${env:%s}: the environment variable %s is empty", name, name)
		}
		return value, nil
	case kind == "file" && name != "":
		return s.readFile(name)
	default:
		return "", fmt.Errorf("expand ${%s}: want ${env:NAME} or ${file:PATH}; write $${ for a literal ${", reference)
	}
}

func (s Secrets) readFile(name string) (string, error) {
	path := name
	if !filepath.IsAbs(path) {
		path = filepath.Join(s.Dir, path)
	}
	file, err := os.Open(path)
	if err != nil {
		return "", fmt.Errorf("expand ${file:%s}: %w", name, err)
	}
	defer file.Close()
	data, err := io.ReadAll(io.LimitReader(file, maxSecretFile+1))
	if err != nil {
		return "", fmt.Errorf("expand ${file:%s}: read %s: %w", name, path, err)
	}
	if len(data) > maxSecretFile {
		return "", fmt.Errorf("expand ${file:%s}: %s is bigger than %d bytes", name, path, maxSecretFile)
	}
	value := strings.TrimSuffix(strings.TrimSuffix(string(data), "\n"), "\r")
	if value == "" {
		return "", fmt.Errorf("expand ${file:%s}: %s is empty", name, path)
	}
	return value, nil
}

// ExpandAll replaces the references in every string that config, a pointer to a decoded
// configuration, holds: in structs, maps, slices and pointers. The error is a *SettingError whose
// key is relative to config.
func (s Secrets) ExpandAll(config any) error {
	v := reflect.ValueOf(config)
	if v.Kind() != reflect.Pointer || v.IsNil() {
		return fmt.Errorf("expand secrets: want a pointer to a configuration, not %T", config)
	}
	return s.expandValue(v.Elem(), "")
}

func (s Secrets) expandValue(v reflect.Value, key string) error {
	switch v.Kind() {
	case reflect.String:
		text, err := s.Expand(v.String())
		if err != nil {
			key = strings.TrimPrefix(key, ".")
			return &SettingError{Key: key, Err: fmt.Errorf("%s: %w", key, err)}
		}
		v.SetString(text)
	case reflect.Pointer:
		if !v.IsNil() {
			return s.expandValue(v.Elem(), key)
		}
	case reflect.Interface:
		if !v.IsNil() {
			return s.expandCopy(v.Elem(), key, v.Set)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			field := v.Type().Field(i)
			if !field.IsExported() {
				continue
			}
			name, _, _ := strings.Cut(field.Tag.Get("yaml"), ",")
			if name == "" {
				name = field.Name
			}
			if err := s.expandValue(v.Field(i), key+"."+name); err != nil {
				return err
			}
		}
	case reflect.Slice, reflect.Array:
		for i := range v.Len() {
			if err := s.expandValue(v.Index(i), fmt.Sprintf("%s[%d]", key, i)); err != nil {
				return err
			}
		}
	case reflect.Map:
		for _, k := range v.MapKeys() {
			set := func(value reflect.Value) { v.SetMapIndex(k, value) }
			if err := s.expandCopy(v.MapIndex(k), fmt.Sprintf("%s.%v", key, k), set); err != nil {
				return err
			}
		}
	}
	return nil
}

// expandCopy expands a value that cannot be changed in place and puts the copy back.
func (s Secrets) expandCopy(v reflect.Value, key string, set func(reflect.Value)) error {
	fresh := reflect.New(v.Type()).Elem()
	fresh.Set(v)
	if err := s.expandValue(fresh, key); err != nil {
		return err
	}
	set(fresh)
	return nil
}
