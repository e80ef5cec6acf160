package projections_test

import (
	"encoding/json"
	"fmt"
)

// render prints an entity with everything its pointers lead to.
func render(entity any) string {
	b, err := json.Marshal(entity)
	if err != nil {
		return fmt.Sprintf("%T: %v", entity, err)
	}
	return fmt.Sprintf("%T %s", entity, b)
}
