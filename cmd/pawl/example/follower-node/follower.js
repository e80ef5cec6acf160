// Follows the feed: prints each fact of the log as a line, and keeps its place in a file.
//
//	pawl up --feed --nats-listen 127.0.0.1:4222
//	npm ci
//	node follower.js .pawl/nats/subscriber.url place.json [WORKFLOW [TYPE]]
//
// It meets every fact once and in order, however often the engine or the connection ends. It says so when it was away
// for longer than the feed keeps facts, and it ends when the feed holds another fact in its place.
//
// It does not guarantee to print a fact once if it ends itself between the two lines that print and keep the place. A
// real follower stores its place together with what it makes of the fact, in one transaction of its own storage.
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { setTimeout } from "node:timers/promises";
import { DeliverPolicy, jetstream, jetstreamManager } from "@nats-io/jetstream";
import { connect, nanos } from "@nats-io/transport-node";

const [urlFile, placeFile, workflow = "*", type = ">"] = process.argv.slice(2);
if (!placeFile) {
  console.error("usage: follower.js URL-FILE PLACE-FILE [WORKFLOW [TYPE]]");
  process.exit(2);
}
const feed = "PAWL_FEED";
const pause = 100; // milliseconds between two attempts to read it

/** The last fact that was dealt with: its sequence in the feed, and its id to know it by. */
let place = existsSync(placeFile) ? JSON.parse(readFileSync(placeFile, "utf8")) : { sequence: 0, id: "" };
/** The feed's first fact when the follower last said that older ones are not kept. */
let told = 0;

/** The feed does not hold what this follower has read. */
class OtherFeed extends Error {}

for (;;) {
  try {
    await follow();
  } catch (e) {
    console.error(`follower: ${e.message}`);
    if (e instanceof OtherFeed) process.exit(1);
  }
  console.error(`follower: goes on behind ${place.sequence}`);
  await setTimeout(pause);
}

/** Deals with facts until the connection ends. Each one begins anew behind the place, so nothing is left of it. */
async function follow() {
  const url = new URL(readFileSync(urlFile, "utf8").trim());
  const connection = await connect({
    servers: url.host, user: decodeURIComponent(url.username), pass: decodeURIComponent(url.password),
    tls: url.protocol === "tls:" ? {} : null, reconnect: false,
  });
  try {
    const manager = await jetstreamManager(connection, { checkAPI: false });
    await check(manager);
    const ordered = await jetstream(connection).consumers.get(feed, {
      filter_subjects: `pawl.feed.${workflow}.${type}`,
      deliver_policy: DeliverPolicy.StartSequence, opt_start_seq: place.sequence + 1,
      inactive_threshold: nanos(30_000), // it outlives its connection for so long: all followers share a hundred
    });
    let consumer; // the server's; the ordered one makes another where it cannot go on
    for await (const m of await ordered.consume()) {
      if (m.info.consumer !== consumer) { // whatever it sends lies beyond the place, so the place can be compared
        await check(manager);
        consumer = m.info.consumer;
      }
      if (m.info.streamSequence <= place.sequence) continue;
      const header = (name) => m.headers.get(name);
      process.stdout.write([m.info.streamSequence, header("ce-id"), header("ce-type"), header("ce-partitionkey"),
        header("ce-sequence"), m.string()].join(" ") + "\n");
      place = { sequence: m.info.streamSequence, id: header("ce-id") };
      // In one write of the same length, over the place before.
      writeFileSync(placeFile, JSON.stringify(place).padEnd(120) + "\n", { flag: existsSync(placeFile) ? "r+" : "w" });
    }
  } finally {
    await connection.close();
  }
}

/**
 * Compares the place with the feed. An engine that was killed may have a feed that ends before the place: the same facts
 * come again with the same sequences, and are not waited for here. Whether they are the same is seen when the first one
 * beyond the place arrives.
 */
async function check(manager) {
  const { state } = await manager.streams.info(feed);
  if (place.sequence > 0 && place.sequence + 1 < state.first_seq && told < state.first_seq) {
    told = state.first_seq;
    console.error(`follower: the facts ${place.sequence + 1} to ${state.first_seq - 1} are not kept any more`);
  }
  if (place.sequence < Math.max(state.first_seq, 1) || place.sequence > state.last_seq) return;
  const m = await manager.streams.getMessage(feed, { seq: place.sequence });
  if (m !== null && m.header.get("ce-id") !== place.id) {
    throw new OtherFeed(`the feed has another fact at ${place.sequence} than ${place.id}: the engine has lost the end ` +
      "of its log, or the feed was made again; compare with what was made of the facts, and begin anew without the " +
      "place file");
  }
}
