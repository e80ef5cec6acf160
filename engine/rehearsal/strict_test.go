package rehearsal_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pawl-run/pawl/engine/connector"
	"github.com/pawl-run/pawl/engine/connector/files"
	"github.com/pawl-run/pawl/engine/connector/httpcall"
	"github.com/pawl-run/pawl/engine/connector/smtp"
	"github.com/pawl-run/pawl/engine/connector/sqlcall"
)

// calling is a workflow whose change has the payload of its event as parameters.
func calling(operation, more string) string {
	return fmt.Sprintf(`export default Pawl.workflow({ name: "calls", topics: { wanted: {}, dead: {} }, consumers: {
  call: Pawl.consumer({ subscribe: ["wanted"], %s
    async prepare(ctx) {
      const [e] = await ctx.peek("wanted", { limit: 1 });
      if (!e) return { reservations: [], data: null };
      return { reservations: [{ topic: "wanted", ids: [e.id] }], data: e.payload, ui: { title: e.id } };
    },
    async mutate(ctx, { data }) { return await ctx.%s(data); },
    async next(ctx, { data }, outcome) { if (data) ctx.log(outcome.status + " " + JSON.stringify(outcome.result)); },
  }),
} });`, more, operation)
}

// configured are real connectors, which no test calls.
func configured(t *testing.T) []connector.Connector {
	t.Helper()
	http, err := httpcall.New(httpcall.Config{Hosts: map[string]httpcall.HostConfig{
		"crm.example.com": {Headers: map[string]string{"Authorization": "Bearer secret-token"}},
		"pay.example.com": {Reconcile: &httpcall.ReconcileConfig{Get: "/calls/{idempotencyKey}",
			Applied: httpcall.Rule{Status: 200}}},
		"10.1.2.3":  {},
		"localhost": {Private: true},
	}})
	if err != nil {
		t.Fatal(err)
	}
	mail, err := smtp.New(smtp.Config{Server: "localhost:25", From: []string{"help@example.com"}})
	if err != nil {
		t.Fatal(err)
	}
	sql, err := sqlcall.New(sqlcall.Config{Databases: map[string]sqlcall.DatabaseConfig{
		"shop": {File: filepath.Join(t.TempDir(), "shop.db")}}})
	if err != nil {
		t.Fatal(err)
	}
	box, err := files.New(files.Config{Root: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_, _, _, _ = http.Close(), mail.Close(), sql.Close(), box.Close()
	})
	return []connector.Connector{http, mail, sql, box}
}

