package console

import (
	"net/http"
	"net/url"

	"github.com/pawl-run/pawl/ops/rpc"
)

// afterQuery is the parameter of a page that must show everything up to the positions.
const afterQuery = "after"

// lead sends the browser to the page that follows a form. Another node may answer that request, so the address names
// the positions up to which a node must have read the log first.
func (v *visit) lead(w http.ResponseWriter, to string) {
	if positions := v.recorded(); positions != "" {
		if u, err := url.Parse(to); err == nil {
			query := u.Query()
			query.Set(afterQuery, positions)
			u.RawQuery = query.Encode()
			to = u.String()
		}
	}
	http.Redirect(w, v.r, to, http.StatusSeeOther)
}

// awaitAfter waits until this engine has read the log up to the positions, and returns the request without the
// parameter. It waits before the login is looked up, since the login may be recorded at one of them. A browser without
// a login does not wait.
func (c *Console) awaitAfter(r *http.Request) (*http.Request, *rpc.Problem) {
	query := r.URL.Query()
	positions := query.Get(afterQuery)
	if positions == "" || !c.cfg.Guard.Shows(r) {
		return r, nil
	}
	if p := c.cfg.Await(r.Context(), positions); p != nil {
		return r, p
	}
	query.Del(afterQuery)
	r = r.Clone(r.Context())
	r.URL.RawQuery = query.Encode()
	return r, nil
}
