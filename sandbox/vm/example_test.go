package vm_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/pawl-run/pawl/sandbox"
	"github.com/pawl-run/pawl/sandbox/vm"
)

type noReads struct{}

func (noReads) Read(context.Context, string, string, json.RawMessage) (json.RawMessage, error) {
	return nil, errors.New("this workflow reads nothing")
}

// A script is described once, when it is deployed, and then invoked one handler at a time.
func ExampleNewExecutor() {
	ctx := context.Background()
	executor := vm.NewExecutor(vm.Config{})
	defer executor.Close()

	source := sandbox.Source{Filename: "greet.ts", Code: `
export default Pawl.workflow({
  name: "greet",
  topics: { "guests": {} },
  consumers: {
    greet: Pawl.consumer({
      subscribe: ["guests"],
      async prepare(ctx) {
        const [guest] = await ctx.peek("guests");
        return {
          reservations: [{ topic: guest.topic, ids: [guest.id] }],
          data: { to: guest.payload.address },
          ui: { title: "Welcome " + guest.title },
        };
      },
      async mutate(ctx, prepared) {
        await ctx.mail.send({ to: prepared.data.to, text: "Welcome!" });
      },
    }),
  },
});`}
	definition, problems, err := executor.Describe(ctx, source)
	if err != nil || len(problems) > 0 {
		fmt.Println(problems, err)
		return
	}
	fmt.Println(definition.Name, definition.Uses[0].Connector, definition.Uses[0].Operation)

	call := sandbox.Invocation{
		Source: source, Phase: sandbox.Prepare, Handler: "greet",
		Pending: map[string][]sandbox.Event{"guests": {
			{MessageID: "g1", Topic: "guests", Title: "Al",
				Payload: json.RawMessage(`{"address":"al@example.com"}`)}}},
		Operations: []sandbox.Operation{{Connector: "mail", Operation: "send", Kind: sandbox.KindMutate}},
	}
	prepared, err := executor.Invoke(ctx, call, noReads{})
	fmt.Println(string(prepared.Value), err)

	call.Phase, call.Prepared = sandbox.Mutate, prepared.Value
	mutation, err := executor.Invoke(ctx, call, noReads{})
	fmt.Println(mutation.Call.Operation, string(mutation.Call.Params), err)
	// Output:
	// greet mail send
	// {"reservations":[{"topic":"guests","ids":["g1"]}],"data":{"to":"al@example.com"},"ui":{"title":"Welcome Al"}} <nil>
	// send {"to":"al@example.com","text":"Welcome!"} <nil>
}
