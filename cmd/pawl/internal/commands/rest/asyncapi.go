package rest

import (
	"github.com/pawl-run/pawl/cmd/pawl/internal/exit"
	"github.com/pawl-run/pawl/cmd/pawl/internal/term"
	"github.com/pawl-run/pawl/cmd/pawl/internal/version"
	"github.com/pawl-run/pawl/ops"
)

// AsyncAPI is `pawl asyncapi`: the document from which other systems generate a follower of the feed.
type AsyncAPI struct{}

// Run prints the document of this program. No engine is asked.
func (c *AsyncAPI) Run(screen term.Screen) error {
	document, err := ops.DescribeFeed(version.String())
	if err != nil {
		return exit.Failed("", err)
	}
	_, err = screen.Out.Write(document)
	return err
}