// A call comes to what the real connector makes of it: it is refused where that refuses it, an answer with the status
// of a failure is one, and an outcome is found out only where it can be asked for.
func TestCallsComeToWhatTheRealConnectorMakesOfThem(t *testing.T) {
	t.Parallel()
	const crm = `{ url: "https://crm.example.com/payments", body: {} }`
	const pay = `{ url: "https://pay.example.com/refunds", body: {} }`
	push := func(params string) string { return `t.push("wanted", { messageId: "1", payload: ` + params + ` });` }
	left := func(reason string) string {
		return `the case ends with work that is left, and does not expect it with expectWaiting("` + reason + `")`
	}
	for name, c := range map[string]struct{ operation, steps, want string }{
		"a status that refuses": {"http.post", push(crm) +
			`t.answer("http.post", { result: { status: 422, body: "no such order" } }); t.expectCall("http.post");`,
			left("maintenance") + `*logic (http.status): POST https://crm.example.com/payments answered 422: no such order`},
		"a status that the call expects": {"http.post", push(`{ url: "https://crm.example.com/", expect: [422] }`) +
			`t.answer("http.post", { result: { status: 422, body: "known" } }); t.expectCall("http.post");
			t.expectLog('applied {"status":422,"body":"known"}');`, ""},
		"a thing that is missing": {"http.post", push(crm) +
			`t.answer("http.post", { result: { status: 404 } }); t.expectCall("http.post");`,
			left("blocked") + `*precondition (http.status)*answered 404`},
		"a status for now": {"http.post", push(crm) +
			`t.answer("http.post", { result: { status: 200, body: 1 } });
			t.answer("http.post", { result: { status: 429, headers: { "Retry-After": "90" } }, times: 1 });
			t.advance("89s"); t.expectCall("http.post"); t.expectNoCalls();
			t.advance("2s"); t.expectCall("http.post"); t.expectLog("applied");`, ""},
		"a failure of the server": {"http.post", push(crm) +
			`t.answer("http.post", { result: { status: 500 } }); t.expectCall("http.post");`,
			left("indeterminate")},
		"an answer without a status": {"http.post", push(crm) +
			`t.answer("http.post", { result: { body: { id: 7 } } }); t.expectCall("http.post");
			t.expectLog('applied {"body":{"id":7}}');`, ""},
		"a lost answer of a host that cannot be asked": {"http.post", push(crm) +
			`t.answer("http.post", { lost: "happened" }); t.expectCall("http.post");`,
			left("indeterminate") + `*by the configuration nothing can be asked what became of it`},
		"a person who knows": {"http.post", push(crm) +
			`t.answer("http.post", { lost: "happened" }); t.expectCall("http.post");
			t.expectWaiting("indeterminate"); t.resolve("happened"); t.expectLog("applied");`, ""},
		"a lost answer of a host that can be asked": {"http.post", push(pay) +
			`t.answer("http.post", { lost: "happened" }); t.run(); t.expectCall("http.post"); t.expectLog("applied");`, ""},
		"a crash while a host that cannot be asked is called": {"http.post", push(crm) +
			`t.crash("mutation.started"); t.run();`, left("indeterminate")},
		"a lost answer to a mail": {"smtp.send", push(`{ to: "ann@example.com", subject: "Hello", text: "…" }`) +
			`t.answer("smtp.send", { lost: "did-not-happen" }); t.expectCall("smtp.send");`, left("indeterminate")},
		"a lost answer of a database": {"sql.exec", push(`{ database: "shop", sql: "DELETE FROM a" }`) +
			`t.answer("sql.exec", { lost: "happened" }); t.run(); t.expectCall("sql.exec"); t.expectLog("applied");`, ""},
		"a host that is not configured": {"http.post", push(`{ url: "https://cmr.example.com/payments" }`) +
			`t.expectCall("http.post");`, `http.post was not called*permission (http.host): the host cmr.example.com is not ` +
			`allowed: if it should be, add it under connectors.http.hosts`},
		"an address that is not public": {"http.post", push(`{ url: "http://10.1.2.3/" }`) + `t.run();`,
			left("blocked") + `*permission (http.private): POST http://10.1.2.3/ 10.1.2.3 has the address 10.1.2.3, which is ` +
				`not public; set private: true`},
		"an address that is configured as private": {"http.post", push(`{ url: "http://localhost/" }`) +
			`t.expectCall("http.post");`, ""},
		"a header of the configuration": {"http.post",
			push(`{ url: "https://crm.example.com/", headers: { authorization: "x" } }`) + `t.run();`,
			left("maintenance") + `*logic (http.header): header Authorization is set by the configuration`},
		"a path out of the folder": {"files.write", push(`{ path: "../../etc/cron.d/x", content: "" }`) + `t.run();`,
			left("maintenance") + `*logic (files.outside)`},
		"a move out of the folder": {"files.move", push(`{ from: "in/a", to: "/done/a" }`) + `t.run();`,
			left("maintenance") + `*logic (files.outside)`},
		"a database that is not configured": {"sql.exec", push(`{ database: "shp", sql: "DELETE FROM a" }`) + `t.run();`,
			left("blocked") + `*permission (sql.database): there is no database shp: connectors.sql.databases has shop`},
		"a sender that is not configured": {"smtp.send",
			push(`{ to: "ann@example.com", from: "boss@example.com", subject: "Hello", text: "…" }`) + `t.run();`,
			left("maintenance") + `*logic (smtp.from): mails may not be sent from boss@example.com`},
		"a grant of one host": {"http.post", `t.grants({ "http.post@crm.example.com": "ask" });` + push(crm) +
			`t.expectWaiting("approval"); t.approve(); t.expectCall("http.post");`, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			said, _ := runOn(t, configured(t), calling(c.operation, ""), "export default Pawl.tests({\n  one(t) {\n"+
				c.steps+"\n} });")
			if !hasParts(said, c.want) {
				t.Errorf("it says\n%s\nwant\n%s", said, c.want)
			}
		})
	}
}

// hasParts reports whether a text has the parts of a pattern in their order, which are joined by asterisks; none of
// them is an empty text.
func hasParts(text, pattern string) bool {
	if pattern == "" {
		return text == ""
	}
	for part := range strings.SplitSeq(pattern, "*") {
		_, rest, found := strings.Cut(text, part)
		if !found {
			return false
		}
		text = rest
	}
	return true
}

