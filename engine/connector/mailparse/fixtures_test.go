package mailparse

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// fixtures are the mails that the library is tested with, by name. They lie in its module.
func fixtures(t testing.TB) map[string]string {
	t.Helper()
	out, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "github.com/jhillyerd/enmime/v2").Output()
	dir := strings.TrimSpace(string(out))
	if err != nil || dir == "" {
		t.Fatalf("where the library's module lies: %q, %v; go mod download gets it", dir, err)
	}
	found, err := filepath.Glob(filepath.Join(dir, "testdata", "*", "*.raw"))
	if err != nil {
		t.Fatal(err)
	}
	mails := make(map[string]string)
	for _, path := range found {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		mails[filepath.Base(filepath.Dir(path))+"/"+strings.TrimSuffix(filepath.Base(path), ".raw")] = string(text)
	}
	if len(mails) < 80 {
		t.Fatalf("%d mails below %s", len(mails), dir)
	}
	return mails
}

// The library's own test mails are taken apart, or have a reason why not. Those that are one part only get
// a subject first, which makes mails of them.
func TestFixtures(t *testing.T) {
	malformed := map[string]string{
		"low-quality/bad-header-start": "its headers cannot be read", "mail/erroneous": "its headers cannot be read",
		"mail/multipart-wo-boundary":     "unable to locate boundary",
		"parts/ctype-invalid-characters": "unexpected content after media subtype",
	}
	// What is wrong in a part of them is said by Parse only.
	inPart := map[string]string{"parts/multi-malformed": "malformed MIME header",
		"parts/html-with-boundary": "Data contains boundary marker"}
	texts := map[string]string{
		"mail/non-mime-html": "This is a test mailing", "mail/qp-utf8-header": "Lorem ipsum dolor sit amet",
		"mail/mime-mixed":                        "Section one\n\n--\nSection two",
		"mail/non-mime-html-charset-header-only": "Test Müller", "mail/html-only-inline": "Test of HTML section",
		"low-quality/unk-charset-html-only": "Hello World!", "parts/chardet-success-big-5": "音辭第十八",
		"parts/nestedmulti": "A text section",
	}
	attachments := map[string]string{
		"mail/attachment": "test.html", "mail/other-multi-related": "image001.png", "parts/bin-attach": "test.bin",
		"mail/mime-bad-8bit-filename": "",
	}
	p := newParser(t, program("parser"))
	for name, mail := range fixtures(t) {
		if strings.HasPrefix(name, "parts/") {
			mail = "Subject: part\r\n" + mail
		}
		m, err := p.Parse(t.Context(), source(mail), nil)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		head, err := p.Head(t.Context(), source(mail))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if want := malformed[name]; head.Malformed != (want != "") || !strings.Contains(head.Error, want) {
			t.Errorf("%s: its head: malformed %v, %q, want %q", name, head.Malformed, head.Error, want)
		}
		if want := malformed[name] + inPart[name]; m.Malformed != (want != "") || !strings.Contains(m.Error, want) {
			t.Errorf("%s: malformed %v, %q, want %q", name, m.Malformed, m.Error, want)
		}
		if !strings.Contains(m.Text, texts[name]) {
			t.Errorf("%s: text %.200q, want %q in it", name, m.Text, texts[name])
		}
		if want, ok := attachments[name]; ok && (len(m.Attachments) == 0 || !strings.Contains(m.Attachments[0].Filename,
			want)) {
			t.Errorf("%s: attachments %+v, want %q", name, m.Attachments, want)
		}
	}
}
