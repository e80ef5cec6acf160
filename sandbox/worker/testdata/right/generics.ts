// Generic helpers, overloads, enums, satisfies and type guards.
enum Level { Low = "low", High = "high" }
type Alarm = { id: string; level: Level; text: string };

function isAlarm(value: unknown): value is Alarm {
  return typeof value === "object" && value !== null && "level" in value;
}
function first<T>(list: readonly T[]): T | undefined {
  return list[0];
}
const limits = { [Level.Low]: 100, [Level.High]: 1 } satisfies Record<Level, number>;

export default Pawl.workflow({
  name: "generics",
  topics: { alarm: {} },
  consumers: {
    tell: Pawl.consumer({
      subscribe: ["alarm"],
      async prepare(ctx) {
        const alarms = await ctx.peek("alarm", { limit: 100 });
        const found = first(alarms.filter((event) => isAlarm(event.payload)));
        if (!found) {
          const bad = alarms.filter((event) => !isAlarm(event.payload)).map((event) => event.id);
          return { reservations: [], data: null, cancel: bad.length > 0 ? [{ topic: "alarm", ids: bad, reason: "no alarm" }] : [] };
        }
        const { level, text } = found.payload as Alarm;
        const data = { level, text: text.slice(0, 200), limit: limits[level] };
        return { reservations: [{ topic: "alarm", ids: [found.id] }], data, ui: { title: `${level}: ${data.text}` } };
      },
      async mutate(ctx, { data }: { data: { level: Level; text: string } }) {
        await ctx.http.post({ url: "https://chat.example.com/hooks/team", body: { text: `${data.level} ${data.text}` } });
      },
    }),
  },
});
