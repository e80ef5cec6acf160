package console

import (
	"io/fs"
	"net/http"
	"strings"
	"sync"

	"github.com/pawl-run/pawl/ops/rpc"
)

// New makes a Console. A template that does not parse panics at the first page, which every test of a page finds.
func New(cfg Config) *Console {
	c := &Console{cfg: cfg, mux: http.NewServeMux(), activity: newActivity(cfg.Log, cfg.Now)}
	c.views = sync.OnceValue(parse)
	c.routes()
	return c
}

func (c *Console) routes() {
	files, err := fs.Sub(static, "static")
	if err != nil {
		panic(err) // it is embedded
	}
	c.mux.Handle("GET "+Base+"static/", http.StripPrefix(Base+"static/", assets(http.FileServerFS(files))))
	c.mux.HandleFunc("GET "+LoginPath, c.loginPage)
	c.mux.HandleFunc("POST "+LoginPath, c.login)
	c.mux.HandleFunc("POST "+Base+"logout", c.logout)
	c.page("/{$}", c.home)
	c.mux.Handle("GET "+strings.TrimSuffix(Base, "/"), http.RedirectHandler("/", http.StatusSeeOther))
	c.page(Base+"needs", c.needs)
	c.page(Base+"log", c.log)
	c.page(Base+"system", c.system)
	c.page(Base+"edit", c.edit)
	c.page(Base+"mutations/{mutation}", c.mutation)
	c.page(Base+"act/{action...}", c.confirm)
	c.mux.HandleFunc("POST "+Base+"act/{action...}", c.act)
	c.mux.HandleFunc("POST "+Base+"deploy", c.deploy)
	c.mux.HandleFunc("POST "+Base+"tokens", c.createToken)
	c.mux.HandleFunc("POST "+Base+"hooktest", c.testHook)
	c.mux.HandleFunc("POST "+Base+"grant", c.grant)
	c.mux.HandleFunc("GET "+Base+"badge", c.badge)
	c.mux.HandleFunc("GET "+Base+"newer", c.newer)
	of := Base + "workflows/{workflow}"
	c.page(of, c.workflow)
	c.page(of+"/inputs/{input}", c.input)
	c.page(of+"/events/{topic}/{messageId}", c.event)
	c.page(of+"/runs/{run}", c.run)
	c.page(of+"/list/{list}", c.list)
	c.page(of+"/script", c.script)
	c.page(of+"/state", c.state)
	c.page(of+"/log", c.log)
	c.page(of+"/redrive", c.progress)
	c.mux.HandleFunc("GET "+Base+"live", c.live)
	c.mux.HandleFunc("GET "+Base+"live/log", c.logRows)
	c.mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		if v := c.admit(w, r); v != nil {
			c.refuse(w, r, v, rpc.Problemf(http.StatusNotFound, "page.unknown", "There is no such page."))
		}
	})
}
