//go:build !linux

package jslog_test

import "errors"

func mountTemporary(string, string) error { return errors.ErrUnsupported }
func remount(string, string) error        { return errors.ErrUnsupported }
func unmount(string) error                { return errors.ErrUnsupported }
