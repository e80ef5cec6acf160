package worker

import (
	"encoding/json"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/pawl-run/pawl/sandbox"
	"github.com/pawl-run/pawl/sandbox/worker/confine"
)

func init() { programs["untold"] = untold }

// untold is a worker that has no processor left to tell that it is at mutate. Its script takes too much memory in the
// handler that the argument names: at once where that handler is called by itself, and else once the engine has said
// something beside the call.
func untold(arguments []string) error {
	in, err := handshakeUnconfined()
	if err != nil {
		return err
	}
	for told := false; ; {
		kind, err := in.next(1 << 20)
		if err != nil {
			return err
		}
		if kind == frameCancel {
			told = true
			continue
		}
		serial, _, call := unpackCall(&in.unpacker)
		if call.ThenMutate && !told {
			if _, err := in.next(1 << 20); err != nil {
				return err
			}
		}
		if call.ThenMutate || string(call.Phase) == arguments[0] {
			os.Exit(confine.ExitMemory)
		}
		pack := newPacker()
		packResult(pack, serial, &sandbox.Result{Value: json.RawMessage("1")}, nil)
		if err := pack.flush(os.Stdout); err != nil {
			return err
		}
	}
}

// TestTheHandlerThatEndsTheProcessIsFound: where a worker could not say that it is at mutate, the failure is that of
// the handler which ends it, however long the call took and whether the worker ended or was killed for its time.
func TestTheHandlerThatEndsTheProcessIsFound(t *testing.T) {
	t.Parallel()
	for _, ends := range []sandbox.Phase{sandbox.Prepare, sandbox.Mutate} {
		for how, code := range map[string]string{"ends": "limit.memory", "is killed": "limit.cpu"} {
			t.Run(string(ends)+", and the worker "+how, func(t *testing.T) {
				t.Parallel()
				p := newPool(t, Config{Size: 1, Command: func() *exec.Cmd { return itself(t, "untold", string(ends)) }})
				first := onlyWorker(p)
				go func() {
					if how == "is killed" {
						elapse(p, time.Hour, func(c *exchange) bool {
							if c.running {
								c.cpuKnown, c.cpuBegan = true, -time.Hour
							}
							return c.running
						})
						return
					}
					elapse(p, time.Second, func(c *exchange) bool { return c.running })
					_ = first.write(func(k *packer) {
						start := k.begin(frameCancel)
						k.num(0)
						k.end(start)
					})
				}()
				call := bothHandlers(reservesOne, `return`)
				r, err := p.Invoke(t.Context(), call, world)
				if ends == sandbox.Mutate {
					if err != nil || r.Value == nil || r.Mutate != nil {
						t.Fatalf("prepare ended with %+v, %v", r, err)
					}
					_, err = p.Invoke(t.Context(), call.Mutate(), world)
				}
				e := wantFault(t, err, sandbox.FaultScript, "limit.memory")
				wantContains(t, e.Message, "in "+string(ends)+" of consumer")
				r2 := p.Report()
				if r2.Restarts != 2 || r2.Deaths[code] == 0 {
					t.Errorf("%+v", r2)
				}
			})
		}
	}
}
