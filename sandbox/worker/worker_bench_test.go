package worker

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"runtime/debug"
	"testing"
	"time"

	"github.com/pawl-run/pawl/sandbox"
	"github.com/pawl-run/pawl/sandbox/cputime"
	"github.com/pawl-run/pawl/sandbox/vm"
)

// orderSource is a workflow as authors write it: it adds up an order, sends an invoice and reports.
const orderSource = `
interface Line { sku: string; name: string; quantity: number; unitPrice: number }
interface Order { orderId: string; currency: string; lines: Line[]; shipping: { cost: number } }

function total(order: Order): number {
  return order.lines.reduce((sum, line) => sum + line.quantity * line.unitPrice, 0) + order.shipping.cost;
}

export default Keep.workflow({
  name: "orders",
  topics: { "order.received": {}, "order.invoiced": {} },
  producers: {},
  consumers: {
    invoice: Keep.consumer({
      subscribe: ["order.received"],
      async prepare(ctx) {
        const [event] = await ctx.peek("order.received", { limit: 1 });
        if (!event) return { reservations: [] };
        const order = event.payload as Order;
        const amount = total(order);
        return {
          reservations: [{ topic: "order.received", ids: [event.messageId] }],
          data: { orderId: order.orderId, amount, currency: order.currency, lines: order.lines.length },
          ui: { title: ` + "`Invoice ${order.orderId} over ${amount.toFixed(2)} ${order.currency}`" + ` },
        };
      },
      async mutate(ctx, prepared) {
        await ctx.billing.invoice({ orderId: prepared.data.orderId, amount: prepared.data.amount, currency: prepared.data.currency });
      },
      async next(ctx, prepared, result) {
        if (result.status !== "applied") return;
        await ctx.publish("order.invoiced", {
          messageId: prepared.data.orderId,
          title: ` + "`Invoice ${result.result.number}`" + `,
          payload: { orderId: prepared.data.orderId, number: result.result.number, amount: prepared.data.amount },
        });
      },
    }),
  },
});
`

const orderPayload = `{"orderId":"A-1042","customer":{"id":"c-77","name":"Ada ` +
	`Example","email":"ada@example.com"},"currency":"EUR",` +
	`"lines":[{"sku":"TEA-1","name":"Green tea, loose","quantity":2,"unitPrice":12.5},{"sku":"POT-3","name":"Cast ` +
	`iron pot","quantity":1,"unitPrice":59.9},` +
	`{"sku":"CUP-8","name":"Cup, ` +
	`glazed","quantity":4,"unitPrice":7.25}],"shipping":{"method":"parcel","cost":4.9,"address":{"street":"Main ` +
	`Street 5","city":"Berlin","zip":"10115"}},` +
	`"createdAt":"2026-01-02T03:04:05Z","express":false}`

// orderCall is one handler call of orderSource.
func orderCall(phase sandbox.Phase) sandbox.Invocation {
	call := sandbox.Invocation{Workflow: "orders", Phase: phase, Handler: "invoice",
		Topics:     []string{"order.received", "order.invoiced"},
		Operations: []sandbox.Operation{{Connector: "billing", Operation: "invoice", Kind: sandbox.KindMutate}},
		Now:        time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), Seed: 7, Limits: sandbox.Limits{}.Effective()}
	switch phase {
	case sandbox.Next:
		call.MutationResult = json.RawMessage(`{"status":"applied","result":{"number":"2026-00017"}}`)
		fallthrough
	case sandbox.Mutate:
		call.Prepared = json.RawMessage(`{"reservations":[{"topic":"order.received","ids":["A-1042"]}],` +
			`"data":{"orderId":"A-1042","amount":118.8,"currency":"EUR","lines":3},"ui":{"title":"Invoice ` +
			`A-1042 over ` +
			`118.80 EUR"}}`)
	case sandbox.Prepare:
		call.Pending = map[string][]sandbox.Event{"order.received": {
			{MessageID: "A-1042", Topic: "order.received", Title: "Order A-1042",
				Payload: json.RawMessage(orderPayload)}}}
	}
	return call
}

// framesAgain gives the same frames over and over.
type framesAgain struct {
	frames []byte
	rest   []byte
}

func (f *framesAgain) Read(p []byte) (int, error) {
	if len(f.rest) == 0 {
		f.rest = f.frames
	}
	n := copy(p, f.rest)
	f.rest = f.rest[n:]
	return n, nil
}

// BenchmarkWorker is all that a worker does for one call, but for the system calls: it reads the
// frame, runs the handler and packs the answer.
func BenchmarkWorker(b *testing.B) {
	for _, phase := range []sandbox.Phase{sandbox.Prepare, sandbox.Mutate, sandbox.Next} {
		b.Run(string(phase), func(b *testing.B) {
			p := newPacker()
			call := orderCall(phase)
			packCall(p, 1, scriptRef{id: 1}, &call)
			frames := bytes.Clone(p.buf)

			w := &worker{in: newFrameReader(&framesAgain{frames: frames}), out: io.Discard, pack: newPacker(),
				sources: map[uint64]sandbox.Source{1: {Filename: "orders.ts", Code: orderSource}},
				ended:   make(chan error), placed: make(map[uint64]map[sandbox.HandlerKey]bool)}
			w.around = vm.Surroundings{Closing: context.Background(), Scripts: vm.NewScripts(10), CPU: cputime.Own()}
			before := debug.SetGCPercent(lavishGC)
			defer debug.SetGCPercent(before)
			w.watchdog = newWatchdog(96<<20, func() {})
			last := &lastFrame{}
			w.out = last
			one := func() {
				j, err := w.hear()
				if err != nil {
					b.Fatal(err)
				}
				w.run(j)
			}
			one()
			if fault := last.fault(b, &call); fault != nil {
				b.Fatal(fault)
			}
			b.ReportAllocs()
			cpu := cputime.Own()
			began := cpu()
			for b.Loop() {
				one()
			}
			b.ReportMetric(float64((cpu()-began).Nanoseconds())/1000/float64(b.N), "cpu-µs/op")
		})
	}
}

// lastFrame keeps the answer that was written last.
type lastFrame struct{ bytes []byte }

func (l *lastFrame) Write(p []byte) (int, error) {
	l.bytes = append(l.bytes[:0], p...)
	return len(p), nil
}

func (l *lastFrame) fault(b *testing.B, call *sandbox.Invocation) *sandbox.Error {
	in := newFrameReader(bytes.NewReader(l.bytes))
	if kind, err := in.next(maxFromEngine); err != nil || kind != frameResult {
		b.Fatalf("answered with a frame of kind %d: %v", kind, err)
	}
	_, _, fault := unpackResult(&in.unpacker, call)
	if err := in.done(); err != nil {
		b.Fatal(err)
	}
	return fault
}
