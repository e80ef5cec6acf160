package ops

import "testing"

// copies calls the operations of a backup.
func copies(t *testing.T, call func(id string, want int, params map[string]any) map[string]any) {
	t.Helper()
	if v := call("describeBackup", 200, nil); len(v["ends"].([]any)) != 1 || v["installation"] != "test" {
		t.Errorf("backup: %v", v)
	}
	if v := call("readBackup", 200, map[string]any{"through": 2}); len(v["records"].([]any)) != 2 || v["next"] != 0.0 {
		t.Errorf("records: %v", v)
	}
	// Beside what the engine says of itself the webhook stands that is parked.
	if v := call("getHealthReport", 200, nil); len(v["findings"].([]any)) != 2 ||
		v["findings"].([]any)[1].(map[string]any)["check"] != "subscriptions" {
		t.Errorf("health: %v", v)
	}
}
