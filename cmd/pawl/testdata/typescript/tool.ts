// What a tool says of itself by tool.json becomes types. A mark at the end of a line says what is refused there.

export default Pawl.workflow<{ a: null }>({
  name: "tools",
  topics: { a: {} },
  consumers: {
    c: Pawl.consumer({
      subscribe: ["a"],
      async prepare(ctx) {
        const { children } = await ctx.tool.tree({ root: { name: "a", children: [{ name: "b", children: [] }] } });
        await ctx.tool.tree({ root: { name: "a", children: [{ nmae: "b" }] } }); //! TS2353 nmae
        const deep: number = children[0].children[0].children.length;
        const [first, second, ...others] = await ctx.tool.odd({ "a b": 1, constructor: true, new: "`${evil}`\"\n\\" });
        const one: [string, number | null | undefined, boolean[]] = [first, second, others];
        await ctx.tool.odd({ new: "evil" }); //! TS2322 evil
        const anything = await ctx.tool.open({ a: "a", b: 1, c: 2 });
        ctx.log(deep, one, anything.of.whatever.kind);
        await ctx.tool.delete(); //! TS2349 PawlOnlyIn<"mutate">
        await ctx.tool.evil(); //! TS2339 evil
        return { reservations: [{ topic: "a", ids: ["1"] }], data: null };
      },
      async mutate(ctx) {
        await ctx.tool.choose({}); //! TS2345 iban
        await ctx.tool.delete({ a: 1 });
        return await ctx.tool.choose({ card: "1" });
      },
      async next(ctx, _, outcome) {
        if (outcome.status !== "applied") return;
        const id: number = outcome.result.id;
        const state: "open" | "done" | null | undefined = outcome.result.state;
        ctx.log(id, state);
        ctx.log(outcome.result.sate); //! TS2551 state
      },
    }),
  },
});
