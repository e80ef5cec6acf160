// Types of Pawl workflow scripts. Nothing has to be imported: `pawl types DIR` writes this file, and a tsconfig.json
// through which editors find it.
//
//   export default Pawl.workflow({ name, topics, producers, consumers })
//
// Where a workflow says what its topics hold, their names and payloads are checked:
//
//   type Topics = { "order.placed": { id: string; total: number } };
//   export default Pawl.workflow<Topics>({ name, topics: { "order.placed": {} }, producers, consumers })
//
// Each handler call runs alone: globals are not kept between calls. What a handler may do depends on its phase;
// anything else ends the call at once, past every try/catch.

/** A value that survives JSON. */
type Json = string | number | boolean | null | Json[] | { [key: string]: Json };

// Topics. T stands for what a workflow says its topics hold, and is `any` where it does not say; `keyof T & string` is
// the name of a topic.

/** What the events of a topic hold; P where the workflow does not say. */
type PawlPayload<T, K, P = any> = PawlChecked<T, K extends keyof T ? T[K] : never, P>;

/** The first type in a workflow that says what its topics hold, otherwise the second. */
type PawlChecked<T, Yes, No> = 0 extends 1 & T ? No : Yes;

/** A topic event as handlers see it. */
interface PawlEvent<P = any, K = string> {
  readonly messageId: string;
  /** The same as messageId. */
  readonly id: string;
  readonly topic: K;
  readonly title: string;
  readonly payload: P;
  /** Which try of the event this run is, if it reserves it: 1 at first. A try that a crash has ended counts too. */
  readonly attempt: number;
  /** What the last failed try has ended with, null if none has failed. */
  readonly lastError: {
    readonly class: "transient" | "logic" | "auth" | "permission" | "precondition" | "internal";
    readonly code: string;
    /** For people; its first 300 bytes. */
    readonly message: string;
  } | null;
}

/** A topic event of any status, as getByIds returns it. */
interface PawlKnownEvent<P = any, K = string> extends PawlEvent<P, K> {
  readonly status: "pending" | "reserved" | "consumed" | "skipped" | "discarded";
  /** Of a pending event that waits for its retry: before this time, as ISO 8601 text, it cannot be reserved. */
  readonly scheduledAt?: string;
}

/** An event to publish. The same messageId in the same topic again updates the event. */
type PawlNewEvent<P = any> = {
  /** 1 to 512 bytes, no control characters, not "." or ".."; stable, so that a repeated run does not publish twice. */
  messageId: string;
  /** What the event is, for people: an identifier and a description. */
  title: string;
} & (null extends P ? { payload?: P } : { payload: P });

/** An event that can be published in the topic K, or in each of them. */
type PawlEventFor<T, K> = (
  K extends string ? (event: PawlNewEvent<PawlPayload<T, K>>) => void : never
) extends (event: infer E) => void ? E : never;

/** Events of one topic. */
interface PawlEvents<T = any> {
  topic: keyof T & string;
  ids: string[];
}

// Connectors.

/**
 * What ctx.<connector>.<operation>(params) can call. An operation is listed by its kind: `list` finds things, `get`
 * reads one thing by its id, `mutate` changes something. A connector that is not listed may be there all the same, as a
 * tool of your own: calls to it are not checked here.
 */
interface PawlConnectors {
  readonly [connector: string]: any;
}

/** The operations of the connectors, those of the given kinds to be called. */
type PawlCalls<Kind extends "list" | "get" | "mutate"> = {
  readonly [C in keyof PawlConnectors]: PawlChecked<PawlConnectors[C], {
    readonly [O in keyof PawlConnectors[C]]: PawlCall<PawlConnectors[C][O], Kind>;
  }, any>;
};
type PawlCall<Operation, Kind> = [keyof Operation & Kind] extends [never]
  ? PawlOnlyIn<
      keyof Operation extends "mutate" ? "mutate"
      : keyof Operation extends "get" ? "a producer, prepare, or mutate with mutateReads"
      : "a producer or prepare"
    >
  : Operation[keyof Operation & Kind];

