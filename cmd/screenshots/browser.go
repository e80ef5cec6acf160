package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

// browser is a headless Chromium with one page, logged in to the console of a world.
type browser struct {
	ctx   context.Context
	world *world
	ends  []context.CancelFunc

	mu       sync.Mutex
	problems []string // what the page has reported since the last call of complaints
	asked    int      // how often the page has asked whether it may be left
}

// errNoChromium says that there is no Chromium.
var errNoChromium = errors.New("no Chromium in the PATH")

// chromium is where the program is.
func chromium() (string, error) {
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome", "chrome"} {
		if path, err := exec.LookPath(name); err == nil {
			return path, nil
		}
	}
	return "", errNoChromium
}

// launch starts a browser. Its page belongs to no user until it is logged in.
func launch(ctx context.Context, w *world) (*browser, error) {
	program, err := chromium()
	if err != nil {
		return nil, err
	}
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(program),
		chromedp.Flag("disable-dev-shm-usage", true), chromedp.Flag("force-color-profile", "srgb"),
		chromedp.WSURLReadTimeout(waitLimit))
	if os.Geteuid() == 0 {
		options = append(options, chromedp.NoSandbox) // Chromium starts as root in no other way
	}
	b := &browser{world: w}
	allocated, end := chromedp.NewExecAllocator(ctx, options...)
	b.ends = append(b.ends, end)
	b.ctx, end = chromedp.NewContext(allocated)
	b.ends = append(b.ends, end)
	// The first call starts the browser, which ends with its context.
	err = chromedp.Listen(b.ctx, b.hear)
	for _, enable := range []cdp.Command[cdp.Empty, cdp.Empty]{log.Enable, runtime.Enable} {
		if err == nil {
			_, err = chromedp.Call(b.ctx, enable, cdp.Empty{})
		}
	}
	if err == nil {
		_, err = chromedp.Call(b.ctx, network.Enable, network.EnableParams{})
	}
	if err != nil {
		b.close()
		return nil, fmt.Errorf("start %s: %w", program, err)
	}
	return b, nil
}

func (b *browser) close() {
	for i := len(b.ends) - 1; i >= 0; i-- {
		b.ends[i]()
	}
}

// hear notes the problems that the browser reports: errors of scripts, violations of the content security policy,
// answers that fail, and requests that leave the machine.
func (b *browser) hear(event any) {
	var problem string
	switch e := event.(type) {
	case *runtime.EventExceptionThrown:
		problem = "script: " + e.ExceptionDetails.Text
		if thrown := e.ExceptionDetails.Exception; thrown != nil {
			problem += " " + thrown.Description
		}
	case *runtime.EventConsoleAPICalled:
		if e.Type == runtime.ConsoleAPICalledTypeError || e.Type == runtime.ConsoleAPICalledTypeWarning {
			problem = "console: " + string(e.Type)
			for _, arg := range e.Args {
				problem += " " + string(arg.Value) + arg.Description
			}
		}
	case *log.EventEntryAdded:
		if e.Entry.Level == log.EntryLevelError || e.Entry.Level == log.EntryLevelWarning {
			problem = "log: " + e.Entry.Text + " " + e.Entry.URL
		}
	case *network.EventRequestWillBeSent:
		url := e.Request.URL
		if !strings.HasPrefix(url, b.world.url+"/") && !strings.HasPrefix(url, "data:") &&
			!strings.HasPrefix(url, "about:") {
			problem = "a request leaves the console: " + url
		}
	case *page.EventJavascriptDialogOpening:
		if e.Type == page.DialogTypeBeforeunload { // the editor asks before a page with unsaved text is left
			b.mu.Lock()
			b.asked++
			b.mu.Unlock()
			go b.leave()
			return
		}
		problem = "a dialog opens: " + e.Message
	}
	if problem != "" {
		b.mu.Lock()
		b.problems = append(b.problems, problem)
		b.mu.Unlock()
	}
}

// leave tells the browser that the page may be left. It cannot be called inside of hear.
func (b *browser) leave() {
	_, err := chromedp.Call(b.ctx, page.HandleJavaScriptDialog, page.HandleJavaScriptDialogParams{Accept: true})
	if err != nil && b.ctx.Err() == nil {
		b.mu.Lock()
		b.problems = append(b.problems, "the page is not left: "+err.Error())
		b.mu.Unlock()
	}
}

// complaints are the problems that were noted since its last call.
func (b *browser) complaints() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	said := b.problems
	b.problems = nil
	return said
}

// do carries out the actions in the browser, within a bounded time.
func (b *browser) do(actions ...chromedp.Action[chromedp.Void]) error {
	ctx, cancel := context.WithTimeout(b.ctx, waitLimit)
	defer cancel()
	return chromedp.Do(ctx, actions...)
}

