// in: next
// expect: limit.hostCalls
for (;;) ctx.publish("t.a", { messageId: "m", title: "t" });
