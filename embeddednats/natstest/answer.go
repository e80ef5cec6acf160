package natstest

import "encoding/json"

// hasError reports whether an answer of the JetStream API is an error.
func hasError(answer []byte) bool {
	var a struct {
		Error *struct{} `json:"error"`
	}
	return json.Unmarshal(answer, &a) != nil || a.Error != nil
}
