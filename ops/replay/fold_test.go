package replay

import (
	"errors"
	"testing"
)

// What is no error of the log stays as it is.
func TestFoldedFrom(t *testing.T) {
	t.Parallel()
	if err := errors.New("other"); foldedFrom(err) != err {
		t.Error("an error that is none of the log's is changed")
	}
}
