//go:build !linux

package embeddednats

import "errors"

func memoryDir() (string, error) { return "", errors.ErrUnsupported }

func private(string) error { return errors.ErrUnsupported }
