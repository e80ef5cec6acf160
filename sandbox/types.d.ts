// Types of Pawl workflow scripts. Put this file beside your scripts; nothing has to be imported.
//
//   export default Keep.workflow({ name, topics, producers, consumers })
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
  /** Those of the ids that are pending, in the order of ids. */
  getByIds<P = any>(topic: string, ids: string[]): Promise<PawlEvent<P>[]>;
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

/** What prepare returns; it is stored and given to mutate and next unchanged. */
interface PawlPrepareResult<D = any> {
  /** The pending events that this run will consume; empty means there is nothing to do. */
  reservations: { topic: string; ids: string[] }[];
  /** Everything that mutate and next need. */
  data: D;
  /** Shown to people, for example when they approve the mutation. */
  ui?: { title?: string; [key: string]: unknown };
  /** When to prepare again at the latest: ISO text or milliseconds since 1970. */
  wakeAt?: string | number;
  /** Events to drop unprocessed with the commit of this run. */
  cancel?: { topic: string; ids: string[]; reason?: string }[];
}

/** How the mutation ended. */
type PawlMutationResult<T = any> =
  | { status: "applied"; result: T }
  | { status: "none" }
  | { status: "skipped" };

type PawlProducerHandler<S> = (ctx: PawlProducerCtx, state: S | undefined) => Promise<S | void> | S | void;

/** A producer with its own schedule; a bare function runs on deploy, on demand and every 5 minutes. */
interface PawlProducer<S = any> {
  /** "30s", "5m", "1h" … */
  interval?: string;
  /** Five fields; instead of interval. */
  cron?: string;
  /** Zone of cron, for example "Europe/Berlin". */
  timezone?: string;
  /** The topics it may publish to; all declared ones if absent. */
  publishes?: string[];
  /** Returns the new state; undefined keeps the old one. Also accepted as `run` or `poll`. */
  handler?: PawlProducerHandler<S>;
  run?: PawlProducerHandler<S>;
  poll?: PawlProducerHandler<S>;
}

/** prepare chooses events and gathers data, mutate makes one change outside, next publishes and keeps state. */
interface PawlConsumer<D = any, S = any, R = any> {
  subscribe: string[];
  publishes?: string[];
  /** Allows operations that get by id in mutate. */
  mutateReads?: "byId";
  /** How often a failed event is retried before it is put aside. */
  maxAttempts?: number;
  prepare(ctx: PawlPrepareCtx, state: S | undefined): Promise<PawlPrepareResult<NoInfer<D>>> | PawlPrepareResult<NoInfer<D>>;
  mutate?(ctx: PawlMutateCtx, prepared: PawlPrepareResult<D>): Promise<unknown> | unknown;
  /** Always runs, also without a mutation. Returns the new state; undefined keeps the old one. */
  next?(ctx: PawlNextCtx, prepared: PawlPrepareResult<D>, mutationResult: PawlMutationResult<R>): Promise<S | void> | S | void;
}

interface PawlWorkflow {
  name: string;
  topics: { [topic: string]: object };
  producers?: { [name: string]: PawlProducerHandler<any> | PawlProducer };
  consumers?: { [name: string]: PawlConsumer };
}

declare const Keep: {
  workflow<W extends PawlWorkflow>(workflow: W): W;
  consumer<D = any, S = any, R = any>(consumer: PawlConsumer<D, S, R>): PawlConsumer<D, S, R>;
  producer<S = any>(producer: PawlProducer<S> | PawlProducerHandler<S>): PawlProducer<S> | PawlProducerHandler<S>;
};

interface Console {
  log(...values: unknown[]): void;
  info(...values: unknown[]): void;
  warn(...values: unknown[]): void;
  error(...values: unknown[]): void;
  debug(...values: unknown[]): void;
}
declare var console: Console;