/** What the phase at hand may not call, and which may. */
interface PawlOnlyIn<Phase> {
  readonly onlyIn: Phase;
}

// Phases.

/** What every phase has. */
interface PawlBaseCtx {
  /** Writes a line into the logs of the run; console.* does the same. */
  log(...values: unknown[]): void;
  /** Milliseconds since 1970, as Date.now(). */
  now(): number;
  /** The digest of a text, as UTF-8, or of bytes, as lower-case hex; the same for the same data. */
  hash(algorithm: "sha256" | "sha512" | "sha1", data: string | Uint8Array | ArrayBuffer): string;
  /** The plain settings under `vars:` of the engine's configuration, by name. */
  readonly vars: { readonly [name: string]: any };
}

/** May list, search and get through connectors, and publish. */
interface PawlProducerCtx<T = any> extends PawlBaseCtx, PawlCalls<"list" | "get"> {
  /** Publishes with the commit of the run: a failed run publishes nothing. */
  publish<K extends keyof T & string>(topic: K | K[], event: PawlEventFor<T, K> & { inputId?: string }): Promise<void>;
  /** Names the outside thing that events come from; returns the inputId for publish. */
  registerInput(input: { source: string; type: string; id: string; title: string }): string;
  /**
   * The time that the schedule asked for, as ISO 8601 text: the same in each further try of this run, however late it
   * is. For a run that makes up for several times it is the first of them, for one that a person asked for its start.
   */
  readonly scheduledAt: string;
  readonly peek: PawlOnlyIn<"prepare">;
  readonly getByIds: PawlOnlyIn<"prepare">;
}

/** May list, search and get through connectors, and look at pending events. */
interface PawlPrepareCtx<T = any> extends PawlBaseCtx, PawlCalls<"list" | "get"> {
  /**
   * Pending events of a subscribed topic, oldest first: 100 without a limit, at most 1000 at once. With after, the
   * messageId of an event, those that stand behind it; an empty list is the end.
   */
  peek<P = any, K extends keyof T & string = keyof T & string>(
    topic: K, options?: { limit?: number; after?: string },
  ): Promise<PawlEvent<PawlPayload<T, K, P>, K>[]>;
  /** Events of a subscribed topic whatever their status, in the order of ids; unknown ids are left out. */
  getByIds<P = any, K extends keyof T & string = keyof T & string>(
    topic: K, ids: string[],
  ): Promise<PawlKnownEvent<PawlPayload<T, K, P>, K>[]>;
  readonly publish: PawlOnlyIn<"a producer or next">;
  readonly registerInput: PawlOnlyIn<"a producer">;
  readonly scheduledAt: PawlOnlyIn<"a producer">;
}

/** What mutate has in any case. */
interface PawlAnyMutateCtx extends PawlBaseCtx {
  readonly peek: PawlOnlyIn<"prepare">;
  readonly getByIds: PawlOnlyIn<"prepare">;
  readonly publish: PawlOnlyIn<"a producer or next">;
  readonly registerInput: PawlOnlyIn<"a producer">;
  readonly scheduledAt: PawlOnlyIn<"a producer">;
}

/** May make one call that changes something, which ends the handler: no code after it runs. */
interface PawlMutateCtx extends PawlAnyMutateCtx, PawlCalls<"mutate"> {}

/** With mutateReads: "byId". It may also call operations that get by id, before. */
interface PawlMutateReadsCtx extends PawlAnyMutateCtx, PawlCalls<"get" | "mutate"> {}

/** May publish. */
interface PawlNextCtx<T = any> extends PawlBaseCtx {
  /** Publishes with the commit of the run: a failed run publishes nothing. */
  publish<K extends keyof T & string>(topic: K | K[], event: PawlEventFor<T, K>): Promise<void>;
}

