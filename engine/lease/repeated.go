package lease

import (
	"context"
	"time"
)

// repeated asks a bucket again where no answer comes soon. What is asked while the bucket's leader changes is lost, and
// an engine that waited for the answer would take its partitions late.
type repeated struct {
	Bucket
	soon time.Duration // for how long the first answer is waited for, and then twice as long each time
}

// Get implements [Bucket].
func (r repeated) Get(ctx context.Context, key string) (value []byte, revision uint64, err error) {
	err = r.ask(ctx, func(ctx context.Context) error {
		value, revision, err = r.Bucket.Get(ctx, key)
		return err
	})
	return value, revision, err
}

// Put implements [Bucket]. An earlier request that arrives late finds another revision and writes nothing.
func (r repeated) Put(ctx context.Context, key string, value []byte, revision uint64) (written uint64, err error) {
	err = r.ask(ctx, func(ctx context.Context) error {
		written, err = r.Bucket.Put(ctx, key, value, revision)
		return err
	})
	return written, err
}

// Keys implements [Bucket].
func (r repeated) Keys(ctx context.Context, prefix string) (keys []string, err error) {
	err = r.ask(ctx, func(ctx context.Context) error {
		keys, err = r.Bucket.Keys(ctx, prefix)
		return err
	})
	return keys, err
}

// ask asks until there is an answer or ctx ends.
func (r repeated) ask(ctx context.Context, question func(context.Context) error) error {
	for wait := r.soon; ; wait *= 2 {
		limited, cancel := context.WithTimeout(ctx, wait)
		err := question(limited)
		late := limited.Err() != nil
		cancel()
		if err == nil || !late || ctx.Err() != nil {
			return err
		}
	}
}
