// One row per mail: reads the Maildir in inbox/ and fills sheets/reports.csv.
//
// A workflow has topics (lists of its own events), producers (they look outside and publish
// events) and consumers (they take events, change one thing outside and publish what came of it).
// Any handler may run again after a crash; only the call in `mutate` is never sent twice.

/** What the events of each topic hold: an editor checks what is published, and knows what is read. */
type Topics = {
  "mail.received": { id: string; from: string; subject: string; date: string | null };
  "mail.malformed": { error?: string };
  "row.created": { file: string; row: number };
};

/** The cells of one row, by the sheet's column names. */
type Row = {
  received: string | null;
  from: string;
  subject: string;
  text: string;
  attachments: number;
};

const columns: (keyof Row)[] = ["received", "from", "subject", "text", "attachments"];

export default Pawl.workflow<Topics>({
  name: "mail-to-sheet",

  topics: {
    "mail.received": {},
    "mail.malformed": {}, // without a subscriber: they wait here for a person to look
    "row.created": {}, // one for each row that exists
  },

  producers: {
    // Goes round the inbox: each time through 500 mails at most, then on from there, so that no flood of
    // mails is too much for one run. A mail that is known already changes nothing. What senders write is cut
    // for the same reason.
    inbox: Pawl.producer({
      interval: "10s",
      publishes: ["mail.received", "mail.malformed"],
      async poll(ctx, state: { after: string | null } | undefined) {
        const began: string | null = state?.after ?? null;
        let after = began;
        for (let pages = 0; pages < 5; pages++) {
          const page = await ctx.maildir.list({ after });
          for (const mail of page.mails) {
            if (mail.malformed) {
              await ctx.publish("mail.malformed", {
                messageId: mail.id,
                title: `${mail.id} cannot be read`,
                payload: { error: mail.error },
              });
              continue;
            }
            const { id, date } = mail;
            const [from, subject] = [oneLine(mail.from, 200), oneLine(mail.subject, 200)];
            await ctx.publish("mail.received", {
              messageId: id,
              title: `${subject || "(no subject)"}, from ${from || "nobody"}`,
              payload: { id, from, subject, date },
            });
          }
          after = page.next;
          if (!after) break;
        }
        if (after !== began) return { after };
      },
    }),
  },

  consumers: {
    record: Pawl.consumer({
      subscribe: ["mail.received"],
      publishes: ["row.created"],

      // Choose one mail and turn it into a row. Reads only; what is returned is kept as it is.
      async prepare(ctx) {
        const [event] = await ctx.peek("mail.received", { limit: 1 });
        if (!event) return { reservations: [], data: null };

        const mail = await ctx.maildir.get({ id: event.payload.id });
        const row: Row = {
          received: mail.date,
          from: mail.from,
          subject: mail.subject,
          text: oneLine(mail.text, 80),
          attachments: mail.attachments.length,
        };
        return {
          reservations: [{ topic: "mail.received", ids: [event.messageId] }],
          data: row,
          ui: { title: `Add row for ${mail.fromAddress}` },
        };
      },

      // Name the one call that changes something. It is written down before it leaves, and it
      // ends this handler: nothing after it runs.
      async mutate(ctx, { data }) {
        return await ctx.csv.appendRow({ file: "reports.csv", header: columns, values: data });
      },

      // The row exists. What is published here becomes visible together with the end of the run.
      async next(ctx, { reservations, data }, outcome) {
        if (!data || outcome.status !== "applied") return;
        await ctx.publish("row.created", {
          messageId: reservations[0].ids[0],
          title: `Row ${outcome.result.row}: ${data.subject}`,
          payload: { file: "reports.csv", row: outcome.result.row },
        });
      },
    }),

    // Counts the rows: a consumer may also do without a change outside. What `next` returns is the
    // state that the next `prepare` is given, kept together with what the run consumed.
    tally: Pawl.consumer({
      subscribe: ["row.created"],

      async prepare(ctx, state: { rows: number } | undefined) {
        const created = await ctx.peek("row.created");
        const rows = (state?.rows ?? 0) + created.length;
        return {
          reservations: [{ topic: "row.created", ids: created.map((event) => event.messageId) }],
          data: rows,
          ui: { title: `Count ${rows} rows` },
        };
      },

      async next(ctx, { reservations, data: rows }) {
        if (reservations[0].ids.length > 0) return { rows };
      },
    }),
  },
});

/** The text in one line of at most `length` characters. */
function oneLine(text: string, length: number): string {
  const line = text.replace(/\s+/g, " ").trim();
  return line.length <= length ? line : line.slice(0, length - 1) + "…";
}
