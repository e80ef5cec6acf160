package ops

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/ops/rpc"
	"github.com/pawl-run/pawl/projections/readmodel"
)

// A person sees the own logins and ends them, with at most the own role; an admin sees and ends all. A login that has
// ended opens nothing.
func TestLoginsAreListedAndEnded(t *testing.T) {
	t.Parallel()
	b := setup(t)
	eve := b.create("eve", "operator", "")
	admin, viewer := b.browse(testToken, ""), b.browse(testToken, "viewer")
	first, second := b.browse(eve, ""), b.browse(eve, "viewer")
	listed := func(token string) (logins []loginView) {
		t.Helper()
		client := *b.client
		client.Token = token
		var page readmodel.Page[loginView]
		if err := client.Do(t.Context(), "listLogins", nil, &page); err != nil {
			t.Fatal(err)
		}
		return page.Items
	}
	all := listed(testToken)
	if len(all) != 4 || all[0].User.Name != "ann" || all[0].Role != eventlog.RoleAdmin || all[0].Token != nil ||
		all[2].Token == nil || *all[2].Token != "eve" || all[2].Role != eventlog.RoleOperator || all[2].Current ||
		all[0].OpenedAt == 0 || all[0].ExpiresAt <= all[0].OpenedAt {
		t.Fatalf("an admin is shown %+v", all)
	}
	if own := listed(eve); !slices.Equal(idsOf(own), idsOf(all[2:])) {
		t.Errorf("the token eve is shown %+v", own)
	}
	ends := func(token string, id eventlog.LoginID, want int) {
		t.Helper()
		res, body := b.request("DELETE", "/v1/logins/"+string(id), "", with(token)...)
		if res.StatusCode != want || want == http.StatusNotFound && mustJSON(t, body)["code"] != "login.unknown" {
			t.Errorf("end %s: %d %s", id, res.StatusCode, body)
		}
	}
	opens := func(u *browser, what string, want bool) {
		t.Helper()
		if res, _ := u.send("GET", "/ui/needs", nil); (res.StatusCode == http.StatusOK) != want {
			t.Errorf("%s: %d", what, res.StatusCode)
		}
	}
	ends(eve, all[0].ID, http.StatusNotFound) // another's login, as if there were none
	ends(eve, "nosuch", http.StatusNotFound)
	ends(eve, all[3].ID, http.StatusOK)
	ends(eve, all[3].ID, http.StatusNotFound)
	opens(admin, "the admin's login", true)
	opens(first, "eve's other login", true)
	opens(second, "the login that eve has ended", false)

	// On the pages: a browser with less than the admin's role is not shown the admin's login.
	said := viewer.get("/ui/system")
	if !strings.Contains(said, string(all[1].ID)) || strings.Contains(said, string(all[0].ID)) ||
		!strings.Contains(said, "this browser") || strings.Contains(said, "End it…") {
		t.Errorf("the viewer's page:\n%s", said)
	}
	said = admin.get("/ui/system")
	for _, l := range all[1:3] {
		if !strings.Contains(said, "/ui/act/closeLogin?login="+string(l.ID)) {
			t.Errorf("the admin cannot end %s:\n%s", l.ID, said)
		}
	}
	said = admin.get("/ui/act/closeLogin?login=" + string(all[2].ID))
	if !strings.Contains(said, "is refused from now on") {
		t.Errorf("the page before it is done:\n%s", said)
	}
	res, body := admin.send("POST", "/ui/act/closeLogin", url.Values{"form": {admin.form()}, "login": {string(all[2].ID)},
		"back": {"/ui/system"}})
	if res.StatusCode != http.StatusSeeOther {
		t.Errorf("end it on the page: %d\n%s", res.StatusCode, body)
	}
	opens(first, "the login that the admin has ended", false)
	opens(viewer, "the viewer's login", true)
	if left := listed(testToken); len(left) != 2 || len(listed(eve)) != 0 {
		t.Errorf("left are %+v", left)
	}
}

func idsOf(logins []loginView) (ids []eventlog.LoginID) {
	for _, l := range logins {
		ids = append(ids, l.ID)
	}
	return ids
}

// A token for one workflow is shown and ends the logins for that workflow only, whatever its role.
func TestLoginsOfOneWorkflow(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.browse(testToken, "")
	shop := b.create("shop", "admin", "shop")
	b.browse(shop, "")
	client := *b.client
	client.Token = shop
	var page readmodel.Page[loginView]
	if err := client.Do(t.Context(), "listLogins", nil, &page); err != nil {
		t.Fatal(err)
	}
	if len(page.Items) != 1 || page.Items[0].Workflow == nil || *page.Items[0].Workflow != "shop" ||
		page.Items[0].Role != eventlog.TokenRole(rpc.Admin) {
		t.Errorf("the admin of one workflow is shown %+v", page.Items)
	}
}

// callLogins lists a login and ends it. Links are made over HTTP alone.
func callLogins(
	t *testing.T, b *bundle, overHTTP *rpc.Client, call func(string, int, map[string]any) map[string]any,
) {
	t.Helper()
	client := b.client
	b.client = overHTTP
	b.browse(testToken, "")
	b.client = client
	logins := listOf(call("listLogins", 200, nil)["items"])
	if len(logins) != 1 {
		t.Fatalf("logins: %v", logins)
	}
	call("closeLogin", 200, map[string]any{"login": logins[0].(map[string]any)["id"]})
}
