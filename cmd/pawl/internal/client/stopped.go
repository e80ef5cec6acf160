package client

import (
	"fmt"

	"github.com/pawl-run/pawl/cmd/pawl/internal/config"
	"github.com/pawl-run/pawl/cmd/pawl/internal/datadir"
	"github.com/pawl-run/pawl/cmd/pawl/internal/exit"
	"github.com/pawl-run/pawl/cmd/pawl/internal/term"
)

// StoppedData finds the data directory of an engine that does not answer, and prints that its log is read. It fails
// where there is no log.
func (c *Connection) StoppedData(conf config.Reader) (config.Settings, error) {
	file, err := conf.ReadConfig()
	if err != nil {
		return config.Settings{}, err
	}
	file.Clock, file.ClockStart = "", "" // no clock is needed, and the configured one may contradict a flag
	s, err := conf.Merge(file, config.Engine{}, nil)
	if err != nil {
		return s, err
	}
	s.NATSListen = "" // an engine that does not run answers no requests
	if !datadir.HoldsLog(s.Data) {
		return s, &exit.Failure{Code: exit.CodeUnreachable,
			What: fmt.Sprintf("no engine answers at %s, and %s holds no log", c.Address, term.Path(s.Data)),
			Hint: "name the data directory: --data DIR"}
	}
	fmt.Fprintf(c.Screen.Err, "%s: reading the log in %s\n", c.Alone(nil), term.Path(s.Data))
	return s, nil
}
