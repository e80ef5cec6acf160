package console

import (
	"encoding/json"
	"net/http"

	"github.com/pawl-run/pawl/ops/auth"
	"github.com/pawl-run/pawl/ops/rpc"
)

// maxForm bounds a form in bytes: it has room for a script of 256 KiB and the other fields, percent-encoded.
const maxForm = 2 << 20

// loginPage is shown for a one-time link. The code is behind the # of the address. A browser does not send that part,
// so the page's script puts it into the form.
func (c *Console) loginPage(w http.ResponseWriter, r *http.Request) {
	c.render(w, &visit{Console: c, r: r}, http.StatusOK, "login", page{Title: "Log in"})
}

// FromElsewhere answers a person who has followed a link on a page of another origin, such as one in a chat. The page
// shows nothing of the engine and changes nothing. The person goes on by a click: that request comes from a page of
// this engine, so the browser sends the login with it, which it does not do for other pages.
func (c *Console) FromElsewhere(w http.ResponseWriter, r *http.Request) {
	view, title := "elsewhere", "Go on to Pawl"
	if r.URL.Path == LoginPath {
		view, title = "login", "Log in"
	}
	c.render(w, &visit{Console: c, r: r}, http.StatusOK, view, page{Title: title, Elsewhere: true})
}

// login exchanges the code of a link for a login. The form needs no token against forgery: another page does not know
// the code.
func (c *Console) login(w http.ResponseWriter, r *http.Request) {
	r.Body = http.MaxBytesReader(w, r.Body, 4<<10)
	caller, ok, err := c.cfg.Links.Take(r.Context(), r.PostFormValue("code"), realNow())
	if err != nil {
		c.refuse(w, r, nil, rpc.Problemf(http.StatusServiceUnavailable, "link.unknown",
			"Whether this link still holds cannot be found out now.").
			WithHint("Make a new one: pawl open").WithCause(err))
		return
	}
	if !ok {
		c.render(w, &visit{Console: c, r: r}, http.StatusForbidden, "login", page{Title: "Log in",
			Body: "This link was used already, or is older than a minute."})
		return
	}
	ctx, recorded := c.cfg.Recording(r.Context())
	secret, life, p := c.cfg.OpenLogin(ctx, &caller)
	if p != nil {
		c.refuse(w, r, nil, p)
		return
	}
	c.cfg.Guard.SetCookie(w, r, secret, life)
	(&visit{r: r, recorded: recorded}).lead(w, "/")
}

func (c *Console) logout(w http.ResponseWriter, r *http.Request) {
	v := c.post(w, r)
	if v == nil {
		return
	}
	if v.caller.Login != "" {
		closed := map[string]any{"login": v.caller.Login}
		if _, err := ask[json.RawMessage](v, "closeLogin", closed); err != nil {
			c.refuse(w, r, v, problemOf(err))
			return
		}
	}
	c.cfg.Guard.SetCookie(w, r, "", 0)
	http.Redirect(w, r, LoginPath, http.StatusSeeOther)
}

// post admits a form that a logged-in user has sent from a page of this engine. For any other form it answers and
// returns nil.
func (c *Console) post(w http.ResponseWriter, r *http.Request) *visit {
	v := c.admit(w, r)
	if v == nil {
		return nil
	}
	r.Body = http.MaxBytesReader(w, r.Body, maxForm)
	if err := r.ParseForm(); err != nil {
		c.refuse(w, r, v, rpc.Malformed("form.invalid", "The form cannot be read: %v.", err))
		return nil
	}
	if !auth.FormOf(r.PostForm.Get("form"), v.form) {
		c.refuse(w, r, v, rpc.Problemf(http.StatusForbidden, "form.forbidden",
			"The form does not come from a page of this login. Nothing was changed.").
			WithHint("Open the page again and repeat what you wanted to do."))
		return nil
	}
	ctx, recorded := c.cfg.Recording(r.Context())
	v.r, v.recorded = r.WithContext(ctx), recorded
	return v
}
