package embeddednats

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
)

// openListing opens to the reader's account the lists of the streams that it may read.
func (g gate) openListing(u User, open func(from, to string) error) error {
	for from, to := range map[string]string{"$JS.API.STREAM.NAMES": gateStreamNames + u.Name,
		"$JS.API.STREAM.LIST": gateStreamList + u.Name} {
		if _, err := g.nc.QueueSubscribe(to, "gate", func(m *nats.Msg) { g.list(m, u.Streams) }); err != nil {
			return fmt.Errorf("answer NATS user %s on %s: %w", u.Name, to, err)
		}
		if err := open(from, to); err != nil {
			return err
		}
	}
	return g.nc.Flush()
}

// list answers with those of the streams that exist, in one page.
func (g gate) list(m *nats.Msg, streams []string) {
	asked, err := listRequest(m.Data)
	if err != nil {
		refuse(m, server.JSApiStreamListResponseType, http.StatusBadRequest, 0, err)
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), gateTime)
	defer cancel()
	found := []*server.StreamInfo{} // never null
	for _, name := range streams {
		info, err := g.info(ctx, name)
		if err != nil {
			return // the reader's own request times out like this one did
		}
		if info != nil && (asked.Subject == "" || mayHold(info, asked.Subject)) {
			found = append(found, info)
		}
	}
	page := server.ApiPaged{Total: len(found), Offset: asked.Offset, Limit: server.JSApiListLimit}
	found = found[min(max(asked.Offset, 0), len(found)):]
	var answer any = server.JSApiStreamListResponse{Streams: found, ApiPaged: page,
		ApiResponse: server.ApiResponse{Type: server.JSApiStreamListResponseType}}
	if strings.HasPrefix(m.Subject, gateStreamNames) {
		names := []string{}
		for _, info := range found {
			names = append(names, info.Config.Name)
		}
		answer = server.JSApiStreamNamesResponse{Streams: names, ApiPaged: page,
			ApiResponse: server.ApiResponse{Type: server.JSApiStreamNamesResponseType}}
	}
	if data, err := json.Marshal(answer); err == nil { // it was just decoded from JSON, so it encodes
		_ = m.Respond(data)
	}
}

// listRequest reads what is asked for; nothing means all streams.
func listRequest(data []byte) (asked server.JSApiStreamListRequest, err error) {
	switch {
	case len(data) == 0:
		return asked, nil
	case len(data) > maxRequest:
		return asked, fmt.Errorf("the request for a list of streams has %d bytes, the limit is %d", len(data), maxRequest)
	}
	if err := json.Unmarshal(data, &asked); err != nil {
		return asked, fmt.Errorf("read the request for a list of streams: %w", err)
	}
	return asked, nil
}

// info is what JetStream says of a stream; nil for a stream that does not exist.
func (g gate) info(ctx context.Context, stream string) (*server.StreamInfo, error) {
	m, err := g.nc.RequestWithContext(ctx, "$JS.API.STREAM.INFO."+stream, nil)
	if err != nil {
		return nil, fmt.Errorf("ask for stream %s: %w", stream, err)
	}
	var answer server.JSApiStreamInfoResponse
	if err := json.Unmarshal(m.Data, &answer); err != nil {
		return nil, fmt.Errorf("read what is said of stream %s: %w", stream, err)
	}
	return answer.StreamInfo, nil
}

// mayHold says whether the stream may hold messages of the subject, which may have wildcards.
func mayHold(info *server.StreamInfo, subject string) bool {
	for _, of := range info.Config.Subjects {
		if server.SubjectsCollide(of, subject) {
			return true
		}
	}
	return false
}
