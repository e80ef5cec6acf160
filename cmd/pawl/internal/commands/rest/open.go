package rest

import (
	"fmt"
	"os/exec"
	"runtime"

	"github.com/pawl-run/pawl/cmd/pawl/internal/client"
	"github.com/pawl-run/pawl/cmd/pawl/internal/term"
)

// Open is `pawl open`: log a browser in to the console.
type Open struct {
	client.Flags
	Role  string `placeholder:"viewer|operator|admin" enum:",viewer,operator,admin" default:"" help:"What the browser may do, at most what you may; else the same."`
	Print bool   `help:"Only print the link; open no browser."`
}

// Run prints the link, and opens it if a person is there to see it.
func (c *Open) Run(engine *client.Finder, screen term.Screen) error {
	connected, err := engine.Connect(c.Flags)
	if err != nil {
		return err
	}
	params := map[string]any{}
	if c.Role != "" {
		params["role"] = c.Role
	}
	return client.Answer(connected, "createLogin", params, func(made struct{ URL, Role string }) error {
		fmt.Fprintf(screen.Err, "pawl: this link works once, within a minute, and lets a browser in as %s\n", made.Role)
		fmt.Fprintln(screen.Out, made.URL)
		if c.Print || !screen.Terminal() {
			return nil
		}
		if err := browse(made.URL); err != nil {
			fmt.Fprintf(screen.Err, "pawl: no browser could be opened (%v); open the link yourself\n", err)
		}
		return nil
	})
}

// browse opens the link in the browser of the person at this machine.
func browse(link string) error {
	command, args := "xdg-open", []string{link}
	switch runtime.GOOS {
	case "darwin":
		command = "open"
	case "windows":
		command, args = "rundll32", []string{"url.dll,FileProtocolHandler", link}
	}
	opening := exec.Command(command, args...)
	if err := opening.Start(); err != nil {
		return err
	}
	go func() { _ = opening.Wait() }() // the exit code of the browser does not matter
	return nil
}
