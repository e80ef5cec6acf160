package sqlcall

import (
	"context"
	"reflect"

	"modernc.org/libc"
	sqlite3 "modernc.org/sqlite/lib"
)

// handleOf is the connection as SQLite knows it, and 0 where the driver does not have it at the place known here. The
// driver ends a statement with its context only until the first row; one that searches for the second for hours would
// go on. So it is interrupted from here.
func handleOf(driverConn any) uintptr {
	conn := reflect.ValueOf(driverConn)
	if conn.Kind() != reflect.Pointer || conn.Elem().Kind() != reflect.Struct {
		return 0
	}
	handle := conn.Elem().FieldByName("db")
	if handle.Kind() != reflect.Uintptr {
		return 0
	}
	return uintptr(handle.Uint())
}

// interruptAt interrupts what the connection does when ctx ends. The function that it returns ends that, and is called
// while the connection is still open.
func interruptAt(ctx context.Context, handle uintptr) (end func()) {
	done := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(done)
		thread := libc.NewTLS()
		defer thread.Close()
		sqlite3.Xsqlite3_interrupt(thread, handle)
	})
	return func() {
		if !stop() {
			<-done
		}
	}
}