/** What prepare returns, always with reservations; it is stored and given to mutate and next unchanged. */
interface PawlPrepareResult<D = any, T = any> {
  /**
   * The pending events that this run will consume. Empty means that there is nothing to do: mutate is left out,
   * but next runs all the same, with this data and the status "none".
   */
  reservations: PawlEvents<T>[];
  /** Everything that mutate and next need. */
  data: D;
  /** Shown to people, for example when they approve the mutation. */
  ui?: { title?: string; [key: string]: unknown };
  /** When to prepare again at the latest, as ISO 8601 text: new Date(ctx.now() + 3600e3).toISOString(). */
  wakeAt?: string;
  /** Events to drop unprocessed with the commit of this run. */
  cancel?: (PawlEvents<T> & { reason?: string })[];
}

/** What prepare returns where there is nothing to do. */
interface PawlNothing<T = any> extends PawlPrepareResult<any, T> {
  reservations: [];
}

/**
 * How the mutation ended; "none" where none was made, also in a run without reservations. A result is null where a
 * person has said that the call happened, and gave none.
 */
type PawlMutationResult<R = any> =
  | { status: "applied"; result: [R] extends [void] ? any : Exclude<R, void | undefined> }
  | { status: "none" }
  | { status: "skipped" };

type PawlProducerHandler<S, T = any> = (ctx: PawlProducerCtx<T>, state: S | undefined) => Promise<S | void> | S | void;

/** A producer with its own schedule; a bare function runs on deploy, on demand and every 5 minutes. */
interface PawlProducer<S = any, T = any> {
  /** "30s", "5m", "1h" …: first at deploy, then so long after the start of each run. */
  interval?: string;
  /** Five fields; instead of interval. It runs at these times only, not at deploy. */
  cron?: string;
  /** Zone of cron, for example "Europe/Berlin". */
  timezone?: string;
  /** Also run at each deploy of a changed script. */
  runOnDeploy?: boolean;
  /** The topics it may publish to; all declared ones if absent. */
  publishes?: (keyof T & string)[];
  /** Returns the new state; undefined keeps the old one. Also accepted as `run` or `poll`. */
  handler?: PawlProducerHandler<S, T>;
  run?: PawlProducerHandler<S, T>;
  poll?: PawlProducerHandler<S, T>;
}

// Consumers. P stands for what prepare returns, where that is known.

/** What every consumer has. */
interface PawlAnyConsumer<T = any> {
  subscribe: (keyof T & string)[];
  publishes?: (keyof T & string)[];
  /** How often a failed event is retried before it is put aside. */
  maxAttempts?: number;
  /**
   * The topic that receives an event for each one that is put aside. Its payload is a PawlDeadLetter, its id names the
   * event and the run.
   */
  deadLetter?: keyof T & string;
}

/** The payload of an event that stands for one that was put aside after maxAttempts. */
interface PawlDeadLetter<P = any> {
  readonly topic: string;
  readonly messageId: string;
  readonly title: string;
  /** null, and omitted is true, where one run puts aside more than 512 KiB. */
  readonly payload: P;
  readonly omitted?: true;
  readonly consumer: string;
  readonly run: string;
  readonly attempts: number;
  readonly error: {
    readonly class: "transient" | "logic"; readonly code: string; readonly message: string; readonly line?: number;
  };
}

/** What mutate is given: what prepare returned where there was something to do. */
type PawlReserved<D, T, P> = PawlChecked<T,
  P extends { reservations: [] } ? PawlChecked<P["reservations"], never, P> : P, PawlPrepareResult<D>>;
/** What next is given: what prepare returned. */
type PawlPrepared<D, T, P> = PawlChecked<T, P, PawlPrepareResult<D>>;

/**
 * Whether a person approves the call of mutate although it is granted: each one, or those for which the function
 * returns true. It is asked once, before mutate, and answers at once.
 */
type PawlApproval<D, T, P> = "ask" | ((prepared: PawlReserved<D, T, P>) => boolean);

interface PawlMutate<D, R, T, P> {
  approval?: PawlApproval<D, T, P>;
  /** "byId" allows operations that get by id in mutate. */
  mutateReads?: undefined;
  /** Makes one change, or none. It may return its call, so that next knows the type of the result. */
  mutate?(ctx: PawlMutateCtx, prepared: PawlReserved<D, T, P>): Promise<R | void> | R | void;
}
interface PawlMutateWithReads<D, R, T, P> {
  approval?: PawlApproval<D, T, P>;
  mutateReads: "byId";
  mutate?(ctx: PawlMutateReadsCtx, prepared: PawlReserved<D, T, P>): Promise<R | void> | R | void;
}

