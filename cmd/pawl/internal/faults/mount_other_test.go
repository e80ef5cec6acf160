//go:build !linux

package faults

import "errors"

func mountSmall(string, string) error { return errors.ErrUnsupported }

func unmountSmall(string) error { return nil }
