// The tests of webhook-to-chat.ts: pawl test webhook-to-chat.ts

/** What the shop sends, as the event that its hook makes of it. */
function delivery(type: string, customer: number, carrier?: string) {
  return {
    messageId: `${type} ${customer}`,
    payload: {
      body: {
        type,
        customer: { id: customer, name: `Customer ${customer}` },
        order: { number: "17", total: "5 EUR", carrier },
      },
    },
  };
}

const told = (text: string) => ({
  url: "https://chat.example.com/api/messages",
  body: { channel: "#orders", text },
});

export default Pawl.tests({
  "each delivery that the chat has a sentence for is told"(t) {
    t.answer("http.post", { result: { status: 200, headers: {}, body: null } });
    t.push("hook.received", delivery("order.paid", 1)).run();
    t.expectCall("http.post", told("Customer 1 has paid 5 EUR for order 17"));
    t.push("hook.received", delivery("order.shipped", 2, "a ship")).run();
    t.expectCall("http.post", told("Order 17 is on its way to Customer 2 with a ship"));
    t.push("hook.received", delivery("order.shipped", 3)).run();
    t.expectCall("http.post", told("Order 17 is on its way to Customer 3 with an unknown carrier"));
  },

  "any other is dropped"(t) {
    t.push("hook.received", delivery("cart.filled", 1));
    t.expectNoCalls();
    t.expectEvents("hook.received", [{ messageId: "cart.filled 1", status: "skipped" }]);
  },

  "a delivery that the chat refuses is put aside, and its customer's next one is told"(t) {
    t.answer("http.post", { result: { status: 200, headers: {}, body: null } });
    t.answer("http.post", { fails: "logic", times: 6 });
    t.push("hook.received", [delivery("order.paid", 1), delivery("order.shipped", 1)]);
    t.run();
    for (let i = 0; i < 7; i++) t.expectCall("http.post");
    t.expectEvents("hook.received", [{ status: "discarded" }, { status: "consumed" }]);
  },

  "a lost answer waits for a person, who says that it was told"(t) {
    t.answer("http.post", { lost: "unknown" });
    t.push("hook.received", delivery("order.paid", 1)).run();
    t.expectCall("http.post");
    t.expectWaiting("indeterminate");
    t.resolve("happened");
    t.expectEvents("hook.received", [{ status: "consumed" }]);
  },
});
