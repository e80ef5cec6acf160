package auth

import (
	"errors"
	"testing"

	"github.com/pawl-run/pawl/ops/rpc"
	"github.com/pawl-run/pawl/projections"
)

// While named tokens are not known the answer says that, and not that there is none.
func TestTokensThatAreNotKnownYet(t *testing.T) {
	t.Parallel()
	const local = "0123456789abcdef"
	guard, err := New(Config{Token: local, Named: func(string) (projections.Token, bool, error) {
		return projections.Token{}, false, errors.New("the engine still reads its log")
	}})
	if err != nil {
		t.Fatal(err)
	}
	if c, p := guard.Authenticate("Bearer", NewToken()); c != nil || p == nil || p.Status != 503 || p.Hint == "" {
		t.Errorf("%+v %+v", c, p)
	}
	if c, p := guard.Authenticate("Bearer", local); c == nil || p != nil || c.Role != rpc.Admin {
		t.Errorf("the local token: %+v %+v", c, p)
	}
	if c, p := guard.Authenticate("Bearer", "wrong"); c != nil || p != nil {
		t.Errorf("no token: %+v %+v", c, p)
	}
	if guard.Open(&rpc.Caller{TokenHash: "x"}) || !guard.Open(&rpc.Caller{}) {
		t.Error("what was begun with a named token goes on, or what was begun without one does not")
	}
}