// A read comes to what the real connector makes of its answer.
func TestReadsComeToWhatTheRealConnectorMakesOfThem(t *testing.T) {
	t.Parallel()
	const script = `export default Pawl.workflow({ name: "reads", topics: { found: {} }, producers: {
  look: Pawl.producer({ interval: "1h", async handler(ctx) {
    const { status } = await ctx.http.get({ url: "https://crm.example.com/orders", expect: [410] });
    ctx.log("read " + status);
  } }),
} });`
	for name, c := range map[string]struct{ steps, want string }{
		"missing": {`t.answer("http.get", { result: { status: 404 } }); t.poll();`,
			`expectWaiting("blocked"): the workflow waits: blocked*precondition (http.status)*answered 404`},
		"expected": {`t.answer("http.get", { result: { status: 410 } }); t.poll(); t.expectLog("read 410");`, ""},
		"another line of the log": {`t.answer("http.get", { result: { status: 410 } }); t.poll(); t.expectLog("read 200");`,
			`no handler has logged "read 200"; last logged: read 410`},
		"for now": {`t.answer("http.get", { result: { status: 200, body: {} } });
			t.answer("http.get", { result: { status: 503 }, times: 2 }); t.poll(); t.expectLog("read 200");`, ""},
		"a redirect": {`t.answer("http.get", { result: { status: 301, headers: { location: "/o" } } }); t.poll();`,
			`expectWaiting("maintenance")*logic (http.redirect)*a GET goes on to where this leads`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			said, _ := runOn(t, configured(t), script, "export default Pawl.tests({\n  one(t) {\n"+c.steps+"\n} });")
			if !hasParts(said, c.want) {
				t.Errorf("it says\n%s\nwant\n%s", said, c.want)
			}
		})
	}
}

// J2: an event that was put aside makes a case red that does not expect it.
func TestDiscardedEventsAreExpected(t *testing.T) {
	t.Parallel()
	const refused = `t.answer("csv.appendRow", { fails: "logic" });
		t.push("wanted", [{ messageId: "a", payload: { file: "a.csv", values: [] } }]); t.run();
		t.expectCall("csv.appendRow"); t.expectCall("csv.appendRow");`
	const red = `a of wanted was discarded, and the case does not expect it with expectEvents("wanted", [… status: ` +
		`"discarded"]): logic (test.fails): the test says that csv.appendRow fails`
	const tell = `}),
  tell: Pawl.consumer({ subscribe: ["dead"],
    async prepare(ctx) {
      const [e] = await ctx.peek("dead", { limit: 1 });
      return { reservations: e ? [{ topic: "dead", ids: [e.id] }] : [], data: e ? e.payload.error.code : null };
    },
    async next(ctx, { data }) { if (data) ctx.log("dead: " + data); },`
	for name, c := range map[string]struct{ more, steps, want string }{
		"unseen":                    {"maxAttempts: 1,", refused, red},
		"listed without its status": {"maxAttempts: 1,", refused + `t.expectEvents("wanted", [{ messageId: "a" }]);`, red},
		"listed": {"maxAttempts: 1,",
			refused + `t.expectEvents("wanted", [{ status: "discarded" }]);`, ""},
		"sent on its way again": {"maxAttempts: 1,", refused + `t.answer("csv.appendRow", { result: { row: 1 } });
			t.redrive("wanted"); t.expectCall("csv.appendRow");`, ""},
		"skipped with all of its topic": {"maxAttempts: 1,", refused + `t.skip("wanted");`,
			"skip of all events of topic wanted means none of them"},
		"skipped by its id":                       {"maxAttempts: 1,", refused + `t.skip("wanted", "a");`, ""},
		"with a dead letter that nothing handles": {`maxAttempts: 1, deadLetter: "dead",`, refused, red},
		"with a dead letter that is listed": {`maxAttempts: 1, deadLetter: "dead",`, refused +
			`t.expectEvents("dead", [{ payload: { messageId: "a", attempts: 2 } }]);`, ""},
		"with a dead letter that is handled": {`maxAttempts: 1, deadLetter: "dead",` + "@", refused +
			`t.expectLog("dead: test.fails");`, ""},
		"several": {"maxAttempts: 1,", `t.answer("csv.appendRow", { fails: "logic" });
			t.push("wanted", [1, 2, 3, 4, 5].map((n) => ({ messageId: "m" + n, payload: { file: "a.csv", values: [] } })));
			t.run(); for (let i = 0; i < 10; i++) t.expectCall("csv.appendRow");`,
			"m1 of wanted*m2 of wanted*m3 of wanted*2 more events were discarded"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			more, handled := strings.CutSuffix(c.more, "@")
			script := calling("csv.appendRow", more)
			if handled {
				script = strings.Replace(script, "}),\n} });", tell+"\n  }),\n} });", 1)
			}
			said, _ := run(t, script, ofCase(c.steps))
			if !hasParts(said, c.want) {
				t.Errorf("it says\n%s\nwant\n%s", said, c.want)
			}
		})
	}
}

// A call that fails for long fills no screen: equal calls that no step expects are one problem.
func TestEqualUnexpectedCallsAreToldOnce(t *testing.T) {
	t.Parallel()
	said, _ := run(t, calling("csv.appendRow", ""), ofCase(`t.answer("csv.appendRow", { fails: "transient", times: 4 });
		t.push("wanted", { messageId: "a", payload: { file: "a.csv", values: [] } });`))
	const want = `csv.appendRow was called 5 times, which the case does not expect: {"file":"a.csv","values":[]}`
	if !strings.Contains(said, want) || strings.Count(said, "csv.appendRow") != 1 {
		t.Errorf("it says\n%s\nwant, once\n%s", said, want)
	}
}
