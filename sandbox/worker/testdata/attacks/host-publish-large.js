// in: next
// expect: limit.publish
for (let i = 0; ; i++) ctx.publish("t.a", { messageId: "m" + i, title: "t", payload: "x".repeat(1e6) });