/** One run follows the other. */
interface PawlSerial<D, S, R, T, P> extends PawlAnyConsumer<T> {
  concurrency?: undefined;
  key?: undefined;
  rate?: undefined;
  prepare(ctx: PawlPrepareCtx<T>, state: S | undefined): Promise<P> | P;
  /**
   * Always runs, also without a mutation and after reservations: [], where prepared.data may be null: test it first.
   * Returns the new state; undefined keeps the old one.
   */
  next?(
    ctx: PawlNextCtx<T>, prepared: PawlPrepared<D, T, P>, mutationResult: PawlMutationResult<R>,
  ): Promise<S | void> | S | void;
}

/**
 * A consumer whose events are independent of each other: each run works on one event, and many run at once. It has no
 * state. `peek` in prepare gives the one event of the run.
 */
interface PawlConcurrent<D, R, T, P> extends PawlAnyConsumer<T> {
  /** How many of its runs may be under way at once, 1 to 256. */
  concurrency: number;
  /** The path of a value in the payload, "customer.id": events with the same value there keep their order. */
  key?: string;
  /** How often a run may begin, per second, minute or hour: "10/s", "300/m", "500/h". */
  rate?: string;
  /**
   * Confirms the event, cancels it, or returns no reservations: the event is then offered again at wakeAt, or a day
   * later.
   */
  prepare(ctx: PawlPrepareCtx<T>): Promise<P> | P;
  /** Always runs, also without a mutation. It returns nothing. */
  next?(
    ctx: PawlNextCtx<T>, prepared: PawlPrepared<D, T, P>, mutationResult: PawlMutationResult<R>,
  ): Promise<void> | void;
}

/** prepare chooses events and gathers data, mutate makes one change outside, next publishes and keeps state. */
type PawlConsumer<D = any, S = any, R = any, T = any, P = PawlPrepareResult<D, T>> =
  (PawlSerial<D, S, R, T, P> | PawlConcurrent<D, R, T, P>) & (PawlMutate<D, R, T, P> | PawlMutateWithReads<D, R, T, P>);

/**
 * What shows that a request to a hook is a true one. A secret is named; its value stands in the engine's
 * configuration.
 */
type PawlHookVerify =
  | { scheme: "github" | "shopify" | "slack" | "standard" | "stripe" | "twilio"; secret: string }
  | {
      hmac: "sha1" | "sha256" | "sha512";
      secret: string;
      /** How the secret's value becomes the key; "text" if absent. */
      secretEncoding?: "text" | "hex" | "base64";
      /** What is signed: a template of {body}, {timestamp}, {header:NAME}, {query:name}, {url} and {method}. */
      signed: string;
      /** Where the signatures stand; with split several of them, of which those with the prefix count. */
      signatures: { header: string; split?: string; prefix?: string; encoding: "hex" | "base64" };
      /** Where the time stands: in a header, or behind a prefix among the signatures. It must be signed, too. */
      timestamp?: ({ header: string } | { in: string }) & {
        format: "unix" | "unixMillis" | "rfc3339";
        /** How far it may be from the engine's time: "5m" if absent. */
        tolerance?: string;
      };
    }
  | { token: string; header: string }
  | { token: string; query: string }
  | "none";

/** Another system posts to /hooks/{workflow}/{hook}, and each verified request becomes an event. */
interface PawlHook<T = any> {
  topic: keyof T & string;
  verify: PawlHookVerify;
  /** Templates of {header:NAME}, {query:name}, {body:path.to.member} and {hash}. The same id is the same event. */
  id: string;
  title: string;
  /** The headers that the payload has. */
  headers?: string[];
  /** What is answered once the event is durable. A request that has all of challenge is answered with it instead. */
  respond?: { status?: number } & ({ text?: string } | { json?: Json } | { challenge?: string });
}

