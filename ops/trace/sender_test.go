package trace

import "testing"

// A header of a sender is kept as W3C Trace Context writes it; one that is not well-formed counts as none.
func TestHeadersOfSenders(t *testing.T) {
	t.Parallel()
	const unsampled = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-00"
	const good = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
	for header, want := range map[string]string{
		good:      good,
		unsampled: unsampled,
		"01-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-more": good, // of a later version
		"": "",
		"00-00000000000000000000000000000000-00f067aa0ba902b7-01":       "",
		"00-4bf92f3577b34da6a3ce929d0e0e4736-0000000000000000-01":       "",
		"00-4BF92F3577B34DA6A3CE929D0E0E4736-00f067aa0ba902b7-01":       "",
		"00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-extra": "",
		"\x00\xff": "",
		"ff-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01": "",
	} {
		if got := Sender(WithSender(t.Context(), header)); got != want {
			t.Errorf("%q is read as %q, want %q", header, got, want)
		}
	}
}
