// Types of Pawl workflow scripts. Put this file beside your scripts; nothing has to be imported.
//
//   export default Pawl.workflow({ name, topics, producers, consumers })
//
// Each handler call runs alone: globals are not kept between calls. What a handler may do depends on
// its phase; anything else ends the call at once, past every try/catch.

/** A value that survives JSON. */
type Json = string | number | boolean | null | Json[] | { [key: string]: Json };

/** A topic event as handlers see it. */
interface PawlEvent<P = any> {
  readonly messageId: string;
  /** The same as messageId. */
  readonly id: string;
  readonly topic: string;
  readonly title: string;
  readonly payload: P;
}

/** A topic event of any status, as getByIds returns it. */
interface PawlKnownEvent<P = any> extends PawlEvent<P> {
  readonly status: "pending" | "reserved" | "consumed" | "skipped" | "discarded";
  /** Of a pending event that waits for its retry: before this time, as ISO 8601 text, it cannot be reserved. */
  readonly scheduledAt?: string;
}

/** An event to publish. The same messageId in the same topic again updates the event. */
interface PawlNewEvent {
  /** 1 to 512 bytes, no control characters; stable, so that a repeated run does not publish twice. */
  messageId: string;
  /** What the event is, for people: an identifier and a description. */
  title: string;
  payload?: unknown;
}

/** Connectors: ctx.<connector>.<operation>(params). */
interface PawlConnectors {
  readonly [connector: string]: { readonly [operation: string]: (params?: object) => Promise<any> } & any;
}

/** What every phase has. */
interface PawlBaseCtx extends PawlConnectors {
  /** Writes a line into the logs of the run; console.* does the same. */
  log(...values: unknown[]): void;
  /** Milliseconds since 1970, as Date.now(). */
  now(): number;
}

/** May list, search and get through connectors, and publish. */
interface PawlProducerCtx extends PawlBaseCtx {
  /** Publishes with the commit of the run: a failed run publishes nothing. */
  publish(topic: string | string[], event: PawlNewEvent & { inputId?: string }): Promise<void>;
  /** Names the outside thing that events come from; returns the inputId for publish. */
  registerInput(input: { source: string; type: string; id: string; title: string }): string;
}

/** May list, search and get through connectors, and look at pending events. */
interface PawlPrepareCtx extends PawlBaseCtx {
  /** Pending events of a subscribed topic, oldest first: 100 without a limit, at most the oldest 1000 can be seen. */
  peek<P = any>(topic: string, options?: { limit?: number }): Promise<PawlEvent<P>[]>;
  /** Events of a subscribed topic whatever their status, in the order of ids; unknown ids are left out. */
  getByIds<P = any>(topic: string, ids: string[]): Promise<PawlKnownEvent<P>[]>;
}

/**
 * May make one mutation call, which ends the handler: no code after it runs, and its result goes to
 * `next`. With `mutateReads: "byId"` also operations that get by id.
 */
interface PawlMutateCtx extends PawlBaseCtx {}

/** May publish. */
interface PawlNextCtx extends PawlBaseCtx {
  /** Publishes with the commit of the run: a failed run publishes nothing. */
  publish(topic: string | string[], event: PawlNewEvent): Promise<void>;
}

/** What prepare returns, always with reservations; it is stored and given to mutate and next unchanged. */
interface PawlPrepareResult<D = any> {
  /**
   * The pending events that this run will consume. Empty means that there is nothing to do: mutate is left out,
   * but next runs all the same, with this data and the status "none".
   */
  reservations: { topic: string; ids: string[] }[];
  /** Everything that mutate and next need. */
  data: D;
  /** Shown to people, for example when they approve the mutation. */
  ui?: { title?: string; [key: string]: unknown };
  /** When to prepare again at the latest, as ISO 8601 text: new Date(ctx.now() + 3600e3).toISOString(). */
  wakeAt?: string;
  /** Events to drop unprocessed with the commit of this run. */
  cancel?: { topic: string; ids: string[]; reason?: string }[];
}

/**
 * How the mutation ended; "none" where none was made, also in a run without reservations. A result is null where a
 * person has said that the call happened, and gave none.
 */
type PawlMutationResult<T = any> =
  | { status: "applied"; result: T }
  | { status: "none" }
  | { status: "skipped" };

type PawlProducerHandler<S> = (ctx: PawlProducerCtx, state: S | undefined) => Promise<S | void> | S | void;

/** A producer with its own schedule; a bare function runs on deploy, on demand and every 5 minutes. */
interface PawlProducer<S = any> {
  /** "30s", "5m", "1h" …: first at deploy, then so long after the start of each run. */
  interval?: string;
  /** Five fields; instead of interval. It runs at these times only, not at deploy. */
  cron?: string;
  /** Zone of cron, for example "Europe/Berlin". */
  timezone?: string;
  /** Also run at each deploy of a changed script. */
  runOnDeploy?: boolean;
  /** The topics it may publish to; all declared ones if absent. */
  publishes?: string[];
  /** Returns the new state; undefined keeps the old one. Also accepted as `run` or `poll`. */
  handler?: PawlProducerHandler<S>;
  run?: PawlProducerHandler<S>;
  poll?: PawlProducerHandler<S>;
}

