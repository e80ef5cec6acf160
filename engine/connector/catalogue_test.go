package connector_test

import (
	"bytes"
	"cmp"
	"database/sql"
	"encoding/json"
	"flag"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/goccy/go-yaml"

	"github.com/pawl-run/pawl/engine/connector"
	"github.com/pawl-run/pawl/engine/connector/csv"
	"github.com/pawl-run/pawl/engine/connector/files"
	"github.com/pawl-run/pawl/engine/connector/httpcall"
	"github.com/pawl-run/pawl/engine/connector/imap"
	"github.com/pawl-run/pawl/engine/connector/imap/imaptest"
	"github.com/pawl-run/pawl/engine/connector/maildir"
	"github.com/pawl-run/pawl/engine/connector/smtp"
	"github.com/pawl-run/pawl/engine/connector/sqlcall"
	"github.com/pawl-run/pawl/engine/secret"
)

const catalogue = "CONNECTORS.md"

var rewrite = flag.Bool("rewrite", false, "write the generated parts of "+catalogue+" anew")

// generated finds what stands between `<!-- operations http.post http.put -->` and `<!-- end -->`.
var generated = regexp.MustCompile(`(?s)<!-- operations ([^>]+) -->\n.*?<!-- end -->`)

// builtIn opens the connectors with the settings that the page shows, in a folder of the test's own.
func builtIn(t *testing.T, page string) (registry *connector.Registry, orderURL string) {
	t.Helper()
	var settings struct {
		Connectors struct {
			Files   files.Config
			CSV     csv.Config
			Maildir maildir.Config
			HTTP    httpcall.Config
			SMTP    smtp.Config
			IMAP    imap.Config
			SQL     sqlcall.Config
		}
	}
	block := blocks(page, "yaml")
	if len(block) != 1 {
		t.Fatalf("the page has %d blocks of settings, want one", len(block))
	}
	decoder := yaml.NewDecoder(strings.NewReader(block[0]), yaml.Strict())
	if err := decoder.Decode(&settings); err != nil {
		t.Fatalf("the settings of the page: %v", err)
	}
	parser := filepath.Join(t.TempDir(), "parser")
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-buildvcs=false", "-o", parser,
		"./mailparse/testdata/parser").CombinedOutput(); err != nil {
		t.Fatalf("build the mail parser: %v\n%s", err, out)
	}
	settings.Connectors.Maildir.Parser = func() *exec.Cmd { return exec.Command(parser) }
	dir := t.TempDir()
	for _, root := range []*string{
		&settings.Connectors.Files.Root, &settings.Connectors.CSV.Root, &settings.Connectors.Maildir.Root,
	} {
		*root = filepath.Join(dir, *root)
		if err := os.MkdirAll(*root, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	mail := filepath.Join(settings.Connectors.Maildir.Root, "1700000000.order-7.eml")
	if err := os.WriteFile(mail, []byte(aMail), 0o600); err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(http.HandlerFunc(orders))
	t.Cleanup(server.Close)
	host := settings.Connectors.HTTP.Hosts["api.example.com"]
	host.Private = true
	settings.Connectors.HTTP.Hosts = map[string]httpcall.HostConfig{strings.TrimPrefix(server.URL, "http://"): host}
	f, err := files.New(settings.Connectors.Files)
	if err != nil {
		t.Fatal(err)
	}
	c, err := csv.New(settings.Connectors.CSV)
	if err != nil {
		t.Fatal(err)
	}
	m, err := maildir.New(settings.Connectors.Maildir)
	if err != nil {
		t.Fatal(err)
	}
	byName := make(map[string]secret.Secret)
	for name, value := range map[string]string{"SHOP": "planted-1", "K": "planted-2"} {
		if byName[name], err = secret.Of([]string{value}, []string{strings.TrimPrefix(server.URL, "http://")}); err != nil {
			t.Fatal(err)
		}
		settings.Connectors.HTTP.Secrets = append(settings.Connectors.HTTP.Secrets, value)
	}
	settings.Connectors.HTTP.Named = secret.NewSet(byName)
	h, err := httpcall.New(settings.Connectors.HTTP)
	if err != nil {
		t.Fatal(err)
	}
	settings.Connectors.SMTP.Server, settings.Connectors.SMTP.TLS = mailServer(t), "none"
	s, err := smtp.New(settings.Connectors.SMTP)
	if err != nil {
		t.Fatal(err)
	}
	box := imaptest.Start(t, "planted-3")
	box.Put(t, "INBOX", aMail, time.Date(2026, 3, 2, 10, 0, 3, 0, time.UTC), `\Seen`)
	settings.Connectors.IMAP.Server, settings.Connectors.IMAP.TLS = box.Address, "none"
	settings.Connectors.IMAP.Username, settings.Connectors.IMAP.Password = imaptest.Username, box.Password
	settings.Connectors.IMAP.Parser = settings.Connectors.Maildir.Parser
	i, err := imap.New(settings.Connectors.IMAP)
	if err != nil {
		t.Fatal(err)
	}
	notes := settings.Connectors.SQL.Databases["notes"]
	notes.File = filepath.Join(dir, notes.File)
	fillNotes(t, notes.File)
	settings.Connectors.SQL.Databases["notes"] = notes
	d, err := sqlcall.New(settings.Connectors.SQL)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []interface{ Close() error }{f, c, m, h, s, i, d} {
		t.Cleanup(func() { _ = c.Close() })
	}
	if registry, err = connector.NewRegistry(f, c, m, h, s, i, d); err != nil {
		t.Fatal(err)
	}
	return registry, server.URL
}

// fillNotes makes the database that the page's queries read.
func fillNotes(t *testing.T, path string) {
	t.Helper()
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if _, err := db.ExecContext(t.Context(), "CREATE TABLE notes (id INTEGER PRIMARY KEY, customer TEXT, text TEXT); "+
		"INSERT INTO notes VALUES (1, 'ann', 'two boxes'), (2, 'bob', 'none')"); err != nil {
		t.Fatal(err)
	}
}

// orders is what stands behind https://api.example.com on the page.
func orders(w http.ResponseWriter, r *http.Request) {
	w.Header()["Date"] = nil
	w.Header().Set("Content-Type", "application/json")
	if shop, of := strings.CutPrefix(r.URL.Path, "/shops/"); of {
		fmt.Fprintf(w, `{"of": %q, "with": %q}`, shop, r.Header.Get("X-Key"))
		return
	}
	if r.URL.Path == "/v1/search" {
		fmt.Fprint(w, `{"found": 1}`)
		return
	}
	if r.Method == http.MethodPost {
		w.WriteHeader(http.StatusCreated)
	}
	fmt.Fprint(w, `{"id": 7, "item": "boxes", "count": 2}`)
}

const aMail = "From: Ann <ann@example.com>\r\nTo: orders@example.net\r\nSubject: Order 7\r\n" +
	"Message-ID: <7@example.com>\r\nDate: Mon, 02 Mar 2026 10:00:00 +0000\r\n\r\nTwo boxes, please.\r\n"

// blocks are the code blocks of a page whose first line begins with the language.
func blocks(page, language string) (all []string) {
	for _, m := range regexp.MustCompile("(?ms)^```([^\n]*)\n(.*?)^```$").FindAllStringSubmatch(page, -1) {
		if m[1] == language {
			all = append(all, m[2])
		}
	}
	return all
}

// TestCatalogue: the page has each operation of each built-in connector, as its schema describes it, and
// each of its blocks of code is run.
func TestCatalogue(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(catalogue)
	if err != nil {
		t.Fatal(err)
	}
	registry, orderURL := builtIn(t, string(text))
	t.Run("operations", func(t *testing.T) { testOperations(t, string(text), registry) })
	t.Run("blocks", func(t *testing.T) { testBlocks(t, string(text), registry, orderURL) })
}

func testOperations(t *testing.T, text string, registry *connector.Registry) {
	listed := make(map[string]bool)
	fresh := generated.ReplaceAllStringFunc(text, func(part string) string {
		names := strings.Fields(generated.FindStringSubmatch(part)[1])
		for _, name := range names {
			listed[name] = true
		}
		return fmt.Sprintf("<!-- operations %s -->\n%s<!-- end -->", strings.Join(names, " "),
			described(t, registry, names))
	})
	for _, name := range registry.Names() {
		c, _ := registry.Connector(name)
		for _, o := range c.Operations() {
			if !listed[name+"."+o.Name] {
				t.Errorf("the page lacks %s.%s", name, o.Name)
			}
			if len(o.Result) == 0 {
				t.Errorf("%s.%s has no schema of its result, which types are made of", name, o.Name)
			}
		}
	}
	if fresh == text {
		return
	}
	if *rewrite {
		if err := os.WriteFile(catalogue, []byte(fresh), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	t.Errorf("%s is not what the code says; go test ./engine/connector -run TestCatalogue -rewrite writes it",
		catalogue)
}

// broken breaks a paragraph into lines of at most 120 columns.
func broken(paragraph string) string {
	var out strings.Builder
	column := 0
	for word := range strings.SplitSeq(paragraph, " ") {
		size := utf8.RuneCountInString(word)
		switch {
		case column > 0 && column+1+size > 120:
			out.WriteByte('\n')
			column = 0
		case column > 0:
			out.WriteByte(' ')
			column++
		}
		out.WriteString(word)
		column += size
	}
	return out.String()
}

// described is the generated part of operations that share one schema.
func described(t *testing.T, registry *connector.Registry, names []string) string {
	t.Helper()
	var out strings.Builder
	var first connector.Operation
	for i, name := range names {
		system, operation, _ := strings.Cut(name, ".")
		o, ok := registry.Operation(system, operation)
		if !ok {
			t.Fatalf("the page describes %s, which does not exist", name)
		}
		if i == 0 {
			first = o
		} else if !bytes.Equal(o.Schema, first.Schema) {
			t.Fatalf("%s and %s have different parameters: describe them apart", names[0], name)
		}
		asked := ""
		if o.Kind == connector.Mutate {
			asked = ", cannot be asked what became of a call"
			c, _ := registry.Connector(system)
			if _, depends := c.(connector.CallReconciler); o.Reconciles && depends {
				asked = ", can be asked what became of a call if its host has `reconcile`"
			} else if o.Reconciles {
				asked = ", can be asked what became of a call"
			}
		}
		fmt.Fprintf(&out, "`%s` · %s%s · timeout %s\n\n", name, o.Kind, asked,
			cmp.Or(o.Timeout, connector.DefaultTimeout))
		_, result, ok := strings.Cut(o.Summary, " -> ")
		if !ok {
			t.Fatalf("the summary of %s does not say what it returns", name)
		}
		shape, more := shapeOf(result)
		fmt.Fprintf(&out, "%s\n\n", broken(fmt.Sprintf("Returns `%s`%s", shape, more)))
	}
	out.WriteString("| parameter | type | |\n|---|---|---|\n")
	for _, p := range connector.Parameters(first.Schema) {
		need := "optional"
		if p.Required {
			need = "required"
		}
		fmt.Fprintf(&out, "| `%s` | %s | %s |\n", p.Name, p.Type, need)
	}
	return out.String() + "\n"
}

// shapeOf cuts a summary's result after its first pair of braces.
func shapeOf(result string) (shape, more string) {
	depth := 0
	for i, r := range result {
		switch r {
		case '{':
			depth++
		case '}':
			if depth--; depth == 0 {
				return result[:i+1], strings.ReplaceAll(result[i+1:], `"`, "`")
			}
		}
	}
	return result, ""
}

var exampleCall = regexp.MustCompile(`^ctx\.(\w+)\.(\w+)\((.*)\)\n$`)

// testBlocks: each call gives the result below it, each Go block is a part of a program that is tested,
// and there is no block of a kind that nothing tests.
func testBlocks(t *testing.T, page string, registry *connector.Registry, orderURL string) {
	tested := 0
	for _, kind := range []string{"js", "json", "yaml", "go", "go tool", "sh", "sql"} {
		tested += len(blocks(page, kind))
	}
	// The statements of the block sql are tested in sqlcall, where a server is. The exchange of messages is tested in
	// natsservice, where a server is.
	tested += len(regexp.MustCompile("(?m)^```(?:json|text) wire ").FindAllString(page, -1))
	if all := strings.Count("\n"+page, "\n```") / 2; tested != all {
		t.Errorf("%d of %d code blocks are of a kind that a test runs", tested, all)
	}

	for kind, program := range map[string]string{"go": "board_test.go",
		"go tool": "../../cmd/pawl/example/tool/main.go"} {
		source, err := os.ReadFile(filepath.FromSlash(program))
		if err != nil {
			t.Fatal(err)
		}
		for _, block := range blocks(page, kind) {
			if !bytes.Contains(source, []byte(block)) {
				t.Errorf("%s does not hold the block that begins with %.60q", program, block)
			}
		}
	}

	calls, results := blocks(page, "js"), blocks(page, "json")
	if len(calls) != len(results) || len(calls) < 7 {
		t.Fatalf("%d calls and %d results", len(calls), len(results))
	}
	for i, text := range calls {
		m := exampleCall.FindStringSubmatch(text)
		if m == nil {
			t.Errorf("no call that can be made: %s", text)
			continue
		}
		now := time.Now()
		call := connector.Call{
			Workflow: "example", Run: "R1", Connector: m[1], Operation: m[2],
			Params:    json.RawMessage(strings.ReplaceAll(m[3], "https://api.example.com", orderURL)),
			StartedAt: now, Deadline: now.Add(time.Minute),
		}
		var got json.RawMessage
		if o, ok := registry.Operation(m[1], m[2]); ok && o.Kind == connector.Mutate {
			call.Key = fmt.Sprint("K", i)
			out := registry.Perform(t.Context(), call)
			if out.Status != connector.Applied {
				t.Errorf("%s%+v", text, out)
				continue
			}
			got = out.Result
		} else {
			var err error
			if got, err = registry.Read(t.Context(), call); err != nil {
				t.Errorf("%s%v", text, err)
				continue
			}
		}
		wantDescribed(t, registry, m[1], m[2], got)
		if want := results[i]; normal(t, got) != normal(t, []byte(want)) {
			t.Errorf("%sgives %s\nwant %s", text, normal(t, got), normal(t, []byte(want)))
		}
	}
}

// normal is a JSON text in one spelling; when a file was modified differs from day to day, the id of a mail from
// call to call.
func normal(t *testing.T, text []byte) string {
	t.Helper()
	var value any
	if err := json.Unmarshal(text, &value); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	out, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	blanked := regexp.MustCompile(`"modified":"[^"]+"`).ReplaceAllString(string(out), `"modified":""`)
	blanked = regexp.MustCompile(`"id":"\d{19}\.`).ReplaceAllString(blanked, `"id":".`)
	return regexp.MustCompile(`"messageId":"pawl-\w+@`).ReplaceAllString(blanked, `"messageId":"pawl-@`)
}
