package embeddednats

import (
	"crypto/rand"
	"strconv"
	"strings"
)

// The users of the listener, each with a file of its name that holds its URL.
const (
	// Connector serves tools: it gets the requests to them and answers, nothing else. All tools of this
	// machine may share it; it protects none of them from the others. See [Tool].
	Connector = "connector"
	// Subscriber reads the log and the feed.
	Subscriber = "subscriber"
	// Operator calls the operations and pushes events in.
	Operator = "operator"
)

// Users returns the three users of the listener with their permissions, for subjects that begin with prefix (""
// means "pawl"). Their passwords are those in the URL files of dir, so that they stay the same over restarts;
// missing ones are generated. WriteURLs writes the files. The log has partitions 0 to partitions-1. It fails when
// such a file cannot be read, or holds no URL with that user.
func Users(dir, prefix string, partitions int) ([]User, error) {
	if prefix == "" {
		prefix = "pawl"
	}
	streams := []string{strings.ToUpper(prefix) + "_FEED"}
	for i := range partitions {
		streams = append(streams, strings.ToUpper(prefix)+"_LOG_"+strconv.Itoa(i))
	}
	users := []User{
		{
			Name: Connector, Account: ConnectorsAccount,
			// Only with a queue group (the second word): without one two instances could both carry out
			// one request.
			Subscribe: []string{prefix + ".tool.> >", "$SRV.>"},
			Publish:   []string{anyInbox},
			Local:     true,
			Warning: "a tool connected as the user that all tools share: each of them can read, answer and " +
				"forge the calls of the others",
		},
		{
			Name:      Subscriber,
			Subscribe: []string{"_INBOX.>"}, Publish: []string{"$JS.API.>", "$JS.ACK.>"},
			Streams: streams,
		},
		{
			Name: Operator, Account: OperatorsAccount, Apart: true,
			Subscribe: []string{"_INBOX.>"},
			Publish: []string{prefix + ".api.>", prefix + ".in.>", "$SRV.PING", "$SRV.PING.>", "$SRV.INFO", "$SRV.INFO.>",
				"$SRV.STATS", "$SRV.STATS.>"},
		},
	}
	for i := range users {
		password, err := savedPassword(dir, users[i].Name, users[i].Name)
		if err != nil {
			return nil, err
		}
		if password == "" {
			password = rand.Text()
		}
		users[i].Password = password
	}
	return users, nil
}
