package sqlcall

import (
	"encoding/json"

	"github.com/pawl-run/pawl/engine/connector"
	"github.com/pawl-run/pawl/eventlog"
)

// CallCheck refuses databases that are not configured, and what is no statement with its parameters.
func (c *Connector) CallCheck(call connector.Call) *eventlog.Failure {
	var failure *eventlog.Failure
	if call.Operation == "exec" {
		_, failure = c.parseExec(call)
	} else {
		_, _, failure = c.parseQuery(call)
	}
	return c.redact.Failure(failure)
}

// Judge names a database that is not configured, where the text of a script shows its name.
func (c *Connector) Judge(_ string, params *connector.Partial) []connector.Violation {
	for _, m := range params.Members {
		var name string
		if m.Name != "database" || json.Unmarshal(m.Value.Value, &name) != nil {
			continue
		}
		if _, failure := c.database(name); failure != nil {
			return []connector.Violation{{Where: []string{"database"}, Code: failure.Code, Message: failure.Message,
				Fix: "add the database under " + databasesKey + " in pawl.yaml and start the engine again, or correct the name"}}
		}
	}
	return nil
}