/** The payload of a hook's event. */
interface PawlHookPayload<B = any> {
  readonly method: string;
  readonly query: { readonly [name: string]: string | string[] };
  readonly headers: { readonly [name: string]: string };
  readonly contentType: string;
  /** Parsed JSON, the fields of a form, text, or base64, which encoding says. */
  readonly body: B;
  readonly encoding?: "base64";
}

interface PawlWorkflow<T = any> {
  name: string;
  topics: { [K in keyof T]: object };
  producers?: { [name: string]: PawlProducerHandler<any, T> | PawlProducer<any, T> };
  consumers?: { [name: string]: PawlConsumer<any, any, any, T> };
  hooks?: { [name: string]: PawlHook<T> };
}

// Tests, in a file NAME.test.ts beside NAME.ts; `pawl test` runs them.

/** How a call fails. */
type PawlTestFailure =
  | "transient" | "logic" | "auth" | "permission" | "precondition" | "internal"
  | { class: "transient" | "logic" | "auth" | "permission" | "precondition" | "internal"; code?: string; message?: string };

/** What an operation answers: a result, a failure, or, of a change, an answer that is lost. */
type PawlTestAnswer = {
  /** Parameters that a call has to have for this answer; it may have others too. */
  with?: object;
  /** How often it is given; always if absent. */
  times?: number;
} & (
  | { result: unknown; fails?: undefined; lost?: undefined }
  | { fails: PawlTestFailure; result?: undefined; lost?: undefined }
  | {
      /**
       * What the other side says when it is asked. Where it cannot be asked (mail, and http hosts without reconcile in the
       * configuration), and with "unknown", a person has to say.
       */
      lost: "happened" | "did-not-happen" | "unknown";
      result?: undefined;
      fails?: undefined;
    }
);

/** Declares the steps of one case, which run in their order once all are declared. T are the payloads by topic. */
interface PawlTest<T = any> {
  // What is given, before the first step.

  /** The time at which the case begins; it moves with advance alone. "2026-01-01T00:00:00Z" if absent. */
  clock(now: string): this;
  /** What a producer, or next of a consumer, has returned last. */
  state(handler: string, state: unknown): this;
  /** Changes what is granted: all that the script uses is allowed. */
  grants(grants: { [capability: string]: "allow" | "ask" | "deny" }): this;
  /**
   * What a case in YAML, in a file beside this one, is given and does. Its expectations are left out. The name of the
   * case may be left out where the file has one.
   */
  recorded(file: string, name?: string): this;

  // What is given at any place.

  /** What "connector.operation" answers from here on. Of several that fit a call the newest is taken. */
  answer(operation: string, answer: PawlTestAnswer): this;
  /** The next call fails: "transient" if absent. */
  fail(operation: string, failure?: PawlTestFailure): this;

  // What is done.

  /** Pushes events. They wait until run, advance or an expectation. A title that is absent is the messageId. */
  push<K extends keyof T & string>(topic: K, events: PawlTestEvent<T[K]> | PawlTestEvent<T[K]>[]): this;
  /**
   * Another system sends a request to a hook: signed as the hook wants it, with a secret of the test, unless it is
   * unsigned. Its event waits as one that is pushed. A request that is refused fails the case, unless refused names the
   * code; so does one that is answered as a challenge, unless answers says with what.
   */
  hook(name: string, request?: PawlTestRequest): this;
  /** Runs all producers, and then all that follows. */
  poll(): this;
  /**
   * Runs until nothing is left to do. Pauses before a further try pass; schedules and wakeAt do not count. With a
   * handler, until the next run of that has ended: what is left waits for the next step.
   */
  run(handler?: string): this;
  /** Moves the clock: "90s", "24h". Everything that is due on the way runs at its time. */
  advance(by: string): this;
  /** The engine is killed as soon as this fact is in the log, "mutation.started" if absent; another one goes on. */
  crash(fact?: string): this;
  /** What a person does with all calls that wait for it. */
  approve(): this;
  reject(): this;
  resolve(resolution: "happened" | "did-not-happen" | "skip" | "try-again", result?: unknown): this;
  /** What a person does with the workflow, and with events of a topic: those with the ids, or all (skip: but discarded). */
  resume(): this;
  skip(topic: keyof T & string, ...ids: string[]): this;
  redrive(topic: keyof T & string, ...ids: string[]): this;

