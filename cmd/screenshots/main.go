package main

import (
	"context"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "screenshots:", err)
		stop()
		os.Exit(1)
	}
}

// run makes the pictures in the folder that is named.
func run(ctx context.Context, args []string) (err error) {
	docs := len(args) == 2 && args[0] == "docs"
	if docs {
		args = args[1:]
	}
	if len(args) != 1 {
		return fmt.Errorf("want the folder for the pictures, e.g. go run ./cmd/screenshots ./pictures, or " +
			"go run ./cmd/screenshots docs ops/console/pictures for those of the documents")
	}
	if err := os.MkdirAll(args[0], 0o755); err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "pawl-screenshots")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	pawl, err := build(ctx, dir)
	if err != nil {
		return err
	}
	w, err := newWorld(ctx, pawl, dir)
	defer w.close()
	if err != nil {
		return err
	}
	if err := w.fill(ctx, ordinaryTitles); err != nil {
		return err
	}
	b, err := launch(ctx, w)
	if err != nil {
		return err
	}
	defer b.close()
	if docs {
		return b.illustrate(args[0])
	}
	return b.photograph(args[0])
}

// shown are the pictures of the documents, by their names. Each shows a page, or the page that a link on it leads to.
var shown = map[string]struct{ page, link string }{
	"home": {page: "/"}, "needs": {page: "/ui/needs"}, "workflow": {page: "/ui/workflows/mail-to-books"},
	"input":  {page: "/ui/workflows/mail-to-books", link: "Invoice 2041 of Ann"},
	"change": {page: "/ui/workflows/mail-to-books", link: "Book Invoice 2041 of Ann"},
	"run":    {page: "/ui/workflows/mail-to-books/list/runs?q=Invoice+2041", link: "book"},
	"event":  {page: "/ui/workflows/orders/events/placed/order-1"},
	"jobs":   {page: "/ui/workflows/orders/list/jobs?state=discarded"}, "script": {page: "/ui/workflows/reports/script"},
	"state": {page: "/ui/workflows/mail-to-books/state?at=20"}, "log": {page: "/ui/workflows/mail-to-books/log"},
	"editor": {page: "/ui/edit?workflow=reports"}, "system": {page: "/ui/system"},
	"action": {page: "/ui/needs", link: "It happened…"},
}

// tallest bounds the height of the pictures in documents, in pixels.
const tallest = 1100

// illustrate makes the pictures of the documents, small ones.
func (b *browser) illustrate(folder string) error {
	if err := b.logIn("admin"); err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(shown)) {
		if err := b.visit(shown[name].page); err != nil {
			return err
		}
		if link := shown[name].link; link != "" {
			if err := b.follow("main a", link); err != nil {
				return fmt.Errorf("on %s: %w", shown[name].page, err)
			}
		}
		for _, s := range screens[:2] {
			if err := b.show(s); err != nil {
				return err
			}
			taken, err := b.picture()
			if err == nil {
				taken, err = compressed(taken, tallest)
			}
			if err != nil {
				return fmt.Errorf("picture of %s, %s: %w", name, s.name, err)
			}
			if err := os.WriteFile(filepath.Join(folder, name+"."+s.name+".png"), taken, 0o644); err != nil {
				return err
			}
		}
		fmt.Println(name)
	}
	return nil
}

// build makes the program in the folder.
func build(ctx context.Context, dir string) (string, error) {
	if ready := os.Getenv("PAWL_TEST_PROGRAM"); ready != "" {
		return filepath.Abs(ready)
	}
	program := filepath.Join(dir, "pawl")
	making := exec.CommandContext(ctx, "go", "build", "-o", program, "github.com/pawl-run/pawl/cmd/pawl")
	making.Env = append(os.Environ(), "CGO_ENABLED=0") // as for a release
	out, err := making.CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("build pawl: %w\n%s", err, out)
	}
	return program, nil
}

// photograph makes a picture of each view on each screen, and of the login.
func (b *browser) photograph(folder string) error {
	shoot := func(name, path string) error {
		if err := b.visit(path); err != nil {
			return err
		}
		for _, s := range screens {
			if err := b.show(s); err != nil {
				return err
			}
			png, err := b.picture()
			if err != nil {
				return fmt.Errorf("picture of %s, %s: %w", path, s.name, err)
			}
			if err := os.WriteFile(filepath.Join(folder, name+"."+s.name+".png"), png, 0o644); err != nil {
				return err
			}
		}
		fmt.Println(name, path)
		return nil
	}
	if err := shoot("login", "/login"); err != nil {
		return err
	}
	if err := b.logIn("admin"); err != nil {
		return err
	}
	views, err := b.views()
	if err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(views)) {
		if err := shoot(name, views[name]); err != nil {
			return err
		}
	}
	return nil
}
