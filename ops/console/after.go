package console

import (
	"net/http"
	"net/url"

	"github.com/pawl-run/pawl/ops/rpc"
)

// afterQuery is the parameter of a page that is to show what was recorded up to the positions.
const afterQuery = "after"

// lead sends the browser to the page that follows a form. The page may be another node's: it is told up to where that
// one must have read the log.
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

// awaitAfter waits until this engine has read what the page is to show, and returns the request without that. It waits
// before the login is looked for, which may be what is to be read; a browser that shows none has nothing to wait for.
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
