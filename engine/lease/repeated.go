package lease

import (
	"context"
	"time"
)

// repeated asks a bucket again where no answer comes soon, and takes the first answer to any of the requests. What is
// asked while the bucket's leader changes is lost, and an engine that waited for the answer would take its partitions
// late.
type repeated struct {
	Bucket
	soon time.Duration // for how long the first answer is waited for, and then twice as long each time
}

// answer is what a bucket has answered.
type answer struct {
	value    []byte
	keys     []string
	revision uint64
	err      error
}

// Get implements [Bucket].
func (r repeated) Get(ctx context.Context, key string) (value []byte, revision uint64, err error) {
	a := r.ask(ctx, func(ctx context.Context) (a answer) {
		a.value, a.revision, a.err = r.Bucket.Get(ctx, key)
		return a
	})
	return a.value, a.revision, a.err
}

// Put implements [Bucket]. The second of two requests finds another revision and writes nothing; put looks into that.
func (r repeated) Put(ctx context.Context, key string, value []byte, revision uint64) (written uint64, err error) {
	a := r.ask(ctx, func(ctx context.Context) (a answer) {
		a.revision, a.err = r.Bucket.Put(ctx, key, value, revision)
		return a
	})
	return a.revision, a.err
}

// Keys implements [Bucket].
func (r repeated) Keys(ctx context.Context, prefix string) (keys []string, err error) {
	a := r.ask(ctx, func(ctx context.Context) (a answer) {
		a.keys, a.err = r.Bucket.Keys(ctx, prefix)
		return a
	})
	return a.keys, a.err
}

// ask asks until there is an answer or ctx ends.
func (r repeated) ask(ctx context.Context, question func(context.Context) answer) answer {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel() // the other requests
	answers := make(chan answer)
	for wait := r.soon; ; wait *= 2 {
		go func() {
			a := question(ctx)
			select {
			case answers <- a:
			case <-ctx.Done():
			}
		}()
		select {
		case a := <-answers:
			return a
		case <-ctx.Done():
			return answer{err: context.Cause(ctx)}
		case <-time.After(wait):
		}
	}
}
