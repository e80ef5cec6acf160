// The tests of orders.ts, without a sheet or an engine: pawl test orders.ts

export default Pawl.tests<{ "order.paid": { id: string; total: number } }>({
  "an order becomes a row"(t) {
    t.push("order.paid", { messageId: "o-1", title: "Order 1", payload: { id: "o-1", total: 20 } });
    t.run();
    t.expectCall("csv.appendRow", {
      file: "orders.csv",
      header: ["id", "total"],
      values: { id: "o-1", total: 20 },
    });
    t.expectEvents("order.paid", [{ messageId: "o-1", status: "consumed" }]);
  },

  "a row that cannot be written now is written later, once"(t) {
    t.fail("csv.appendRow");
    t.push("order.paid", { messageId: "o-1", payload: { id: "o-1", total: 20 } });
    t.run();
    t.expectCall("csv.appendRow"); // this one failed, and wrote nothing
    t.expectCall("csv.appendRow");
    t.expectEvents("order.paid", [{ messageId: "o-1", status: "consumed" }]);
  },
});
