// Program follower follows the feed: it prints each fact of the log as a line, and keeps its place in a file.
//
//	pawl up --feed --nats-listen 127.0.0.1:4222
//	go run ./cmd/pawl/example/follower .pawl/nats/subscriber.url place.json
//
// It handles every fact once and in order, however often the engine or the connection ends. It says so when it was away
// for longer than the feed keeps facts, and it ends when the feed holds another fact in its place.
//
// It does not guarantee to print a fact only once if it is killed between the two lines that print the fact and keep
// the place. A real follower stores its place together with the result of the fact, in one transaction of its own
// storage.
package main
