package jslog

import (
	"testing"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/pawl-run/pawl/eventlog"
)

// TestReadAnswer: only an answer that is understood completely says that something was written.
func TestReadAnswer(t *testing.T) {
	failure := func(code, errCode string) string {
		return `{"error":{"code":` + code + `,"err_code":` + errCode + `,"description":"x"},"stream":"S","seq":0}`
	}
	for body, want := range map[string]verdict{
		`{"stream":"S","seq":7}`:                       accepted,
		`{"stream":"S","seq":7,"batch":"b","count":3}`: accepted,
		`{"stream":"S","seq":7,"duplicate":true}`:      lost,
		`{"stream":"S","seq":0}`:                       lost,
		`{"seq":7}`:                                    lost,
		`{}`:                                           lost,
		``:                                             lost,
		`+ACK`:                                         lost,
		`{"stream":"S","seq":7`:                        lost,
		failure("400", "10071"):                        stale,
		failure("400", "10164"):                        busy,
		failure("503", "10077"):                        full,
		failure("503", "10023"):                        full,
		failure("400", "10002"):                        full,
		failure("400", "10054"):                        tooLarge,
		failure("400", "10176"):                        notBatched,
		failure("429", "10210"):                        notBatched,
		failure("503", "10008"):                        lost,
		failure("500", "10009"):                        lost,
		failure("400", "10003"):                        refused,
	} {
		if got := readAnswer(&nats.Msg{Data: []byte(body)}); got.verdict != want || (want != accepted) != (got.err != nil) {
			t.Errorf("%s: verdict %d, error %v; want %d", body, got.verdict, got.err, want)
		}
	}
	silent := &nats.Msg{Header: nats.Header{"Status": {"503"}}}
	if got := readAnswer(silent); got.verdict != lost || got.err != nats.ErrNoResponders {
		t.Errorf("no responder: %+v", got)
	}
}

func TestNames(t *testing.T) {
	n := names{"pawl"}
	subject := n.subject(2, "inbox", "run.prepared")
	for got, want := range map[string]string{
		n.stream(2):                 "PAWL_LOG_2",
		n.all(2):                    "pawl.log.2.>",
		n.fence(2, "inbox"):         "pawl.log.2.inbox.>",
		subject:                     "pawl.log.2.inbox.run.prepared",
		string(n.workflow(subject)): "inbox",
		string(n.workflow("x.y")):   "",
	} {
		if got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	for kind, valid := range map[eventlog.FactType]bool{
		"run.prepared": true, "event.skip_requested": true,
		"": false, "run": false, "run.": false, ".run": false, "a.b.c": false, "a.*": false, "a.>": false, "A.b": false,
		"a.b c": false,
	} {
		if err := checkKind(kind); (err == nil) != valid {
			t.Errorf("kind %q: %v, want valid %t", kind, err, valid)
		}
	}
}

// What a server says of a stream for which it knows no leader is asked again: it may lack what was acknowledged.
func TestFromLeader(t *testing.T) {
	of := func(replicas int, cluster *jetstream.ClusterInfo) error {
		return fromLeader(&jetstream.StreamInfo{Config: jetstream.StreamConfig{Replicas: replicas}, Cluster: cluster})
	}
	if err := of(3, &jetstream.ClusterInfo{}); err == nil || !isTemporary(err) {
		t.Errorf("three replicas, no leader: %v", err)
	}
	for _, err := range []error{of(3, &jetstream.ClusterInfo{Leader: "a"}), of(1, &jetstream.ClusterInfo{}), of(1, nil)} {
		if err != nil {
			t.Error(err)
		}
	}
}
