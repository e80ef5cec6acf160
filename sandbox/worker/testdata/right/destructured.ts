// Everything is taken apart where it comes in.
const { workflow, producer, consumer } = Pawl;

export default workflow({
  name: "destructured",
  topics: { mail: {} },
  producers: {
    look: producer({
      interval: "2m",
      async handler({ maildir, publish, log }, { seen = [] } = {}) {
        const { mails } = await maildir.list({});
        const fresh = mails.filter(({ id }) => !seen.includes(id));
        for (const { id, subject = "no subject" } of fresh) {
          await publish("mail", { messageId: id, title: subject || id, payload: { id, subject } });
        }
        log(`${fresh.length} new`);
        return { seen: mails.map(({ id }) => id).slice(-200) };
      },
    }),
  },
  consumers: {
    keep: consumer({
      subscribe: ["mail"],
      async prepare({ peek, maildir }) {
        const [mail] = await peek("mail", { limit: 1 });
        if (!mail) return { reservations: [], data: null };
        const { id, payload: { subject } } = mail;
        const { text, from } = await maildir.get({ id });
        const total = /^Total: (\d+)$/m.exec(text)?.[1] ?? "0";
        return { reservations: [{ topic: "mail", ids: [id] }], data: { from, subject, total }, ui: { title: `Mail ${subject}` } };
      },
      async mutate({ csv }, { data: { from, subject, total } }) {
        await csv.appendRow({ file: "mails.csv", header: ["from", "subject", "total"], values: [from, subject, total] });
      },
    }),
  },
});