  // What is expected.

  /** The next change that was made outside. Without params it may have any; otherwise it has exactly these. */
  expectCall(operation: string, params?: object): this;
  /** No change was made beside those that were expected so far. The end of a case expects that too. */
  expectNoCalls(): this;
  /** All events of a topic, oldest first; of each what is given here. */
  expectEvents<K extends keyof T & string>(
    topic: K,
    events: {
      messageId?: string; title?: string; payload?: unknown;
      status?: "pending" | "reserved" | "consumed" | "skipped" | "discarded";
    }[],
  ): this;
  /** What a handler remembers; undefined for nothing. */
  expectState(handler: string, state: unknown): this;
  /**
   * What the workflow, or a single event of a consumer with concurrency, waits for: "maintenance" for a repair,
   * "blocked" for a person; and the last failure.
   */
  expectWaiting(reason: PawlTestWait, failure?: { code?: string; message?: string; line?: number }): this;
  /** A handler has logged a line with this text. */
  expectLog(text: string): this;
}

/** What a workflow can wait for, as `pawl why` names it. */
type PawlTestWait = "idle" | "scheduled" | "wake" | "backoff" | "userPause" | "restored" | "approval" | "reconcileDue"
  | "indeterminate" | "maintenance" | "blocked" | "storage" | "archived" | "places" | "rate" | "probing" | "uncertain"
  | "heldMost" | "held" | "noWorker" | "noOwner";

/** An event that a case pushes. */
type PawlTestEvent<P> = { messageId: string; title?: string; payload?: P };

/** A request to a hook, POST if no method is given. A body that is no text is sent as JSON, or as contentType says. */
type PawlTestRequest = {
  method?: string;
  query?: { [name: string]: string };
  headers?: { [name: string]: string };
  contentType?: string;
  body?: unknown;
  unsigned?: boolean;
  refused?: string;
  answers?: string;
};

/** The cases by what is true in them. */
interface PawlTests<T = any> {
  [name: string]: (t: PawlTest<T>) => void;
}

/** T, which is never guessed from where this stands. */
type PawlGiven<T> = T extends infer Given ? Given : never;

declare const Pawl: {
  workflow<T extends object = any>(workflow: PawlWorkflow<PawlGiven<T>>): PawlWorkflow<T>;
  /** Within Pawl.workflow<Topics>, mutate and next know the type of what prepare returns. */
  consumer<
    D = any, S = any, R = any, T = any,
    P extends PawlPrepareResult<D, T> | PawlNothing<T> = PawlPrepareResult<D, T>,
  >(
    consumer: PawlConsumer<D, S, R, PawlGiven<T>, P>,
  ): PawlConsumer<any, any, any, T>;
  producer<S = any, T = any>(
    producer: PawlProducer<S, PawlGiven<T>> | PawlProducerHandler<S, PawlGiven<T>>,
  ): PawlProducer<any, T> | PawlProducerHandler<any, T>;
  hook<T = any>(hook: PawlHook<PawlGiven<T>>): PawlHook<T>;
  /** The tests of the script beside this file. Tools are operations that no built-in connector has, with their kinds. */
  tests<T extends object = any>(
    cases: PawlTests<PawlGiven<T>>,
    options?: {
      tools?: { [operation: string]: "list" | "get" | "mutate" };
      vars?: { [name: string]: unknown };
    },
  ): PawlTests<T>;
};
/** The same as Pawl, by the name that it had before. */
declare const Keep: typeof Pawl;

// What follows exists besides the language itself. Where the types of browsers or of Node.js are loaded too, theirs
// hold. The modules are empty without those of Node.js.

declare module "node:url" {}
declare module "node:util" {}
declare module "node:crypto" {}

/** What the interface Name has here: nothing of its own where others declare it, too. */
type PawlMembers<Name extends string, Module, Own> =
  typeof globalThis extends { onmessage: any } ? {} : Module extends { [N in Name]: any } ? {} : Own;