/** What every consumer has. */
interface PawlAnyConsumer<D = any> {
  subscribe: string[];
  publishes?: string[];
  /** Allows operations that get by id in mutate. */
  mutateReads?: "byId";
  /** How often a failed event is retried before it is put aside. */
  maxAttempts?: number;
  mutate?(ctx: PawlMutateCtx, prepared: PawlPrepareResult<D>): Promise<unknown> | unknown;
}

/** prepare chooses events and gathers data, mutate makes one change outside, next publishes and keeps state. */
interface PawlConsumer<D = any, S = any, R = any> extends PawlAnyConsumer<D> {
  /** Without it one run follows the other; with it this is a PawlConcurrentConsumer. */
  concurrency?: undefined;
  key?: undefined;
  rate?: undefined;
  prepare(ctx: PawlPrepareCtx, state: S | undefined): Promise<PawlPrepareResult<NoInfer<D>>> | PawlPrepareResult<NoInfer<D>>;
  /**
   * Always runs, also without a mutation and after reservations: [], where prepared.data may be null: test it first.
   * Returns the new state; undefined keeps the old one.
   */
  next?(ctx: PawlNextCtx, prepared: PawlPrepareResult<D>, mutationResult: PawlMutationResult<R>): Promise<S | void> | S | void;
}

/**
 * A consumer whose events are independent of each other: each run works on one event, and many run at once. It has no
 * state. `peek` in prepare gives the one event of the run.
 */
interface PawlConcurrentConsumer<D = any, R = any> extends PawlAnyConsumer<D> {
  /** How many of its runs may be under way at once, 1 to 256. */
  concurrency: number;
  /** The path of a value in the payload, "customer.id": events with the same value there keep their order. */
  key?: string;
  /** How often a run may begin, per second, minute or hour: "10/s", "300/m", "500/h". */
  rate?: string;
  /** Confirms the event, cancels it, or returns no reservations: the event is then offered again at wakeAt, or a day later. */
  prepare(ctx: PawlPrepareCtx): Promise<PawlPrepareResult<NoInfer<D>>> | PawlPrepareResult<NoInfer<D>>;
  /** Always runs, also without a mutation. It returns nothing. */
  next?(ctx: PawlNextCtx, prepared: PawlPrepareResult<D>, mutationResult: PawlMutationResult<R>): Promise<void> | void;
}

/** What shows that a request to a hook is a true one. A secret is named; its value stands in the engine's configuration. */
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
interface PawlHook {
  topic: string;
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

interface PawlWorkflow {
  name: string;
  topics: { [topic: string]: object };
  producers?: { [name: string]: PawlProducerHandler<any> | PawlProducer };
  consumers?: { [name: string]: PawlConsumer | PawlConcurrentConsumer };
  hooks?: { [name: string]: PawlHook };
}

declare const Pawl: {
  workflow<W extends PawlWorkflow>(workflow: W): W;
  consumer<D = any, S = any, R = any>(
    consumer: PawlConsumer<D, S, R> | PawlConcurrentConsumer<D, R>,
  ): PawlConsumer<D, S, R> | PawlConcurrentConsumer<D, R>;
  producer<S = any>(producer: PawlProducer<S> | PawlProducerHandler<S>): PawlProducer<S> | PawlProducerHandler<S>;
  hook(hook: PawlHook): PawlHook;
};
/** The same as Pawl, by the name that it had before. */
declare const Keep: typeof Pawl;

// What follows exists besides the language itself. Where the types of browsers are loaded too, theirs hold.

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
}
interface PawlTextEncoder {
  readonly encoding: string;
  encode(input?: string): Uint8Array;
}
interface PawlTextDecoder {
  readonly encoding: string;
  decode(input?: any): string;
}

interface URL extends PawlURL {}
declare var URL: typeof globalThis extends { onmessage: any; URL: infer T } ? T : {
  prototype: URL;
  new (url: string | URL, base?: string | URL): URL;
  canParse(url: string | URL, base?: string | URL): boolean;
  parse(url: string | URL, base?: string | URL): URL | null;
};
interface URLSearchParams extends PawlURLSearchParams {
  keys(): IterableIterator<string>;
  values(): IterableIterator<string>;
  entries(): IterableIterator<[string, string]>;
  [Symbol.iterator](): IterableIterator<[string, string]>;
}
declare var URLSearchParams: typeof globalThis extends { onmessage: any; URLSearchParams: infer T } ? T : {
  prototype: URLSearchParams;
  new (init?: string | string[][] | Record<string, string> | Iterable<[string, string]> | URLSearchParams): URLSearchParams;
};
interface TextEncoder extends PawlTextEncoder {}
declare var TextEncoder: typeof globalThis extends { onmessage: any; TextEncoder: infer T } ? T : {
  prototype: TextEncoder;
  new (): TextEncoder;
};
interface TextDecoder extends PawlTextDecoder {}
declare var TextDecoder: typeof globalThis extends { onmessage: any; TextDecoder: infer T } ? T : {
  prototype: TextDecoder;
  new (label?: string, options?: { fatal?: boolean }): TextDecoder;
};
declare var crypto: typeof globalThis extends { onmessage: any; crypto: infer T } ? T : { randomUUID(): string };

declare function structuredClone<T = any>(value: T): T;
declare function queueMicrotask(callback: () => void): void;
/** Encodes characters up to U+00FF. */
declare function btoa(data: string): string;
/** Decodes to characters up to U+00FF. */
declare function atob(data: string): string;

interface ErrorConstructor {
  captureStackTrace(target: object, constructor?: Function): void;
}
