package natsservice

import "fmt"

// Refusal says why a service, or one of its endpoints, is not offered to scripts.
type Refusal struct {
	Service string
	// Endpoint is empty when the whole service is refused.
	Endpoint string
	// Reason is a sentence for people.
	Reason string
	// Loud marks what endangers other services too, not only the one that is refused.
	Loud bool
}

// String is the refusal as a sentence.
func (r Refusal) String() string {
	if r.Endpoint == "" {
		return fmt.Sprintf("service %s is not used: %s", r.Service, r.Reason)
	}
	return fmt.Sprintf("%s.%s is not used: %s", r.Service, r.Endpoint, r.Reason)
}