// evaluate returns the value of the expression in the page, within a bounded time.
func evaluate[T any](b *browser, expression string) (T, error) {
	ctx, cancel := context.WithTimeout(b.ctx, waitLimit)
	defer cancel()
	return chromedp.Run(ctx, chromedp.Evaluate[T](expression, chromedp.EvalAwaitPromise))
}

// logIn follows a one-time link.
func (b *browser) logIn(role string) error {
	link, err := b.world.link(b.ctx, role)
	if err != nil {
		return err
	}
	err = b.do(chromedp.Navigate("about:blank"), chromedp.Navigate(link),
		chromedp.WaitVisible(chromedp.CSS("form.who")))
	if err != nil {
		return fmt.Errorf("log in as %s: %w", role, err)
	}
	return nil
}

// visit opens a page of the console and waits until it is complete.
func (b *browser) visit(path string) error {
	if err := b.do(chromedp.Navigate(b.world.url+path), chromedp.WaitReady(chromedp.CSS("footer"))); err != nil {
		return fmt.Errorf("open %s: %w", path, err)
	}
	return nil
}

// screen is how wide the page is, and in which colours.
type screen struct {
	name          string
	width, height int64
	dark, phone   bool
}

var screens = []screen{
	{"light", 1280, 800, false, false}, {"dark", 1280, 800, true, false},
	{"phone", 390, 844, false, true}, {"phone-dark", 390, 844, true, true},
}

func (b *browser) show(s screen) error {
	colours := "light"
	if s.dark {
		colours = "dark"
	}
	ctx, cancel := context.WithTimeout(b.ctx, waitLimit)
	defer cancel()
	if _, err := chromedp.Call(ctx, emulation.SetDeviceMetricsOverride, emulation.SetDeviceMetricsOverrideParams{
		Width: s.width, Height: s.height, DeviceScaleFactor: 1, Mobile: s.phone}); err != nil {
		return fmt.Errorf("set the width of the screen: %w", err)
	}
	if _, err := chromedp.Call(ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
		Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: colours},
			{Name: "prefers-reduced-motion", Value: "reduce"}}}); err != nil {
		return fmt.Errorf("set the colours of the screen: %w", err)
	}
	return nil
}

// picture is the whole page as PNG.
func (b *browser) picture() ([]byte, error) {
	ctx, cancel := context.WithTimeout(b.ctx, waitLimit)
	defer cancel()
	return chromedp.Run(ctx, chromedp.FullScreenshot(100))
}

// text is what a person reads on the page.
func (b *browser) text() (string, error) {
	text, err := evaluate[string](b, `document.body?.innerText ?? ""`) // a page that is being loaded has no body yet
	if err != nil && strings.Contains(err.Error(), "Inspected target navigated or closed") {
		return "", nil // the page is being left
	}
	return text, err
}

// errNothingToPress says that a page has no link and no button with the text.
var errNothingToPress = errors.New("nothing to press")

// follow presses the first of the links and buttons whose text begins in this way, and waits for the page that comes. A
// live page may be updated meanwhile: so the link is looked up at the moment when it is pressed.
func (b *browser) follow(among, text string) error {
	find := fmt.Sprintf(`[...document.querySelectorAll(%q)].find(e => e.innerText.trim().startsWith(%q))`, among, text)
	there, err := evaluate[bool](b, "!!"+find)
	switch {
	case err != nil:
		return fmt.Errorf("find %q: %w", text, err)
	case !there:
		return fmt.Errorf("%w that says %q", errNothingToPress, text)
	}
	return b.click(find, text)
}

// press presses a button or follows a link, and waits for the page that comes.
func (b *browser) press(selector string) error {
	ctx, cancel := context.WithTimeout(b.ctx, waitLimit)
	defer cancel()
	if err := chromedp.Do(ctx, chromedp.WaitVisible(chromedp.CSS(selector))); err != nil {
		return fmt.Errorf("find %s: %w", selector, err)
	}
	return b.click(fmt.Sprintf(`document.querySelector(%q)`, selector), selector)
}

// click presses what the expression finds, and waits for the page that comes.
func (b *browser) click(found, name string) error {
	ctx, cancel := context.WithTimeout(b.ctx, waitLimit)
	defer cancel()
	click := chromedp.Evaluate[chromedp.Void]("void " + found + ".click()")
	if _, err := chromedp.Run(ctx, chromedp.WaitEvent(page.LoadEventFired, nil, click)); err != nil {
		return fmt.Errorf("press %s: %w", name, err)
	}
	return nil
}

// write inserts text at the cursor, as if it were pasted.
func (b *browser) write(text string) error {
	ctx, cancel := context.WithTimeout(b.ctx, waitLimit)
	defer cancel()
	if _, err := chromedp.Call(ctx, input.InsertText, input.InsertTextParams{Text: text}); err != nil {
		return fmt.Errorf("write into the page: %w", err)
	}
	return nil
}
