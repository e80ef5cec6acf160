package maintain

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
)

// Tool is a maintainer that is an operation of a connector of the engine: a tool on NATS, in any language. The
// operation must be one that only reads. Its parameters are {evidence}, its result is {source, note}.
type Tool struct {
	Client Client
	// Connector and Operation name it.
	Connector, Operation string
}

// ParseTool reads CONNECTOR.OPERATION.
func ParseTool(name string) (connector, operation string, err error) {
	connector, operation, ok := strings.Cut(name, ".")
	if !ok || connector == "" || operation == "" {
		return "", "", errors.New("it is not CONNECTOR.OPERATION")
	}
	return connector, operation, nil
}

// Maintain implements Maintainer.
func (t Tool) Maintain(ctx context.Context, _ string, evidence json.RawMessage) ([]byte, error) {
	var answer struct {
		Outcome string
		Result  json.RawMessage
		Error   *struct{ Message string }
	}
	err := t.Client.Do(ctx, "callConnector", map[string]any{"connector": t.Connector, "operation": t.Operation,
		"params": map[string]any{"evidence": evidence}}, &answer)
	switch {
	case err != nil:
		return nil, fmt.Errorf("call %s.%s: %w", t.Connector, t.Operation, err)
	case answer.Error != nil:
		return nil, fmt.Errorf("call %s.%s: %s", t.Connector, t.Operation, answer.Error.Message)
	}
	return answer.Result, nil
}
