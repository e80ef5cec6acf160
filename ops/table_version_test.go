package ops

import "testing"

// versionsOf checks the operations on versions, of a workflow with one.
func versionsOf(t *testing.T, call func(string, int, map[string]any) map[string]any, with func(...any) map[string]any) {
	t.Helper()
	if v := call("listWorkflowVersions", 200, with())["items"].([]any); len(v) != 1 ||
		v[0].(map[string]any)["version"] != "1.0" || v[0].(map[string]any)["current"] != true {
		t.Errorf("versions: %v", v)
	}
	if v := call("rollbackWorkflow", 200, with("version", "1.0", "expectedVersion", "1.0")); v["changed"] != false {
		t.Errorf("rolled back to what runs: %v", v)
	}
}
