const Pawl = (() => {
  const steps = {
    answer: ["with", "result", "fails", "lost", "times"],
    fails: ["class", "code", "message"],
    waiting: ["code", "message", "line"],
    event: ["messageId", "title", "payload"],
    seen: ["messageId", "title", "payload", "status"],
    request: ["method", "query", "headers", "contentType", "body", "unsigned", "refused", "answers"],
    options: ["tools", "vars"]
  };
  const fail = (text) => { throw new TypeError(text); };
  const line = () => {
    const found = /:(\d+):\d+(?:\(\d+\))?\)?$/.exec(new Error().stack.trimEnd().split("\n")[4] ?? "");
    return found ? Number(found[1]) : 0;
  };
  const text = (value, what) =>
    typeof value === "string" && value !== "" ? value : fail(what + " must be a text that is not empty");
  const members = (value, known, what) => {
    if (value === null || typeof value !== "object" || Array.isArray(value)) fail(what + " must be an object");
    for (const name of Object.keys(value)) {
      if (!known.includes(name)) fail(what + " has no member " + name + "; it has " + known.join(", "));
    }
    return value;
  };
  const operation = (value) =>
    /^[^.]+\.[^.]+$/.test(text(value, "the operation")) ? value : fail("write the operation as \"connector.operation\"");
  const list = (value) => Array.isArray(value) ? value : [value];
  const builder = (test) => {
    let began = false;
    const add = (step) => { test.steps.push({ ...step, line: line() }); return t; };
    const act = (step) => { began = true; test.steps.push({ ...step, line: line() }); return t; };
    const given = (what) => { if (began) fail(what + " stands before the first step of a case"); };
    const t = {
      clock(now) {
        given("clock");
        const at = new Date(now);
        if (Number.isNaN(at.getTime())) fail("clock takes a time such as \"2026-03-01T08:00:00Z\"");
        test.clock = at.toISOString();
        return t;
      },
      state(handler, value) {
        given("state");
        if (value === undefined) fail("state takes a handler and its state");
        test.state[text(handler, "the handler")] = value;
        return t;
      },
      grants(grants) { given("grants"); Object.assign(test.grants, grants); return t; },
      answer(name, answer) {
        operation(name);
        members(answer, steps.answer, "an answer");
        if (["result", "fails", "lost"].filter((way) => answer[way] !== undefined).length !== 1) {
          fail("an answer is one of { result }, { fails } and { lost }");
        }
        if (answer.lost !== undefined && !["happened", "did-not-happen", "unknown"].includes(answer.lost)) {
          fail("lost says what the other side knows later: \"happened\", \"did-not-happen\" or \"unknown\"");
        }
        let fails = answer.fails;
        if (fails !== undefined) {
          fails = typeof fails === "string" ? { class: fails } : members(fails, steps.fails, "fails");
          const classes = ["transient", "logic", "auth", "permission", "precondition", "internal"];
          if (!classes.includes(fails.class)) fail("fails takes a class: " + classes.join(", "));
        }
        return add({ do: "answer", operation: name, ...answer, fails });
      },
      fail(name, fails = "transient") {
        return add({
          do: "answer", operation: operation(name), times: 1,
          fails: typeof fails === "string" ? { class: fails } : members(fails, steps.fails, "fail")
        });
      },
      recorded(file, name) {
        given("recorded");
        return act({ do: "recorded", file: text(file, "the file"), case: name === undefined ? "" : text(name, "the case") });
      },
      push(topic, events) {
        events = list(events).map((event) => {
          members(event, steps.event, "an event");
          text(event.messageId, "the messageId of an event");
          return { title: event.messageId, ...event };
        });
        return act({ do: "push", topic: text(topic, "the topic"), events });
      },
      hook(name, request = {}) {
        const { refused, answers, ...sent } = members(request, steps.request, "a request");
        if (sent.body === undefined) delete sent.body;
        else if (typeof sent.body !== "string") {
          sent.contentType ??= "application/json";
          const form = sent.contentType.startsWith("application/x-www-form-urlencoded");
          sent.body = form ? new URLSearchParams(sent.body).toString() : JSON.stringify(sent.body);
        } else sent.contentType ??= "text/plain";
        return act({ do: "hook", hook: text(name, "the hook"), request: sent, refused, answers });
      },
      poll() { return act({ do: "poll" }); },
      run(handler) {
        return act(handler === undefined ? { do: "run" } : { do: "run", handler: text(handler, "the handler") });
      },
      advance(by) { return act({ do: "advance", by: text(by, "what advance takes, such as \"1h\",") }); },
      crash(fact = "mutation.started") { return act({ do: "crash", fact: text(fact, "the fact") }); },
      approve() { return act({ do: "approve" }); },
      reject() { return act({ do: "reject" }); },
      resolve(resolution, result) {
        const known = ["happened", "did-not-happen", "skip", "try-again"];
        if (!known.includes(resolution)) fail("resolve takes one of " + known.join(", "));
        return act({ do: "resolve", resolution, result });
      },
      resume() { return act({ do: "resume" }); },
      skip(topic, ...ids) { return act({ do: "skip", topic: text(topic, "the topic"), ids }); },
      redrive(topic, ...ids) { return act({ do: "redrive", topic: text(topic, "the topic"), ids }); },
      expectCall(name, params) { return act({ do: "expectCall", operation: operation(name), params }); },
      expectNoCalls() { return act({ do: "expectNoCalls" }); },
      expectEvents(topic, events) {
        if (!Array.isArray(events)) fail("expectEvents takes a topic and the list of its events");
        for (const event of events) members(event, steps.seen, "an expected event");
        return act({ do: "expectEvents", topic: text(topic, "the topic"), events });
      },
      expectState(handler, state) {
        return act({ do: "expectState", handler: text(handler, "the handler"), state });
      },
      expectWaiting(reason, detail = {}) {
        members(detail, steps.waiting, "what is expected of a wait");
        return act({ do: "expectWaiting", reason: text(reason, "the reason"), code: detail.code, message: detail.message, at: detail.line });
      },
      expectLog(part) { return act({ do: "expectLog", part: text(part, "the text") }); }
    };
    return t;
  };
  return {
    tests(cases, options = {}) {
      members(options, steps.options, "the options of the tests");
      if (cases === null || typeof cases !== "object") fail("Pawl.tests takes an object of cases: { \"what is true\"(t) { … } }");
      return {
        producers: {
          tests() {
            const all = Object.entries(cases).map(([name, declare]) => {
              if (typeof declare !== "function") fail("the case " + name + " must be a function: (t) => { … }");
              const test = { name, state: {}, grants: {}, steps: [] };
              const ended = declare(builder(test));
              if (ended !== null && typeof ended === "object" && typeof ended.then === "function") {
                fail("the case " + name + " must not be async: it declares steps, which run afterwards");
              }
              return test;
            });
            return { cases: all, ...options };
          }
        }
      };
    }
  };
})();
