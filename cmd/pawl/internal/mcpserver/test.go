package mcpserver

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/pawl-run/pawl/ops/rpc"
)

// maxTests bounds tests in YAML, in bytes. They are parsed in this process, which all callers share, and that takes
// much more memory than their size.
const maxTests = 256 << 10

// addTest offers the tool.
func (s *server) addTest() {
	no := false
	text := func(about string) map[string]any { return map[string]any{"type": "string", "description": about} }
	s.offers.AddTool(&mcp.Tool{
		Name: testTool, Title: "Test a script",
		Description: "Run the tests of a script on an engine of their own in memory, with the rules and checks of a " +
			"deploy: nothing is sent, and no engine has to run. Answers ok, what each case came to with the line of its test, " +
			"and the lines of the script that no case has reached. The guide's section tests says how cases are written. " +
			"Call it after validate and before deploy.",
		InputSchema: map[string]any{"type": "object", "required": []string{"source", "tests"},
			"additionalProperties": false, "properties": map[string]any{
				"source": text("the script, TypeScript or JavaScript"),
				"tests":  text("its tests: export default Pawl.tests({ … }), or cases in YAML"),
				"yaml":   map[string]any{"type": "boolean", "description": "true where the tests are YAML"},
			}},
		Annotations: &mcp.ToolAnnotations{Title: "Test a script", ReadOnlyHint: true, DestructiveHint: &no,
			OpenWorldHint: &no},
	}, s.test)
}

// test carries the tool out.
func (s *server) test(ctx context.Context, call *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	var request TestRequest
	if err := json.Unmarshal(call.Params.Arguments, &request); err != nil {
		return misused("the arguments are not those of test: "+err.Error(), "call test with source and tests"), nil
	}
	if request.Source == "" || request.Tests == "" {
		return misused("source or tests is missing", "call test with both: the whole script, and its tests"), nil
	}
	if len(request.Source)+len(request.Tests) > rpc.MaxBody {
		return misused("source and tests are too large", "call test with fewer cases"), nil
	}
	if request.YAML && len(request.Tests) > maxTests {
		return misused(fmt.Sprintf("the tests have %d bytes, at most %d are allowed in YAML", len(request.Tests), maxTests),
			"call test with fewer cases, or record fewer runs"), nil
	}
	tool := &tool{name: testTool, next: afterTest}
	if !s.engine.TestAlone {
		if _, err := s.connect(ctx); err != nil {
			return failed(testTool, err), nil
		}
	}
	answer, err := s.engine.Test(ctx, request)
	if err != nil {
		return misused(err.Error(), "tell the person: the tests could not be run"), nil
	}
	return tool.answered(nil, answer), nil
}

// afterTest is the next step of a model.
func afterTest(_ map[string]any, answer json.RawMessage) string {
	var found struct {
		OK       bool
		Coverage *struct{ Missed []int }
	}
	switch {
	case json.Unmarshal(answer, &found) != nil:
		return ""
	case !found.OK:
		return "correct the script or the test at its line, whichever is wrong, and test again"
	case found.Coverage != nil && len(found.Coverage.Missed) > 0:
		return "add cases for the lines that are missed, or deploy the same source"
	}
	return "deploy the same source"
}