interface Console {
  log(...values: unknown[]): void;
  info(...values: unknown[]): void;
  warn(...values: unknown[]): void;
  error(...values: unknown[]): void;
  debug(...values: unknown[]): void;
  trace(...values: unknown[]): void;
  dir(...values: unknown[]): void;
  table(...values: unknown[]): void;
  group(...values: unknown[]): void;
  groupCollapsed(...values: unknown[]): void;
  groupEnd(): void;
}
declare var console: Console;

interface PawlURL {
  href: string;
  readonly origin: string;
  protocol: string;
  username: string;
  password: string;
  host: string;
  hostname: string;
  port: string;
  pathname: string;
  search: string;
  hash: string;
  readonly searchParams: URLSearchParams;
  toString(): string;
  toJSON(): string;
}
interface PawlURLSearchParams {
  readonly size: number;
  append(name: string, value: string): void;
  delete(name: string, value?: string): void;
  get(name: string): string | null;
  getAll(name: string): string[];
  has(name: string, value?: string): boolean;
  set(name: string, value: string): void;
  sort(): void;
  toString(): string;
  forEach(callback: (value: string, key: string, parent: URLSearchParams) => void, thisArg?: any): void;
  keys(): IterableIterator<string>;
  values(): IterableIterator<string>;
  entries(): IterableIterator<[string, string]>;
  [Symbol.iterator](): IterableIterator<[string, string]>;
}
interface PawlTextEncoder {
  readonly encoding: string;
  encode(input?: string): Uint8Array;
}
interface PawlTextDecoder {
  readonly encoding: string;
  decode(input?: any): string;
}

type PawlURLHere = PawlMembers<"URL", typeof import("node:url"), PawlURL>;
type PawlURLSearchParamsHere = PawlMembers<"URLSearchParams", typeof import("node:url"), PawlURLSearchParams>;
type PawlTextEncoderHere = PawlMembers<"TextEncoder", typeof import("node:util"), PawlTextEncoder>;
type PawlTextDecoderHere = PawlMembers<"TextDecoder", typeof import("node:util"), PawlTextDecoder>;

interface URL extends PawlURLHere {}
declare var URL: typeof globalThis extends { onmessage: any; URL: infer T } ? T
  : typeof import("node:url") extends { URL: infer T } ? T : {
  prototype: URL;
  new (url: string | URL, base?: string | URL): URL;
  canParse(url: string | URL, base?: string | URL): boolean;
  parse(url: string | URL, base?: string | URL): URL | null;
};
interface URLSearchParams extends PawlURLSearchParamsHere {}
declare var URLSearchParams: typeof globalThis extends { onmessage: any; URLSearchParams: infer T } ? T
  : typeof import("node:url") extends { URLSearchParams: infer T } ? T : {
  prototype: URLSearchParams;
  new (
    init?: string | string[][] | Record<string, string> | Iterable<[string, string]> | URLSearchParams,
  ): URLSearchParams;
};
interface TextEncoder extends PawlTextEncoderHere {}
declare var TextEncoder: typeof globalThis extends { onmessage: any; TextEncoder: infer T } ? T
  : typeof import("node:util") extends { TextEncoder: infer T } ? T : {
  prototype: TextEncoder;
  new (): TextEncoder;
};
interface TextDecoder extends PawlTextDecoderHere {}
declare var TextDecoder: typeof globalThis extends { onmessage: any; TextDecoder: infer T } ? T
  : typeof import("node:util") extends { TextDecoder: infer T } ? T : {
  prototype: TextDecoder;
  new (label?: string, options?: { fatal?: boolean }): TextDecoder;
};
declare var crypto: typeof globalThis extends { onmessage: any; crypto: infer T } ? T
  : typeof import("node:crypto") extends { webcrypto: infer T } ? T : { randomUUID(): string };

declare function structuredClone<T = any>(value: T): T;
declare function queueMicrotask(callback: () => void): void;
/** Encodes characters up to U+00FF. */
declare function btoa(data: string): string;
/** Decodes to characters up to U+00FF. */
declare function atob(data: string): string;

interface ErrorConstructor {
  captureStackTrace(target: object, constructor?: Function): void;
}
