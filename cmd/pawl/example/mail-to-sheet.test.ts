// The tests of mail-to-sheet.ts, without a mailbox, a sheet or an engine: pawl test mail-to-sheet.ts

const alice = {
  id: "m1",
  from: "Alice <alice@example.com>",
  fromAddress: "alice@example.com",
  subject: "Report",
  date: "2026-10-26T08:00:00Z",
};

export default Pawl.tests({
  "a mail becomes a row, and the rows are counted"(t) {
    t.state("tally", { rows: 4 });
    t.answer("maildir.list", { result: { mails: [alice], next: null } });
    t.answer("maildir.get", { with: { id: "m1" }, result: { ...alice, text: "All is\n\nwell.", attachments: [] } });
    t.answer("csv.appendRow", { result: { row: 5 } });
    t.poll();
    t.expectCall("csv.appendRow", {
      file: "reports.csv",
      header: ["received", "from", "subject", "text", "attachments"],
      values: { received: alice.date, from: alice.from, subject: "Report", text: "All is well.", attachments: 0 },
    });
    t.expectEvents("row.created", [{ messageId: "m1", title: "Row 5: Report", status: "consumed" }]);
    t.expectState("tally", { rows: 5 });
  },

  "the next look goes on where the last one ended, and begins anew at the end"(t) {
    t.answer("maildir.list", { result: { mails: [], next: null } });
    for (const [after, next] of [[null, "p1"], ["p1", "p2"], ["p2", "p3"], ["p3", "p4"], ["p4", "p5"]]) {
      t.answer("maildir.list", { with: { after }, result: { mails: [], next } });
    }
    t.poll();
    t.expectState("inbox", { after: "p5" });
    t.advance("10s");
    t.expectState("inbox", { after: null });
  },

  "a mail that cannot be read waits for a person, and holds up nothing"(t) {
    t.answer("maildir.list", { result: { mails: [{ id: "m2", malformed: true, error: "no header" }], next: null } });
    t.poll();
    t.expectEvents("mail.malformed", [{ messageId: "m2", payload: { error: "no header" }, status: "pending" }]);
    t.expectNoCalls();
  },

  "a crash right after the row was written does not write it again"(t) {
    t.push("mail.received", { messageId: "m1", payload: alice });
    t.answer("maildir.get", { result: { ...alice, text: "", attachments: [] } });
    t.answer("csv.appendRow", { result: { row: 1 } });
    t.crash("mutation.applied");
    t.run();
    t.expectCall("csv.appendRow");
    t.expectState("tally", { rows: 1 });
  },
});
